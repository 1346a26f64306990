"""Rows as PostgreSQL writes them for the job, compared with Debezium's events of the same rows (tests/events)."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import psycopg2
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from contract import events
from contract.column_types.catalogue import Carried, quoted
from contract.column_types.types import avro_field, specials_field
from local.services.postgres import ConnectionParameters
from spark_jobs.decoding import schema
from spark_jobs.decoding.decode import Decoder
from spark_jobs.sources.postgres import event_sql
from spark_jobs.sources.postgres.event_sql import SourceColumn
from tests.conftest import execute
from tests.spark_jobs.events import EVENTS, avro, frame_of

pytestmark = pytest.mark.integration

TABLES = ("every_type", "large")
# Debezium's snapshots of these rows are wrong, its other events right: eras of dates (docs/reference/types.md).
WRONG_IN_SNAPSHOTS = {"c_date"}
Row = Mapping[str, Any]


@contextlib.contextmanager
def session(typed_source: ConnectionParameters) -> Iterator[Any]:
    """A cursor like the source's connection, in a session with other settings."""
    with contextlib.closing(psycopg2.connect(**typed_source)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SET DateStyle = 'SQL, DMY'; SET IntervalStyle = sql_standard; SET TimeZone = 'Asia/Kolkata';"
            "SET bytea_output = escape; SET extra_float_digits = 0; SET standard_conforming_strings = off"
        )
        for name, value in event_sql.SESSION_SETTINGS.items():
            cursor.execute(f"SET {name} = {event_sql.literal(value)}")
        yield cursor


def columns_of(cursor: Any, schema_name: str, table: str) -> tuple[SourceColumn, ...]:
    cursor.execute(event_sql.catalogue_sql(schema_name, table))
    return event_sql.read_columns(cursor.fetchone()[0])


def lines_of(cursor: Any, columns: Sequence[SourceColumn], relation: str, **metadata: str | int) -> list[str]:
    cursor.execute(f"SELECT {event_sql.row_sql(columns, metadata)} FROM {relation} AS t")
    return [line for (line,) in cursor]


@pytest.mark.parametrize("table", TABLES)
def test_a_queried_row_is_decoded_as_debeziums_event_is(
    spark: SparkSession, typed_source: ConnectionParameters, table: str
) -> None:
    """That Debezium's are the source's values is tested elsewhere (decoding/test_every_type.py)."""
    with session(typed_source) as cursor:
        columns = columns_of(cursor, "types", table)
        queried = lines_of(cursor, columns, f"types.{table}", __op="c")
    recorded = [json.dumps(event) for event in _recorded(table).values()]
    ours, debeziums = _written(queried), _written(recorded)
    assert ours.keys() == debeziums.keys()
    assert {frozenset(row) for row in ours.values()} == {frozenset(["__op", *(column.name for column in columns)])}
    # What is written alike is decoded alike.
    unlike = {c.name for c in columns if any(row[c.name] != debeziums[key][c.name] for key, row in ours.items())}
    if not unlike:
        return
    fields = parsed([c for c in columns if c.name in {"id", *unlike}], specials_field(), added=events.ADDED_TYPES)
    # In one query, which takes longer to plan and to compile than to run.
    rows = _rows(spark, fields, [*queried, *recorded])
    ours, debeziums = ({row["id"]: row for row in some} for some in (rows[: len(queried)], rows[len(queried) :]))
    differences = {
        (key, name): (row[name], value)
        for key, row in ours.items()
        for name, value in debeziums[key].items()
        if row[name] != value
    }
    assert {name for _, name in differences} <= WRONG_IN_SNAPSHOTS, differences


def _written(lines: Iterable[str]) -> dict[Any, Row]:
    """Rows by key, their numbers as they are written."""
    rows = [json.loads(line, parse_float=str, parse_int=str) for line in lines]
    return {row["id"]: row for row in rows}


def _recorded(table: str) -> dict[int, Row]:
    """Each row's last event, with the values that it doesn't repeat; none for a deleted row."""
    found: dict[int, Row] = {}
    for line in (EVENTS / "every_type.jsonl").read_text(encoding="utf-8").strip().split("\n"):
        event = json.loads(line)
        if event[events.TABLE] != table:
            continue
        if table == "large" and event[events.OPERATION] == events.UPDATE:
            found[event["id"]] = {**found[event["id"]], "note": event["note"]}
        elif event[events.OPERATION] == events.DELETE:
            del found[event["id"]]
        else:
            found[event["id"]] = event
    return found


