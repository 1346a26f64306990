"""A statement reads only what it names, and reaches no file; readable instants, and a history's versions."""

from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import pyarrow
import pytest

from analytics.queries import Queried, named_queries
from contract.errors import UserError
from contract.history import COMMIT, ENDED, VALID_FROM, VERSION
from local.look import lake as lake_module
from local.look.lake import InstantError, Lake, LakeError, oldest_readable, parse_instant
from local.query.engine import Engine, QueryError, engine
from local.query.query import Period, QueriedLake, ask
from tests.local.query.lakes import KnownLake, known_table, lake_of, rows

ORDERS = pyarrow.table(
    {
        "_hoodie_commit_time": ["20261122110000000"] * 2,
        "_hoodie_record_key": ["1", "2"],
        "order_id": pyarrow.array([1, 2], pyarrow.int32()),
        "customer_id": ["A", "B"],
        "customer": ["{}", None],
        "order_date": pyarrow.array([None, None], pyarrow.date32()),
        "shipped_date": pyarrow.array([None, None], pyarrow.date32()),
        "updated_at": pyarrow.array([None, None], pyarrow.timestamp("us", "UTC")),
        "order_items": ['[{"quantity": 7, "unit_price": 1.5, "discount": 0.15}]', "[]"],
    }
)


@pytest.fixture
def lake(tmp_path: Path) -> QueriedLake:
    no_city = ORDERS.slice(0, 0).select(["_hoodie_record_key", "order_id"])
    return lake_of(tmp_path, known_table("cdc_events", ORDERS, outbox=True), known_table("cities", no_city))


@pytest.fixture
def orders(lake: QueriedLake) -> KnownLake:
    found = lake.tables[0].lake
    assert isinstance(found, KnownLake)
    return found


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        # A table has Athena's name.
        ("SELECT customer_id AS a FROM datalake.cdc_events WHERE order_id = 2", ["B"]),
        ("SELECT customer_id AS a FROM CDC_Events WHERE order_id = 2", ["B"]),
        ('SELECT customer_id AS a FROM "datalake"."cdc_events" WHERE order_id = 2', ["B"]),
        # Integers are divided as in Athena.
        ("SELECT order_id / 2 AS a FROM cdc_events ORDER BY order_id", [0, 1]),
        # A named query is a view, and so is the quarantine.
        ("SELECT CAST(quantity * unit_price * (1 - discount) AS varchar) AS a FROM datalake.order_items", ["8.925000"]),
        ("SELECT lake_table AS a, reason FROM quarantine", ["cdc_events", "cities"]),
    ],
)
def test_a_statement_answers_as_in_athena(lake: QueriedLake, sql: str, found: list[Any]) -> None:
    assert [row["a"] for row in rows(lake, sql)] == found


def test_only_the_named_tables_and_columns_are_read(lake: QueriedLake, orders: KnownLake) -> None:
    rows(lake, "SELECT count(*) FROM cities")
    assert orders.read == []
    rows(lake, "SELECT max(a.customer_id) FROM cdc_events AS a JOIN cdc_events AS b USING (order_id)")
    assert orders.read == [["order_id", "customer_id"]]
    rows(lake, "SELECT count(*) FROM cdc_events")
    assert orders.read[1:] == [["_hoodie_record_key"]]


def test_instants_are_read_until_cleaned(lake: QueriedLake, orders: KnownLake, monkeypatch: pytest.MonkeyPatch) -> None:
    instant = "20261122110000000"
    oldest = iter([instant, instant, "20261122120000000", instant, "20261122120000000"])
    monkeypatch.setattr(lake_module, "oldest_readable", lambda _lake: next(oldest))
    count = partial(ask, lake, "SELECT count(*) FROM cdc_events", Period(as_of=instant))
    count()
    with pytest.raises(InstantError, match=f"cdc_events can't be read as of {instant}: .* from 20261122120000000 on"):
        count()
    assert orders.instants == [instant]
    # A cleaning that begins while the rows are read.
    with pytest.raises(InstantError, match="cdc_events can't be read as of"):
        count()


def test_a_sum_of_integers_is_an_integer(lake: QueriedLake) -> None:
    result = ask(lake, 'SELECT sum(order_id) AS "a ""b" FROM cdc_events', Period())
    assert (result.schema.field(0).type, result.to_pylist()) == (pyarrow.int64(), [{'a "b': 3}])


