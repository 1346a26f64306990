"""Large batches, read by their columns' types: the same rows as from lines, and lines wherever that isn't certain."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.column_types.catalogue import Carried
from contract.events import PLACEHOLDER, QUERIED_TYPES
from local.services.postgres import ConnectionParameters
from spark_jobs.decoding import schema
from spark_jobs.decoding.decode import Decoder
from spark_jobs.decoding.schema import Column
from spark_jobs.sources.postgres.access import Database
from spark_jobs.sources.postgres.batch import JdbcBatch
from spark_jobs.sources.postgres.source import Jdbc
from tests.conftest import execute
from tests.spark_jobs.events import avro
from tests.spark_jobs.sources.postgres.conftest import Queried

pytestmark = pytest.mark.integration

TYPES = {
    "small": "smallint",
    "whole": "integer",
    "large": "bigint",
    "single": "real",
    "double": "double precision",
    "flag": "boolean",
    "words": "text",
    "short": "varchar(20)",
    "padded": "char(8)",
    "code": "uuid",
    "price": "numeric(20,4)",
    "exact": "numeric",
    "day": "date",
    "at": "timestamp",
    "at_millis": "timestamp(3)",
    "instant": "timestamptz",
    "document": "jsonb",
    "written": "json",
    "raw": "bytea",
    "number": "oid",
    "clock": "time",
    "zoned": "timetz",
    "span": "interval",
    "host": "inet",
    "mood": "mood",
    "least": "positive",
    "tags": "text[]",
    "grid": "int[]",
    "moods": "mood[]",
    "days": "date[]",
    "pattern": "bit(5)",
    "extent": "int4range",
    "search": "tsvector",
    "pair": "pair",
    "cash": "money",
    "on": "bit(1)",
    "place": "point",
    "area": "polygon",
}
CREATE = f"""CREATE TYPE mood AS ENUM ('sad', 'so so'); CREATE DOMAIN positive AS int CHECK (VALUE > 0);
    CREATE TYPE pair AS (a int, b text);
    CREATE TABLE typed (id int PRIMARY KEY, {", ".join(f'"{name}" {kind}' for name, kind in TYPES.items())});
    SELECT setseed(0.4);
    INSERT INTO typed SELECT i, (random() * 60000 - 30000)::int2, (random() * 4e9 - 2e9)::int,
    (random() * 9e18)::int8 * sign(random() - 0.5)::int, (random() * 10 ^ (random() * 60 - 30))::real,
    random() * 10 ^ (random() * 600 - 300), random() < 0.5, md5(i::text), left(md5(i::text), i % 20),
    left(md5(i::text), i % 8), md5(i::text)::uuid, (random() * 1e12)::numeric(20,4),
    (random() * 1e12)::numeric(40,17), DATE '1900-01-01' + (random() * 2900000)::int,
    TIMESTAMP '1900-01-01' + random() * INTERVAL '8000 years', TIMESTAMP '1900-01-01' + random() * INTERVAL '99 years',
    TIMESTAMPTZ '1900-01-01' + random() * INTERVAL '8000 years', jsonb_build_object('n', i, 'tag', md5(i::text)),
    json_build_array(i) FROM generate_series(1, 1500) AS i"""
# Edge values that travel like any other.
EDGES: Mapping[str, Sequence[str]] = {
    "small": ("-32768", "32767"),
    "whole": ("-2147483648", "2147483647", "0"),
    "large": ("-9223372036854775808", "9223372036854775807"),
    "single": ("'NaN'", "'Infinity'", "'-0'", "3.4028235e38", "1e-45"),
    "double": ("'NaN'", "'-Infinity'", "'-0'", "1.7976931348623157e308", "5e-324", "9007199254740993", "0.1"),
    "words": ("''", "' '", r"E'\\ud800 \n\t\"\\'", "'1e400'", "'null'", "'{}'", "U&'\\+01F600'", "E'\\x01\\u2028'"),
    "short": ("''", "'true '"),
    "padded": ("''", "'a'"),
    "price": ("-9999999999999999.9999", "0.0001", "0", "-0.5"),
    "exact": ("1e-30", "123456789012345678901234567890.5", "1.500", "0", "'Infinity'"),
    "day": ("'0002-01-01'", "'1582-10-10'", "'9999-12-31'", "'1970-01-01'"),
    "at": ("'0002-01-01'", "'1582-10-10 12:00'", "'9999-12-31 23:59:59.999999'", "'1969-12-31 23:59:59.999999'"),
    "at_millis": ("'1969-12-31 23:59:59.999'",),
    "instant": (
        "'0002-01-01 00:00+00'",
        "'1582-10-10 12:00+00'",
        "'1899-12-31 23:59:59.5+00'",
        "'9999-12-31 23:59:59.999999+00'",
        "'1969-12-31 23:59:59.999999+00'",
    ),
    "document": ("'{}'", "'null'", r"""'"\ud83d\ude00"'""", "'[1e400, 0.10]'", r"""'{"a": "\n"}'"""),
    "written": ("""'{"a": 1, "a":2}'""", "' [ ] '", """'"text"'""", "'-0.0'"),
    "raw": ("''", "'\\x00ff80'"),
    "number": ("4294967295",),
    "clock": ("'00:00'", "'24:00'", "'12:34:56.789'", "'23:59:59.999999'"),
    "zoned": ("'00:00+14'", "'12:34:56.5-07:30'"),
    "span": ("'0'", "'-1 year 2 mons -3 days 04:05:06.7'", "'999 days 23:59:59.999999'"),
    "host": ("'::1'", "'192.168.0.1/24'", "'10.0.0.1'"),
    "mood": ("'so so'",),
    "least": ("7",),
    "tags": ("'{}'", """ARRAY['', 'a"b', E'\\x01\\\\', NULL, 'é']""", "ARRAY['null']"),
    "grid": ("'{}'", "'[0:1]={1,-2}'", "'{1,NULL}'"),
    "moods": ("'{sad,so so}'",),
    "days": ("'{2020-02-29,1582-10-10,infinity}'",),
    "pattern": ("B'00101'", "B'00000'"),
    "extent": ("'[1,5]'", "'empty'"),
    "search": ("'a:1 b:2'",),
    "pair": ("ROW(1, 'x y')",),
    "cash": ("'-92233720368547758.08'", "'0.05'"),
    "on": ("B'1'", "B'0'"),
    "place": ("'(1.5,-0)'",),
    "area": ("'((0,0),(1,1),(1,0))'",),
}
ODD: Mapping[str, Sequence[str]] = {
    "words": (f"'{PLACEHOLDER}'",),
    "price": ("'NaN'",),
    "exact": ("'NaN'",),
    "day": ("'infinity'", "'-infinity'", "'0044-03-15 BC'", "'10000-01-01'"),
    "at": ("'infinity'", "'0044-03-15 BC'", "'294276-12-31'"),
    "instant": ("'-infinity'", "'0044-03-15 BC'", "'294276-12-31'"),
    "raw": (f"'{PLACEHOLDER}'",),
    "tags": ("'{{a,b}}'", "'{NULL}'"),
}

INSTANT = "io.debezium.time.ZonedTimestamp"


@pytest.fixture
def table(spark: SparkSession, database: ConnectionParameters, queried: Queried) -> Iterator[Jdbc]:
    """A source of the table `typed`; tests add its rows."""
    execute(database, CREATE)
    queried.table_name, queried.key = "public.typed", "id"
    settings: Any = queried.settings().source
    connections = Database(spark, settings.server, log=lambda _line: None)
    source = Jdbc(spark, settings, connections, ("id",), log=lambda _line: None)
    yield source
    source.reset()


def add(database: ConnectionParameters, values: Mapping[str, Sequence[str]]) -> list[int]:
    """Add a row for each value, null in all other columns; return their keys."""
    given = [(name, value) for name, some in values.items() for value in some]
    for number, (name, value) in enumerate(given):
        execute(database, f'INSERT INTO typed (id, "{name}") VALUES ({5000 + number}, {value})')
    return [5000 + number for number in range(len(given))]


def columns_of(batch: JdbcBatch) -> tuple[Column, ...]:
    kinds = {c.name: c.carried.avro for c in batch.relation.columns if isinstance(c.carried, Carried)}
    return schema.parse(avro({**kinds, **QUERIED_TYPES}), "typed.avsc")


def rows(frame: DataFrame) -> dict[int, dict[str, str]]:
    """Rows by key, values as text: NaN is NaN, and -0 isn't 0."""
    found = frame.select("reason", "row").collect()
    assert {row["reason"] for row in found} == {None}
    return {row["row"]["id"]: {name: repr(value) for name, value in row["row"].asDict().items()} for row in found}