def _rows(spark: SparkSession, columns: Sequence[schema.Column], lines: Sequence[str]) -> list[Row]:
    """Decode lines in their order; all must fit. Days and instants are numbers, since Python's have a limited range."""
    found = Decoder(columns, required=["id"])(frame_of(spark, lines)).orderBy("number")
    whole = {"date": F.unix_date, "timestamp": F.unix_micros}
    stored = [
        whole.get(c.stored.simpleString(), F.col)(f"row.{c.name}").alias(c.name)
        for c in columns
        if c.name not in events.ADDED_TYPES
    ]
    rows = [row.asDict() for row in found.select("reason", *stored).collect()]
    assert {row["reason"] for row in rows} == {None}
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    # NaNs aren't equal to each other.
    return repr(value) if isinstance(value, float) else bytes(value) if isinstance(value, bytearray) else value


def line_of(
    database: ConnectionParameters, *statements: str, schema_name: str = "public", table: str = "t", **metadata: str
) -> str:
    """Run statements and return the line of a table's only row."""
    for statement in statements:
        execute(database, statement)
    with session(database) as cursor:
        columns = columns_of(cursor, schema_name, table)
        [line] = lines_of(cursor, columns, f"{quoted(schema_name)}.{quoted(table)}", **metadata)
    return line


SIGNS = "".join(map(chr, [*range(1, 0x80), 0xA0, 0x2028, 0xFFFD, 0x1F600]))
WIDE = [f"c{number}" for number in range(1600)]
LINES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "what stops Debezium, or what it has wrong": (
        "CREATE TYPE mood AS ENUM ('sad');"
        "CREATE TABLE t (id int PRIMARY KEY, born date, at timetz, span interval, moods mood[], prices numeric[])",
        "INSERT INTO t VALUES (1, '0044-03-15 BC', '12:00:00+02:00:30',"
        " '2000000000 hours'::interval + '500000000 hours', '{sad,NULL}', '{NaN,1.50}')",
        {
            "id": 1,
            "born": -735160,
            "at": "09:59:30Z",
            "span": "P0Y0M0DT2500000000H0M0S",
            "moods": ["sad", None],
            "prices": ["NaN", "1.50"],
        },
    ),
    "the last instants": (
        "CREATE TABLE t (a timestamptz, b timestamptz, c timestamp, d timestamp(3), e timestamptz)",
        "INSERT INTO t VALUES ('294247-01-10 04:00:54.775806+00', '4713-01-01 00:00:00+00 BC',"
        " '294247-01-10 04:00:54.775806', '4713-01-01 00:00:00.001 BC', '0001-06-01 00:00:00.5+00 BC')",
        {
            "a": "+294247-01-10T04:00:54.775806Z",
            "b": "-4712-01-01T00:00:00.000000Z",
            "c": 9223372036854775806,
            "d": -210863519999999,
            "e": "0000-06-01T00:00:00.500000Z",
        },
    ),
    "1600 columns": (
        f"CREATE TABLE t ({', '.join(f'{name} int' for name in WIDE)})",
        "INSERT INTO t (c0, c1599) VALUES (1, 2)",
        dict.fromkeys(WIDE) | {"c0": 1, "c1599": 2},
    ),
    "every kind of sign": (
        "CREATE TABLE t (id int, w text, a text[])",
        f"INSERT INTO t SELECT 1, w, ARRAY[w, NULL, ''] FROM (VALUES ({event_sql.literal(SIGNS)})) AS v (w)",
        {"id": 1, "w": SIGNS, "a": [SIGNS, None, ""]},
    ),
}


@pytest.mark.parametrize(("table", "row", "expected"), LINES.values(), ids=LINES)
def test_a_row_is_one_line(database: ConnectionParameters, table: str, row: str, expected: dict[str, Any]) -> None:
    line = line_of(database, table, row)
    assert json.loads(line) == expected
    assert not {"\n", "\r"} & set(line)


