import re
from dataclasses import replace

import pytest

from plugins.sink.kcql import SEPARATOR, Kcql, build, parse, parse_all

PLAIN = Kcql(
    bucket="landing", prefix="cdc-events", topic="demo.datalake.cdc_events", flush_interval_seconds=60, flush_count=50
)
FOLDERS = replace(PLAIN, partition_by=("customer_id", "order_id"))
TAIL = "STOREAS `JSON` PROPERTIES('flush.interval'=60,'flush.count'=50)"


@pytest.mark.parametrize(
    "kcql",
    [
        PLAIN,
        FOLDERS,
        replace(PLAIN, flush_bytes=5_000_000),
        replace(PLAIN, prefix="a/b.c/year=2026", topic="orders.batch.2026"),
        replace(PLAIN, bucket="my.bucket-1", topic="into"),
    ],
)
def test_what_is_built_is_parsed_again(kcql: Kcql) -> None:
    assert parse(build(kcql)) == kcql


@pytest.mark.parametrize(
    ("topic", "written"),
    [
        ("demo.datalake.cdc_events", "demo.datalake.cdc_events"),
        ("demo-2.orders", "demo-2.orders"),
        ("demo.Batch.orders", "demo.Batch.orders"),
        ("demo.batch.orders", "`demo.batch.orders`"),
        ("LIMIT", "`LIMIT`"),
        ("2026", "`2026`"),
        ("demo.7", "`demo.7`"),
    ],
)
def test_names_that_the_lexer_would_take_for_its_own_words_are_quoted(topic: str, written: str) -> None:
    assert f" FROM {written} STOREAS" in build(replace(PLAIN, topic=topic))