def looked(source: Jdbc) -> JdbcBatch:
    batch = source.next_batch(None)
    assert batch is not None
    return batch


def test_rows_read_by_their_types_are_those_of_their_lines_and_stay_as_they_are_next_to_an_upsert(
    table: Jdbc, database: ConnectionParameters, queried: Queried
) -> None:
    keys = add(database, EDGES)
    batch = looked(table)
    columns = columns_of(batch)
    typed, odd = batch.rows_of(columns) or (None, None)
    assert typed is not None
    assert odd is None
    lines = Decoder(columns, required=("id", "__read_ms"))(batch.lines())
    assert typed.schema.simpleString() == lines.schema.simpleString()
    expected = rows(lines)
    assert rows(typed) == expected
    assert {*keys} < {*expected}
    assert len(expected) == 1500 + len(keys)
    table.reset()
    # The first load inserts them in bulk; the second one compares all rows with these.
    queried.fields = {c.name: c.carried.avro for c in batch.relation.columns if isinstance(c.carried, Carried)}
    queried.run()
    changed = "CASE WHEN id % 2 = 1 THEN 'changed' ELSE words END"
    execute(database, f"UPDATE typed SET words = {changed}; DELETE FROM typed WHERE id = 2")
    [report] = queried.run()
    same = {key for key in expected if key % 2 == 0}
    assert (report.upserts, report.deletes) == (len(expected) - len(same), 1)
    lake = queried.frame().filter("id % 2 = 0").withColumn("__op", F.lit("u"))
    names = [column.name for column in columns]
    found = rows(lake.select(F.struct(*names).alias("row"), F.lit(None).alias("reason")))
    assert found.keys() == same - {2}
    for key, row in found.items():
        assert row | {"__read_ms": ""} == expected[key] | {"__read_ms": ""}