def test_names_with_any_sign_are_columns(database: ConnectionParameters) -> None:
    schema_name, table = "s'\\.", 'a "b".c'
    name = f"{quoted(schema_name)}.{quoted(table)}"
    create = rf"""CREATE TABLE {name} ("x'y\" int, "x.y""?" int, "ünï%s{{c}}" int)"""
    line = line_of(
        database,
        f"CREATE SCHEMA {quoted(schema_name)}",
        create,
        f"INSERT INTO {name} VALUES (1, 2, 3)",
        schema_name=schema_name,
        table=table,
        __table=table,
    )
    assert json.loads(line) == {"x'y\\": 1, 'x.y"?': 2, "ünï%s{c}": 3, "__table": table}


def parsed(
    columns: Sequence[SourceColumn], *more: Row, added: Mapping[str, str] = MappingProxyType({})
) -> tuple[schema.Column, ...]:
    fields = (avro_field(c.name, c.name, c.carried) for c in columns if isinstance(c.carried, Carried))
    return schema.parse(avro(added, *fields, *more), "t.avsc")


def test_days_and_instants_in_arrays_are_the_sources_in_any_era(
    spark: SparkSession, database: ConnectionParameters
) -> None:
    line = line_of(
        database,
        "CREATE TABLE t (id int, days date[], moments timestamp[], short timestamp(3)[], zoned timestamptz[])",
        "INSERT INTO t VALUES (1, '{0044-03-15 BC,0001-12-31 BC,0001-01-01,1960-02-29,12026-01-01}',"
        " '{0044-03-15 12:00:00.25 BC,1960-01-01 00:00:00.5}',"
        " '{0044-03-15 00:00:00.001 BC,1969-12-31 23:59:59.9}',"
        " '{0044-03-15 12:00:00.000001+00 BC,1960-01-01 00:00:00.5+00,infinity}')",
    )
    with session(database) as cursor:
        columns = columns_of(cursor, "public", "t")
        kinds = {c.name: c.carried for c in columns if isinstance(c.carried, Carried)}
        cursor.execute(f"SELECT {', '.join(kind.source_sql(name) for name, kind in kinds.items())} FROM public.t")
        expected = dict(zip(kinds, cursor.fetchone(), strict=True))
    [row] = _rows(spark, parsed(columns), [line])
    assert {name: kind.lake_text(row[name]) for name, kind in kinds.items()} == expected


def test_an_array_of_several_dimensions_is_set_aside_as_debeziums_is(
    spark: SparkSession, database: ConnectionParameters
) -> None:
    execute(database, "CREATE TABLE t AS SELECT 1 AS id, '{{1},{2}}'::int[] AS n, '{{a},{b}}'::text[] AS w")
    with session(database) as cursor:
        columns = columns_of(cursor, "public", "t")
        lines = [line for one in columns[1:] for line in lines_of(cursor, [columns[0], one], "public.t")]
    decoded = Decoder(parsed(columns), required=["id"])(frame_of(spark, lines))
    found = [row.reason for row in decoded.collect()]
    assert all(found), found


def test_a_querys_columns_are_described_by_their_types_numbers(database: ConnectionParameters) -> None:
    numeric_10_2 = (10 << 16 | 2) + 4
    with session(database) as cursor:
        cursor.execute(event_sql.query_catalogue_sql([("it's", 23, -1), ("price", 1700, numeric_10_2)]))
        found = event_sql.read_columns(cursor.fetchone()[0])
    assert [(c.name, c.type.name, c.carried.lake) for c in found if isinstance(c.carried, Carried)] == [
        ("it's", "int4", "int"),
        ("price", "numeric", "decimal(10,2)"),
    ]


def test_a_table_that_is_not_there_has_no_columns(database: ConnectionParameters) -> None:
    with session(database) as cursor:
        assert columns_of(cursor, "public", "no such") == ()


def test_what_is_left_out_or_cannot_be_carried_is_not_sent(database: ConnectionParameters) -> None:
    execute(database, "CREATE TABLE t (id int, secret text, flags varbit)")
    with session(database) as cursor:
        columns = columns_of(cursor, "public", "t")
    assert [column.name for column in event_sql.sent(columns, leave_out=["secret"])] == ["id"]
    assert list(event_sql.not_sent(columns, leave_out=["secret"])) == ["flags"]
    assert list(event_sql.not_sent(columns, leave_out=["secret", "flags"])) == []