def test_tables_and_columns_are_listed_without_a_row(lake: QueriedLake, orders: KnownLake) -> None:
    assert ask(lake, "SHOW TABLES IN datalake", Period()).column(0).to_pylist() == lake.names
    found = {(row["table"], row["column"]): row["type"] for row in ask(lake, "", Period()).to_pylist()}
    assert found["cdc_events", "order_id"] == "integer"
    assert found["order_items", "unit_price"] == "decimal(12, 2)"
    assert not [table for table, _ in found if table == "cities"]
    assert orders.read == []


@pytest.mark.parametrize("sql", ["DESCRIBE datalake.cdc_events", "show columns in cdc_events;", 'DESC "cdc_events"'])
def test_a_table_is_described(lake: QueriedLake, sql: str) -> None:
    assert ask(lake, sql, Period()).column("column").to_pylist() == ORDERS.column_names


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT * FROM "/etc/passwd"',
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM other.cdc_events",
        "DESCRIBE nothing",
        "SELECT * FROM ORDERS",
    ],
)
def test_another_name_is_refused_with_those_that_there_are(lake: QueriedLake, sql: str) -> None:
    with pytest.raises(QueryError, match=r"there is no table .*: there are datalake\.cdc_events, datalake\.cities"):
        ask(lake, sql, Period())


@pytest.mark.parametrize(
    ("sql", "since", "reason"),
    [
        ("SELECT nothing FROM cdc_events", None, "nothing"),
        ("SELECT 1 / 0", None, "Division by zero"),
        ("SELECT no_such_function(1)", None, "no_such_function"),
        (" ", "20261122110000000", "listed as they are now"),
        ("SELECT * FROM order_items", "20261122110000000", "--since shows rows of captured tables"),
    ],
)
def test_what_cant_be_done_is_one_line(lake: QueriedLake, sql: str, since: str | None, reason: str) -> None:
    with pytest.raises(UserError, match=f"(?i)^.*{reason}.*$") as refused:
        ask(lake, sql, Period(since=since))
    assert "\n" not in str(refused.value)


# Even without the translation, the engine itself refuses.
CONFINED = "disabled (by|through) configuration|has been locked|name ORDERS does not exist"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_parquet('http://127.0.0.1:1/x')",
        "SELECT * FROM '/etc/passwd.csv'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM ORDERS",
        "COPY (SELECT 1) TO '/tmp/query-test'",
        "ATTACH '/tmp/query-test.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET enable_external_access",
    ],
)
def test_the_engine_reaches_nothing_outside(sql: str) -> None:
    for run in (Engine.ask, Engine.keep):
        # The reason counts: a missing file or a silent port would end it, too.
        with engine("datalake") as here, pytest.raises(QueryError, match=CONFINED) as refused:
            run(here, sql)
        assert "\n" not in str(refused.value)


def at(hour: int) -> datetime:
    return datetime(2026, 11, 22, hour, tzinfo=UTC)


# Key, name, from when, whether it ended, the commit, and the version's number in the commit.
VERSIONS = [
    (1, "one", at(10), False, 1, 0),
    (1, "uno", at(11), False, 2, 1),
    (1, "un", at(11), False, 2, 0),
    (2, "two", at(10), False, 1, 0),
    (2, None, at(12), True, 3, 0),
    (2, "back", at(13), False, 3, 1),
]


def test_a_version_holds_until_the_next_one_or_the_rows_end(tmp_path: Path) -> None:
    names = ["city_id", "city", VALID_FROM, ENDED, COMMIT, VERSION]
    versions = [dict(zip(names, version, strict=True)) for version in VERSIONS]
    kept = pyarrow.Table.from_pylist([{"_hoodie_record_key": "x", **version} for version in versions])
    city = known_table("pagila_city", kept.slice(0, 0), key=("city_id",), history="pagila_city_history")
    lake = lake_of(tmp_path, city, known_table("pagila_city_history", kept))
    columns = "city_id, city, valid_from, valid_to"
    found = rows(lake, f"SELECT {columns} FROM versions_pagila_city ORDER BY city_id, valid_from, valid_to")
    assert [tuple(row.values()) for row in found] == [
        (1, "one", at(10), at(11)),
        (1, "un", at(11), at(11)),
        (1, "uno", at(11), None),
        (2, "two", at(10), at(12)),
        (2, "back", at(13), None),
    ]


