"""A column of every type, with values that are hard to carry: Debezium's events compared with PostgreSQL.

The events were recorded (`./lake dev generate typed-events`) from the database of tests/events/every_type.sql, which
the tests create again; hudi-rs, DuckDB and Spark read the job's result, and each value is compared.
Events land as the real sink rewrites them: the job must not depend on details that may change.
"""

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg2
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.column_types.canonical import SOURCE_SETTINGS
from contract.column_types.catalogue import Carried, ColumnType
from contract.column_types.types import avro_field, carried, specials_field
from contract.events import ADDED_TYPES, LSN, PLACEHOLDER, SPECIALS_COLUMN
from contract.sizes import LARGEST_EVENT_BYTES
from db.source.catalogue import Table
from db.source.inspection import inspect
from local.look.lake import Lake as HudiRs
from local.services.postgres import ConnectionParameters
from spark_jobs.decoding.decode import Decoder
from spark_jobs.decoding.schema import Column, extend, parse
from tests.cases import chance
from tests.spark_jobs.decoding.conftest import REQUIRED, Decode
from tests.spark_jobs.events import EVENTS, as_lines, avro, captured, event, frame_of
from tests.spark_jobs.lake import Lake

pytestmark = pytest.mark.integration
RECORDED = (EVENTS / "every_type.jsonl").read_text(encoding="utf-8").strip().split("\n")
TABLES = ("every_type", "large")
Texts = dict[int, dict[str, str | None]]


@dataclass(frozen=True)
class Loaded:
    """A table in the lake, with the types of its columns, and the source's values in their canonical form."""

    lake: Lake
    types: Mapping[str, Carried]
    expected: Texts


@pytest.fixture(scope="module")
def loaded(
    spark: SparkSession, typed_source: ConnectionParameters, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Loaded]:
    with contextlib.closing(psycopg2.connect(**typed_source)) as connection:
        tables = {table.name.name: table for table in inspect(connection, ["types"]).tables}
    return {name: _load(spark, typed_source, tables[name], tmp_path_factory.mktemp(name)) for name in TABLES}


def _load(spark: SparkSession, typed_source: ConnectionParameters, table: Table, folder: Path) -> Loaded:
    found = {column.name: carried(column.type, column.modifier) for column in table.columns}
    types = {name: type_ for name, type_ in found.items() if isinstance(type_, Carried)}
    assert len(types) == len(found)
    fields = (avro_field(name, name, type_, nullable=name != "id") for name, type_ in types.items())
    schema = folder / "table.avsc"
    schema.write_text(avro(ADDED_TYPES, *fields, specials_field()))
    settings = {
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.streamer.schemaprovider.source.schema.file": str(schema),
    }
    lake = Lake(spark, folder, settings)
    parsed = {line: json.loads(line) for line in RECORDED}
    ours = {line: event for line, event in parsed.items() if event["__table"] == table.name.name}
    # First a snapshot's rows, then the log's: the second batch finds the first one's rows in the table.
    for of_snapshot in (True, False):
        lake.run(*(line for line, event in ours.items() if (event["__op"] == "r") is of_snapshot))
    assert lake.quarantined() == []
    return Loaded(lake, types, _source_texts(typed_source, table, types))


def _source_texts(typed_source: ConnectionParameters, table: Table, types: Mapping[str, Carried]) -> Texts:
    columns = ", ".join(type_.source_sql(name) for name, type_ in types.items())
    with contextlib.closing(psycopg2.connect(**typed_source)) as connection, connection.cursor() as cursor:
        for name, value in SOURCE_SETTINGS.items():
            cursor.execute("SELECT set_config(%s, %s, true)", (name, value))
        cursor.execute(f"SELECT id, {columns} FROM {table.name}")
        return {key: dict(zip(types, texts, strict=True)) for key, *texts in cursor}


def _differences(found: Texts, expected: Texts) -> dict[str, tuple[int, str | None, str | None]]:
    assert found.keys() == expected.keys()
    return {
        name: (key, texts[name], text)
        for key, row in expected.items()
        for name, text in row.items()
        if (texts := found[key])[name] != text
    }


@pytest.mark.parametrize("table", TABLES)
def test_every_value_is_the_sources_to_duckdb(loaded: dict[str, Loaded], table: str) -> None:
    subject = loaded[table]
    rows = HudiRs(base_uri=str(subject.lake.table_path)).rows()
    columns = ", ".join(type_.lake_sql(name) for name, type_ in subject.types.items())
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        found = connection.execute(f"SELECT id, {columns} FROM rows").fetchall()
    texts = {key: dict(zip(subject.types, row, strict=True)) for key, *row in found}
    assert _differences(texts, subject.expected) == {}