def test_rows_with_odd_values_are_read_as_lines_and_no_others(
    table: Jdbc, database: ConnectionParameters, queried: Queried
) -> None:
    keys = add(database, ODD)
    batch = looked(table)
    typed, odd = batch.rows_of(columns_of(batch)) or (None, None)
    assert typed is not None
    assert odd is not None
    assert {row["id"] for row in typed.select("row.id").collect()} == {*range(1, 1501)}
    assert {json.loads(row["line"])["id"] for row in odd.collect()} == {*keys}
    table.reset()
    queried.fields = {"id": "int", "words": "string", "instant": {"type": "string", "connect.name": INSTANT}}
    queried.extra = {"hoodie.streamer.jdbc.columns.left.out": ",".join(TYPES.keys() - queried.fields.keys())}
    [report] = queried.run()
    # An instant in the year 294276 exceeds the lake's range.
    assert (report.upserts, report.quarantined) == (1500 + len(keys) - 1, 1)


def test_what_is_not_as_declared_or_not_simple_is_read_as_lines(table: Jdbc, database: ConnectionParameters) -> None:
    batch = looked(table)
    columns = columns_of(batch)
    others = {
        "no such column": [column for column in columns if column.name != "whole"],
        "another type": [columns[2] if column.name == "words" else column for column in columns],
        "no metadata": [column for column in columns if column.name != "__op"],
    }
    for what, declared in others.items():
        assert batch.rows_of(declared) is None, what
    table.reset()
    execute(database, "ALTER TABLE typed ADD COLUMN round circle")
    batch = looked(table)
    assert batch.rows_of(columns_of(batch)) is None


def test_keys_whose_text_may_be_anothers_are_no_typed_rows(database: ConnectionParameters, queried: Queried) -> None:
    execute(
        database,
        "CREATE TABLE twofold (a text, b text, PRIMARY KEY (a, b));"
        "INSERT INTO twofold SELECT i, 'x' FROM generate_series(1, 1500) AS i;"
        "INSERT INTO twofold VALUES ('1,b:2', '3'), ('1', '2,b:3'), ('', 'y'), ('__empty__', 'y')",
    )
    queried.table_name, queried.key, queried.fields = "public.twofold", "a,b", {"a": "string", "b": "string"}
    [report] = queried.run()
    assert (report.upserts, report.quarantined) == (1502, 2)