def test_spelling_that_the_connector_takes_is_taken() -> None:
    statement = (
        "insert into `landing:cdc-events`  select * from `t.x` partitionby a , b storeas JSON"
        " properties ( 'flush.count' = 5 , 'flush.interval' = 7 ) ;"
    )
    assert parse(statement) == replace(
        PLAIN, topic="t.x", flush_interval_seconds=7, flush_count=5, partition_by=("a", "b")
    )


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ("'flush.interval'=1,'flush.counts'=5", "'flush.counts' isn't one of"),
        ("'flush.interval'=1", "flush.count is missing"),
        ("'flush.count'=5", "flush.interval is missing"),
        ("'flush.interval'=1,'flush.count'=5,'flush.count'=6", "given twice"),
        ("'flush.interval'=soon,'flush.count'=5", "must be a whole number, not 'soon'"),
        ("flush.interval=1,'flush.count'=5", "isn't 'name'=value"),
        ("'flush.interval'=1,'flush.count'=5,", "'' isn't 'name'=value"),
        (",'flush.interval'=1,'flush.count'=5", "'' isn't 'name'=value"),
        ("'flush.interval'=\uff16,'flush.count'=5", "must be a whole number, not '\uff16'"),
        ("'flush.interval'=6\xa0,'flush.count'=5", "must be a whole number, not '6\\xa0'"),
        (f"'flush.interval'={'9' * 5_000},'flush.count'=5", "must be a whole number, not '999"),
        ("'flush.interval'=0,'flush.count'=5", "flush_interval_seconds must be from 1"),
        ("'flush.interval'='7','flush.count'=5", "flush.interval='7': the task fails on a quoted number"),
    ],
)
def test_properties_that_the_connector_would_ignore_or_fail_on_are_named(properties: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(f"INSERT INTO landing:p SELECT * FROM t STOREAS `JSON` PROPERTIES({properties})")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT INTO landing:p SELECT a FROM t " + TAIL, "not of the form"),
        ("Insert Into landing:p SELECT * FROM t " + TAIL, "not of the form"),
        ("IN\u017fERT INTO landing:p SELECT * FROM t " + TAIL, "not of the form"),
        ("INSERT INTO landing:p SELECT\xa0* FROM t " + TAIL, "not of the form"),
        ("INSERT INTO landing:p SELECT * FROM t " + TAIL + "\x0b", "not of the form"),
        ("INSERT INTO landing:p SELECT * FROM t " + TAIL.replace("`JSON`", "`JSON"), "not of the form"),
        ("INSERT INTO landing:p SELECT * FROM t " + TAIL.replace("`JSON`", "JSON`"), "not of the form"),
        ("INSERT INTO landing:p SELECT * FROM t PARTITIONBY a, " + TAIL, "not of the form"),
        ("UPSERT INTO landing:p SELECT * FROM t " + TAIL, "not of the form"),
        ("INSERT INTO landing:p SELECT * FROM t LIMIT 5 " + TAIL, "not of the form"),
        ("INSERT INTO landing SELECT * FROM t " + TAIL, "prefix must be"),
        # A statement of 2021.
        (
            "INSERT INTO landing:p SELECT * FROM t STOREAS `json` WITH_FLUSH_COUNT = 50",
            r"WITH_FLUSH_.* is gone since 7\.0",
        ),
        ("INSERT INTO landing:p SELECT * FROM t " + TAIL.replace("JSON", "AVRO"), "STOREAS must be JSON"),
        ("INSERT INTO landing:p SELECT * FROM demo.limit " + TAIL, r"demo\.limit needs backticks"),
        ("INSERT INTO landing:p SELECT * FROM BATCH " + TAIL, "BATCH needs backticks"),
        ("INSERT INTO landing:p SELECT * FROM demo.7 " + TAIL, r"demo\.7 needs backticks"),
        ("INSERT INTO landing:year=2026 SELECT * FROM t " + TAIL, "landing:year=2026 needs backticks"),
        ("INSERT INTO landing:a.into SELECT * FROM t " + TAIL, r"landing:a\.into needs backticks"),
        ("INSERT INTO landing:p SELECT * FROM t PARTITIONBY limit " + TAIL, "words of KCQL's own, as 'limit' is"),
    ],
)
def test_other_statements_are_refused(statement: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(statement)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("bucket", ["ab", "Landing", "-landing", "landing-", "land_ing", "a" * 64, "lan..ding", "landing/x"]),
        ("prefix", ["", "/a", "a/", "a//b", "a b", "a`b", "../a", "a" * 60 + "/"]),
        ("topic", ["", ".", "a b", "a`", "ü", "a" * 250]),
        ("partition_by", [("a b",), ("a`",), ("a", "a"), ("a", "A"), ("",), ("limit",), ("a", "BATCH")]),
        ("flush_interval_seconds", [0, -1, 86_401, True]),
        ("flush_count", [0, 1_000_001]),
        ("flush_bytes", [0, 5_000_000_001]),
    ],
)
def test_each_field_is_checked_and_named(field: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(ValueError, match=rf"^{field}\b"):
            replace(PLAIN, **{field: value})  # type: ignore[arg-type]


def test_partition_folders_come_with_a_warning_that_tells_the_measured_loss() -> None:
    assert PLAIN.warnings == ()
    [warning] = FOLDERS.warnings
    assert "46 and 25 of 1,802 records" in warning
    assert "customer_id,order_id" in warning


@pytest.mark.parametrize("between", [";", "; ", " ;\n  "])
def test_several_statements_are_read_one_by_one(between: str) -> None:
    statements = (PLAIN, replace(PLAIN, topic="into", flush_count=7))
    text = between.join(build(statement) for statement in statements)
    assert parse_all(text) == parse_all(f"{text};") == statements


@pytest.mark.parametrize("text", ["", ";", "{0};;{1}", "{0} {1}"])
def test_what_isnt_a_list_of_statements_is_refused(text: str) -> None:
    given = text.format(build(PLAIN), build(replace(PLAIN, topic="b")))
    with pytest.raises(ValueError, match="not of the form"):
        parse_all(given)


def test_a_topic_has_one_statement() -> None:
    twice = SEPARATOR.join(map(build, [PLAIN, replace(PLAIN, prefix="elsewhere")]))
    with pytest.raises(ValueError, match=f"two statements read {PLAIN.topic}"):
        parse_all(twice)