def test_a_key_of_several_columns_is_in_the_lakes_names() -> None:
    table = Queried(table="shop_lines", outbox=False, key=("orderId", "line"), history="shop_lines_history")
    [found] = [query for query in named_queries("lake", [table]) if query.name.startswith("versions")]
    assert "PARTITION BY h.order_id, h.line ORDER BY" in found.sql
    assert found.tables == ("shop_lines_history",)
    assert not [
        query.name
        for query in named_queries("lake", [Queried(table="x", outbox=False, key=("id",))])
        if query.name.startswith("versions")
    ]


COMMITS = [f"2026112211000{second}000" for second in range(6)]
DONE = {"name": "clean", "type": "record", "fields": [{"name": "earliestCommitToRetain", "type": "string"}]}
INSTANT = {"name": "instant", "type": "record", "fields": [{"name": "timestamp", "type": "string"}]}
PLAN = {"name": "plan", "type": "record", "fields": [{"name": "earliestInstantToRetain", "type": ["null", INSTANT]}]}


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    folder = tmp_path / ".hoodie"
    folder.mkdir()
    for commit in COMMITS:
        (folder / f"{commit}.commit").touch()
        (folder / f"{commit}.commit.requested").touch()
    (folder / "20261122120000000.deltacommit.inflight").touch()
    (folder / "hoodie.properties").touch()
    return folder


def oldest(timeline: Path) -> str:
    return oldest_readable(Lake(base_uri=timeline.parent.as_uri()))


def clean(timeline: Path, instant: str, kept: str) -> None:
    with (timeline / f"{instant}.clean").open("wb") as file:
        fastavro.writer(file, DONE, [{"earliestCommitToRetain": kept}])


@pytest.mark.parametrize(
    ("cleanings", "expected"),
    [
        # Without a cleaning, all that isn't archived is whole.
        ({}, COMMITS[0]),
        # The newest one says what it kept.
        ({"20261122110003500": COMMITS[1], "20261122110005500": COMMITS[3]}, COMMITS[3]),
        # One that doesn't say leaves the newest.
        ({"20261122110005500": ""}, COMMITS[-1]),
    ],
)
def test_what_the_newest_cleaning_kept_is_readable(timeline: Path, cleanings: dict[str, str], expected: str) -> None:
    for instant, kept in cleanings.items():
        clean(timeline, instant, kept)
    assert oldest(timeline) == expected


def test_what_a_cleaning_under_way_wont_keep_counts_as_gone(timeline: Path) -> None:
    clean(timeline, "20261122110003500", COMMITS[1])
    (timeline / "20261122110005500.clean.inflight").touch()
    with (timeline / "20261122110005500.clean.requested").open("wb") as file:
        fastavro.writer(file, PLAN, [{"earliestInstantToRetain": {"timestamp": COMMITS[4]}}])
    assert oldest(timeline) == COMMITS[4]


def test_a_cleaning_that_cant_be_read_is_no_permission(timeline: Path) -> None:
    (timeline / "20261122110005500.clean").write_text("half")
    for folder in (timeline.parent, timeline / "none"):
        with pytest.raises(LakeError, match="its timeline can't be read"):
            oldest_readable(Lake(base_uri=folder.as_uri()))


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("20261122110000123", "20261122110000123"),
        ("20261122110000", "20261122110000000"),
        ("2026-11-22T11:00:00.123Z", "20261122110000123"),
        ("2026-11-22 11:00", "20261122110000000"),
        ("2026-11-22T12:00:00+01:00", "20261122110000000"),
        ("2026-11-22", "20261122000000000"),
        ("0999-01-01", "09990101000000000"),
        ("9999-12-31T23:59:59-05:00", None),
        *((text, None) for text in ("yesterday", "2026", "20261122110000123456", "2026-13-01")),
    ],
)
def test_an_instant_is_hudis_or_iso(text: str, instant: str | None) -> None:
    with nullcontext() if instant else pytest.raises(InstantError, match="is no instant: give"):
        assert parse_instant(text) == instant
