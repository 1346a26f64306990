"""A table with PostgreSQL's maximum of columns works: catalog, Avro schema, job, lake, comparison."""

import contextlib
import json
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from pyspark.sql import SparkSession

from capture.entry import propose
from capture.pipeline_file import avro_schema
from contract import events
from db.source.inspection import inspect
from local.comparison.compare import TableComparison
from local.comparison.describe import Compared, describe
from local.look.lake import Lake as HudiRs
from local.services.postgres import ConnectionParameters
from settings.pipeline import CapturedTableSettings
from tests.conftest import execute
from tests.local.comparison.sides import compare, differences
from tests.spark_jobs.events import Event
from tests.spark_jobs.lake import Lake

pytestmark = [pytest.mark.integration, pytest.mark.long]

MOST_COLUMNS = 1600
# A type, a value of it, and Debezium's form of it.
KINDS = [
    ("int", "-7", -7),
    ("bigint", "1099511627776", 1 << 40),
    ("smallint", "3", 3),
    ("text", "'Ä\"'", 'Ä"'),
    ("varchar(5)", "'12'", "12"),
    ("numeric(10,2)", "12.5", "12.50"),
    ("numeric(38,0)", "7", "7"),
    ("numeric", "0.100", "0.100"),
    ("date", "'2026-11-20'", 20777),
    ("timestamp", "'2026-11-20 23:23:11.5'", 1_795_216_991_500_000),
    ("timestamptz", "'2026-11-20 23:23:11.083659Z'", "2026-11-20T23:23:11.083659Z"),
    ("time", "'12:00'", 43_200_000_000),
    ("bytea", "'\\x00ff'", "AP8="),
    ("int[]", "'{1,NULL}'", [1, None]),
    ("text[]", "'{a}'", ["a"]),
    ("jsonb", """'{"a": 1}'""", '{"a": 1}'),
    ("uuid", "'0b1e7a5e-6f3d-4b8a-9a53-0f5d3d8f2b11'", "0b1e7a5e-6f3d-4b8a-9a53-0f5d3d8f2b11"),
    ("boolean", "true", True),
    ("float8", "1.5", 1.5),
    ("float4", "0", 0.0),
]
NAMES = [f"column {number:04}" for number in range(1, MOST_COLUMNS)]
WIDE = CapturedTableSettings.model_validate({"source": "public.wide", "how": "log", "key": ["id"], "truncate": "stop"})


def values(place: int) -> dict[str, int]:
    """The columns with values in a row, by their kind: a page of PostgreSQL's can't hold values for all 1,600."""
    chosen = range(place, len(NAMES), 3)
    return {NAMES[number]: number % len(KINDS) for number in chosen}


def event(key: int, lsn: int, operation: str) -> Event:
    row: dict[str, Any] = dict.fromkeys(NAMES)
    if operation != events.DELETE:
        row |= {name: KINDS[kind][2] for name, kind in values(key).items()}
    added = {events.DELETED: str(operation == events.DELETE).lower(), events.OPERATION: operation, events.LSN: lsn}
    return {"id": key, **row, **dict.fromkeys(events.ADDED_TYPES), **added}


def insert(key: int) -> str:
    chosen = values(key)
    quoted = ", ".join(f'"{name}"' for name in chosen)
    return f"INSERT INTO wide (id, {quoted}) VALUES ({key}, {', '.join(KINDS[kind][1] for kind in chosen.values())});"


@pytest.fixture
def source(database: ConnectionParameters) -> ConnectionParameters:
    columns = (f'"{name}" {KINDS[number % len(KINDS)][0]}' for number, name in enumerate(NAMES))
    execute(database, f"CREATE TABLE wide (id int PRIMARY KEY, {', '.join(columns)}); {insert(0)} {insert(1)}")
    return database


def test_1600_columns_are_the_sources_after_an_insert_an_update_and_a_delete(
    spark: SparkSession, source: ConnectionParameters, tmp_path: Path
) -> None:
    with contextlib.closing(psycopg2.connect(**source)) as connection:
        found = inspect(connection, ["public"])
    [table] = found.tables
    schema_file = tmp_path / "wide.avsc"
    schema_file.write_text(json.dumps(avro_schema("p", propose(table, "wide"), table)))
    settings = {
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.streamer.schemaprovider.source.schema.file": str(schema_file),
    }
    lake = Lake(spark, tmp_path, settings)

    def compared() -> TableComparison:
        there = Compared(entry=WIDE, schema_file=schema_file, lake=HudiRs(base_uri=str(lake.table_path)))
        described = describe(there, found)
        assert (len(described.columns), described.missing, described.notes) == (MOST_COLUMNS, (), ())
        return compare(source, described)

    job = lake.job()
    lake.land(event(0, 1, events.CREATE), event(1, 1, events.CREATE) | {NAMES[1]: None}, event(2, 1, events.CREATE))
    assert job.run_batch() is not None
    assert differences(compared()) == {"different": {("1", NAMES[1])}, "extra": {("2",)}}
    lake.land(event(1, 2, events.UPDATE), event(2, 2, events.DELETE))
    assert job.run_batch() is not None
    assert compared().equal
    assert lake.quarantined() == []
