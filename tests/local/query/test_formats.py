"""Landed objects read as events in the topic's order; results have the same content in every format."""

import io
import itertools
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from analytics.queries import QUERIES, Queried, named_queries
from contract.errors import UserError
from local.look.json_lines import LANDED, QUARANTINED, landed, quarantined
from local.query.engine import QueryError
from local.query.formats import WIDEST, Format, texts, write
from local.query.query import Period, QueriedLake, ask
from tests.local.query.lakes import known_table, lake_of, rows
from tests.local.sink.fakes import FakeS3

CITY = "pagila.public.city"
PAIR = "pagila.public.film_actor"
START_MS = 1_790_000_000_000


def event(op: str, second: int, *, lsn: int | None = 0, **columns: Any) -> str:
    """An event as Debezium flattens it, of a second after the start."""
    deleted = "true" if op == "d" else "false"
    metadata = {"__op": op, "__lsn": lsn, "__source_ts_ms": START_MS + 1000 * second, "__deleted": deleted}
    return json.dumps(columns | metadata)


def moment(second: int) -> datetime:
    return datetime.fromtimestamp(START_MS / 1000 + second, UTC)


def lake_of_city(
    folder: Path, objects: Sequence[Sequence[str]], *, topic: str = CITY, key: tuple[str, ...] = ("city_id",)
) -> QueriedLake:
    """A lake whose topic has landed in these objects, one after the other."""

    def landed(topics: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        for number, events in enumerate(objects if topic in topics else []):
            path = f"s3://landing/cdc-events/{topic}/0/{number:012d}.json"
            rows = [{"event": line, "landing_prefix": "cdc-events", "topic": topic, "$path": path} for line in events]
            yield pyarrow.RecordBatch.from_pylist(rows, schema=LANDED)

    table = known_table("pagila_city", pyarrow.table({"city_id": [1]}), topic=topic, key=key)
    return lake_of(folder, table, landed=landed)


def history(lake: QueriedLake) -> list[tuple[Any, ...]]:
    """Key, the event's name, from, to."""
    found = rows(lake, "SELECT row_key, event, valid_from, valid_to FROM history_pagila_city")
    ordered = sorted(found, key=lambda row: (row["row_key"], row["valid_from"], row["valid_to"] is None))
    return [(row["row_key"], json.loads(row["event"])["city"], row["valid_from"], row["valid_to"]) for row in ordered]


@pytest.mark.parametrize(
    ("objects", "versions"),
    [
        pytest.param(
            [
                [event("r", 0, lsn=8, city_id=1, city="Abha"), event("r", 0, lsn=8, city_id=2, city="Tete")],
                [event("u", 5, lsn=16, city_id=1, city="Abhah"), event("u", 9, lsn=24, city_id=1, city="Abha")],
            ],
            [("1", "Abha", 0, 5), ("1", "Abhah", 5, 9), ("1", "Abha", 9, None), ("2", "Tete", 0, None)],
            id="each version ends when the next begins",
        ),
        pytest.param(
            [
                [
                    event("c", 1, lsn=8, city_id=1, city="old"),
                    event("d", 4, lsn=16, city_id=1, city=None),
                    event("c", 7, lsn=24, city_id=1, city="new"),
                ]
            ],
            [("1", "old", 1, 4), ("1", "new", 7, None)],
            id="a delete ends a version, and a new row of the key begins one",
        ),
        pytest.param(
            [
                [
                    event("c", 1, lsn=8, city_id=1, city="gone"),
                    event("c", 1, lsn=16, city_id=2, city="gone before"),
                    event("d", 2, lsn=24, city_id=2, city=None),
                    event("t", 5, lsn=32),
                    event("c", 5, lsn=40, city_id=1, city="later"),
                ]
            ],
            [("1", "gone", 1, 5), ("1", "later", 5, None), ("2", "gone before", 1, 2)],
            id="a TRUNCATE ends what was there",
        ),
    ],
)
def test_a_version_holds_from_its_event_until_what_ends_it(
    tmp_path: Path, objects: list[list[str]], versions: list[tuple[str, str, int, int | None]]
) -> None:
    expected = [(key, city, moment(since), until and moment(until)) for key, city, since, until in versions]
    assert history(lake_of_city(tmp_path, objects)) == expected
    # What lands twice is one version.
    assert history(lake_of_city(tmp_path, [*objects, objects[0]])) == expected


def test_changes_of_one_millisecond_are_in_their_positions_order(tmp_path: Path) -> None:
    orders = list(itertools.permutations((8, 16, 100)))
    changes = [(city, position) for city, order in enumerate(orders) for position in order]
    objects = [[event("u", 1, lsn=position, city_id=city, city=str(position)) for city, position in changes]]
    found = rows(lake_of_city(tmp_path, objects), "SELECT event FROM history_pagila_city WHERE valid_to IS NULL")
    assert [json.loads(row["event"])["city"] for row in found] == ["100"] * len(orders)


def test_a_snapshots_row_stands_before_what_lands_behind_it_at_any_time(tmp_path: Path) -> None:
    objects = [
        [event("r", 9, lsn=None, city_id=1, city="read")],
        [event("u", 5, lsn=8, city_id=1, city="changed")],
    ]
    [changed, read] = history(lake_of_city(tmp_path, objects))
    assert (changed[1], changed[3]) == ("changed", None)
    assert read[1] == "read"


def test_a_key_of_two_columns_is_an_array(tmp_path: Path) -> None:
    first = event("c", 1, lsn=8, actor_id=1, film_id=23, city="x")
    objects = [[first, event("c", 1, lsn=16, actor_id=12, film_id=3, city="y")]]
    lake = lake_of_city(tmp_path, objects, topic=PAIR, key=("actor_id", "film_id"))
    assert [row[:2] for row in history(lake)] == [('["1","23"]', "x"), ('["12","3"]', "y")]


def test_the_outboxs_history_is_its_file_and_a_table_without_a_key_or_a_topic_has_none() -> None:
    [file] = [query for query in QUERIES if query.name == "history"]
    tables = [
        Queried(table="cdc_events", outbox=True, topic="demo.datalake.cdc_events", key=("order_id",)),
        Queried(table="log", outbox=False, topic="a.b.log"),
        Queried(table="read", outbox=False, key=("id",)),
        Queried(table="odd", outbox=False, topic="a.b.odd", key=("an id",)),
    ]
    [found] = [query for query in named_queries("datalake", tables) if query.name.startswith("history")]
    assert found.sql.replace('"datalake"."cdc_landed"', "datalake.cdc_landed") in file.text


def test_events_have_no_other_state(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cdc_landed is of events"):
        ask(lake_of_city(tmp_path, []), "SELECT * FROM cdc_landed", Period(as_of="20261122110000000"))


def test_events_come_in_the_topics_order_without_what_is_none() -> None:
    objects = {
        f"cdc-events/{CITY}/0/000000000002_1_2.json": b'{"city_id": 2}\n{broken\n[1]\n\n{"city_id": 3}\n',
        f"cdc-events/{CITY}/0/000000000001_1_2.json": b'{"city_id": 1}\n',
        f"cdc-events/{CITY}/0/000000000004_1_2.json-1b4e28ba": b'{"city_id": 4',
        f"cdc-events/{CITY}2/0/000000000001_1_2.json": b'{"city_id": 9}\n',
    }
    client: Any = FakeS3("landing", objects)
    found = [row for batch in landed(client, [CITY]) for row in batch.to_pylist()]
    assert [json.loads(row["event"])["city_id"] for row in found] == [1, 2, 3]
    assert {(row["landing_prefix"], row["topic"]) for row in found} == {("cdc-events", CITY)}
    assert found[0]["$path"] == f"s3://landing/cdc-events/{CITY}/0/000000000001_1_2.json"


def test_entries_in_quarantine_are_rows_of_their_tables_and_no_file_that_lies_there_whole() -> None:
    entry = {"reason": "type: a (not int)", "origin": "t/0/1.json", "line": 2, "quarantined_at": "2026-11-20"}
    whole = {"reason": "unreadable: truncated", "origin": "t/0/2.json.gz", "file": "s3a://lake/_quarantine/b/2.json.gz"}
    objects = {
        "_quarantine/a/1.json": f"{json.dumps(entry)}\n{json.dumps(entry | {'line': 3})}\n".encode(),
        "_quarantine/b/2.json.gz": b"\x1f\x8b half",
        "_quarantine/b/2.json.gz.reason.json": json.dumps(whole).encode(),
        "_quarantine/bb/3.json": json.dumps(entry).encode(),
    }
    client: Any = FakeS3("lake", objects)
    found = [row for batch in quarantined(client, ["a", "b"]) for row in batch.to_pylist()]
    assert [(row["lake_table"], row["origin"], row["line"]) for row in found] == [
        ("a", "t/0/1.json", 2),
        ("a", "t/0/1.json", 3),
        ("b", "t/0/2.json.gz", None),
    ]
    assert found[2]["file"] == whole["file"]
    assert all(list(row) == QUARANTINED.names for row in found)


RESULT = pyarrow.table(
    {
        "id": pyarrow.array([1, 2], pyarrow.int64()),
        "name": ['say "hi"', None],
        "price": pyarrow.array([Decimal("1.50"), None], pyarrow.decimal128(30, 2)),
        "seen": pyarrow.array([datetime(2026, 11, 22, 11, tzinfo=UTC), None], pyarrow.timestamp("us", "UTC")),
        "born": [date(1996, 7, 4), None],
        "good": [True, False],
        "items": [[1, 2], None],
    }
)


def written(result: pyarrow.Table, form: Format) -> bytes:
    out = io.BytesIO()
    write(result, form, out)
    return out.getvalue()


def test_a_table_is_aligned_and_counted() -> None:
    assert written(RESULT, "table").decode().splitlines() == [
        "id | name     | price | seen                        | born       | good  | items",
        "---+----------+-------+-----------------------------+------------+-------+-------",
        ' 1 | say "hi" |  1.50 | 2026-11-22 11:00:00.000000Z | 1996-07-04 | true  | [1, 2]',
        " 2 | NULL     |  NULL | NULL                        | NULL       | false | NULL",
        "(2 rows)",
    ]


def test_a_terminal_is_told_nothing_but_text() -> None:
    [_, _, row, _] = written(pyarrow.table({"a": ["\x1b[2Jgone\n" + "x" * 100]}), "table").decode().splitlines()
    assert row.startswith(r"\x1b[2Jgone\nxxx")
    assert len(row) == WIDEST


@pytest.mark.parametrize(
    ("form", "result", "expected"),
    [
        pytest.param(
            "csv",
            pyarrow.table({"a": ["", None, 'x"y'], "b": [1, 2, 3]}),
            ['"a","b"', '"","1"', ',"2"', '"x""y","3"'],
            id="csv tells null from an empty text",
        ),
        pytest.param(
            "json",
            RESULT.append_column("most", pyarrow.array([9_007_199_254_740_993, None], pyarrow.int64())),
            [
                r'{"id": 1, "name": "say \"hi\"", "price": 1.50, "seen": "2026-11-22 11:00:00.000000Z",'
                ' "born": "1996-07-04", "good": true, "items": [1, 2], "most": 9007199254740993}',
                '{"id": 2, "name": null, "price": null, "seen": null,'
                ' "born": null, "good": false, "items": null, "most": null}',
            ],
            id="json has an object a line with all digits",
        ),
        pytest.param(
            "csv",
            pyarrow.table({"a": pyarrow.array([Decimal("0E-8"), Decimal("0.00000015")], pyarrow.decimal128(18, 8))}),
            ['"a"', '"0.00000000"', '"0.00000015"'],
            id="decimals have no exponent",
        ),
        pytest.param(
            "json",
            pyarrow.table({"a": [float("nan"), float("-inf"), 0.1]}),
            ['{"a": "nan"}', '{"a": "-inf"}', '{"a": 0.1}'],
            id="a number that json hasn't is a text",
        ),
    ],
)
def test_a_result_is_written_for_other_programs(form: Format, result: pyarrow.Table, expected: list[str]) -> None:
    assert written(result, form).decode().splitlines() == expected


def test_parquet_keeps_the_types() -> None:
    assert parquet.read_table(io.BytesIO(written(RESULT, "parquet"))).equals(RESULT)


def test_years_beyond_16_bits_and_before_christ_and_intervals_are_shown_as_they_are() -> None:
    micros = [0, -1, 6248787955200000000, 9223371331200000000, -210866803200000000, None]
    moments = pyarrow.chunked_array([pyarrow.array(micros, pyarrow.int64()).cast(pyarrow.timestamp("us", "UTC"))])
    assert texts(moments) == [
        "1970-01-01 00:00:00.000000Z",
        "1969-12-31 23:59:59.999999Z",
        "199986-03-17 16:00:00.000000Z",
        "294247-01-02 00:00:00.000000Z",
        "-4713-11-24 00:00:00.000000Z",
        None,
    ]
    spans = pyarrow.array([(1, 2, 3), None], pyarrow.month_day_nano_interval())
    assert texts(pyarrow.chunked_array([spans])) == ["MonthDayNano(months=1, days=2, nanoseconds=3)", None]
    days = pyarrow.array([2**31 - 1, 106751991, -719529, -(2**31)], pyarrow.int32()).cast(pyarrow.date32())
    assert texts(pyarrow.chunked_array([days])) == ["5881580-07-11", "294247-01-10", "-0001-12-31", "-5877641-06-23"]


YEAR_199986 = pyarrow.array([6248787955200000000, None], pyarrow.int64()).cast(pyarrow.timestamp("us", "UTC"))
OF_TWO = pyarrow.array([0, 2], pyarrow.int32())


@pytest.mark.parametrize(
    ("nested", "text"),
    [
        (pyarrow.ListArray.from_arrays(OF_TWO, YEAR_199986), '["199986-03-17 16:00:00.000000Z", null]'),
        (pyarrow.array([[2**31 - 1]], pyarrow.list_(pyarrow.date32())), '["5881580-07-11"]'),
        (pyarrow.StructArray.from_arrays([YEAR_199986[:1]], ["ä"]), '{"ä": "199986-03-17 16:00:00.000000Z"}'),
        (
            pyarrow.array([[{"a": [b"\x00\xff", None], "b": Decimal("1.50")}, None]]),
            '[{"a": ["00ff", null], "b": 1.50}, null]',
        ),
        (
            pyarrow.array(
                [[("a", [1, float("nan")])]], pyarrow.map_(pyarrow.string(), pyarrow.list_(pyarrow.float64()))
            ),
            '[{"key": "a", "value": [1.0, "nan"]}]',
        ),
        (pyarrow.array([[]], pyarrow.list_(pyarrow.int64())), "[]"),
    ],
)
def test_what_is_nested_is_written_as_a_flat_column_is(nested: pyarrow.Array, text: str) -> None:
    rows = pyarrow.concat_arrays([nested, pyarrow.nulls(1, nested.type), nested])
    assert texts(pyarrow.chunked_array([rows, rows[1:]])) == [text, None, text, None, text]


def test_what_parquet_cannot_hold_is_refused_in_one_line() -> None:
    with pytest.raises(QueryError, match="Parquet can't hold this result: "):
        write(pyarrow.table({"a": [pyarrow.MonthDayNano([0, 1, 0])]}), "parquet", io.BytesIO())