@pytest.mark.parametrize("table", TABLES)
def test_every_value_is_the_sources_to_spark(loaded: dict[str, Loaded], table: str) -> None:
    subject = loaded[table]
    # Python's own dates end at the years 1 and 9999.
    whole = {"date": F.unix_date, "timestamp": F.unix_micros}
    columns = [
        whole[type_.lake](name).alias(name) if type_.lake in whole else F.col(name)
        for name, type_ in subject.types.items()
    ]
    rows = subject.lake.frame()
    found = [row.asDict() for row in rows.select(*columns, SPECIALS_COLUMN).collect()]
    assert _differences({row["id"]: _texts(row, subject.types) for row in found}, subject.expected) == {}


def _texts(row: Mapping[str, Any], types: Mapping[str, Carried]) -> dict[str, str | None]:
    specials = json.loads(row[SPECIALS_COLUMN] or "{}")
    values = {name: bytes(value) if isinstance(value, bytearray) else value for name, value in row.items()}
    return {name: type_.lake_text(values[name], specials, name) for name, type_ in types.items()}


def test_real_geometry_is_ordinary(spark: SparkSession) -> None:
    """Decoding other lines takes several times as long."""
    kinds = {f"c_{kind}": kind for kind in ("point", "line", "lseg", "box", "path", "polygon", "circle")}
    types = {name: carried(ColumnType(kind)) for name, kind in kinds.items()}
    fields = [avro_field(name, name, type_) for name, type_ in types.items() if isinstance(type_, Carried)]
    assert len(fields) == len(kinds)
    events = [found for line in RECORDED if (found := json.loads(line))["__table"] == "every_type"]
    lines = as_lines([{"id": row["id"], **{name: row[name] for name in kinds}} for row in events]).splitlines()
    columns = parse(avro({}, {"name": "id", "type": "long"}, *fields), "")
    written_alike = [line for line in lines if not re.search(r"\de[+-]", line)]  # Python has exponents of its own
    assert len(written_alike) > 5
    found = Decoder(columns, required=("id",)).ordinary(frame_of(spark, written_alike))
    assert {row["reason"] for row in found.collect()} == {None}


def test_the_lakes_columns_have_the_types_that_the_table_of_types_says(loaded: dict[str, Loaded]) -> None:
    subject = loaded["every_type"]
    rows = subject.lake.frame()
    kinds = dict(rows.dtypes)
    assert {name: kinds[name] for name in subject.types} == {name: type_.lake for name, type_ in subject.types.items()}
    assert kinds[LSN] == "bigint"


def test_an_unchanged_large_value_is_known_whatever_the_type_that_was_guessed_as_text(decode: Decode) -> None:
    whole, unchanged = ({**json.loads(line), "order_id": 1} for line in RECORDED if '"__table":"large"' in line)
    unchanged["c_hstore"] = json.dumps({PLACEHOLDER: PLACEHOLDER}, separators=(",", ":"))
    names = [name for name in unchanged if name.startswith(("a_", "c_"))]
    texts = T.StructType([T.StructField(name, T.StringType()) for name in names])
    guessed = extend(parse(avro({"order_id": "int"}), ""), texts)
    assert [row["placeholders"] for row in decode(whole, unchanged, by=guessed)] == [[], names]


def test_the_order_of_fields_means_nothing(decode: Decode) -> None:
    lines = [line for case in ("snapshot", "insert", "update", "delete") for line in captured(case)]
    chosen = chance()
    shuffled = []
    for line in lines:
        fields = list(json.loads(line).items())
        chosen.shuffle(fields)
        shuffled.append(json.dumps(dict(fields)))
    assert shuffled != lines
    found = decode(*shuffled, *lines)
    assert {row["reason"] for row in found} == {None}
    assert [row["row"] for row in found[: len(lines)]] == [row["row"] for row in found[len(lines) :]]


def test_an_event_of_the_largest_size_is_read(spark: SparkSession, columns: tuple[Column, ...]) -> None:
    start, end = '[{"note": "', '"}]'
    ends = as_lines([event(10248, 7) | {"order_items": f"{start}|{end}"}]).rstrip("\n").split("|")
    # Made in the JVM, as Python's way there takes longer than the decoding.
    note = F.repeat(F.lit("x"), LARGEST_EVENT_BYTES - 4096)
    lines = frame_of(spark, [""]).withColumn("line", F.concat(F.lit(ends[0]), note, F.lit(ends[1])))
    kept = F.col("row.order_items") == F.concat(F.lit(start), note, F.lit(end))
    decoder = Decoder(columns, required=REQUIRED)
    for decoded in (decoder(lines), decoder.ordinary(lines)):
        assert [tuple(row) for row in decoded.select("reason", kept).collect()] == [(None, True)]
