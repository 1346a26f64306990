"""A table in PostgreSQL and the lake's table that JdbcSource keeps of it, with the job's own settings."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from pyspark.sql import SparkSession

from contract.events import QUERIED_TYPES
from local.services.postgres import ConnectionParameters
from spark_jobs.decoding import schema
from spark_jobs.ingest import Ingest
from spark_jobs.options import command_line, keys, properties, settings
from spark_jobs.options.settings import Settings
from spark_jobs.report import CommitReport
from spark_jobs.sources.postgres import source
from spark_jobs.table_job import SharedParts, build_ingest
from tests.conftest import execute
from tests.spark_jobs.events import SHARED

ADDRESS = """CREATE TABLE address (
    address_id integer PRIMARY KEY,
    address text NOT NULL,
    district text,
    last_update timestamptz NOT NULL DEFAULT now())"""
FIELDS: Mapping[str, Any] = {
    "address_id": "int",
    "address": "string",
    "district": "string",
    "last_update": {"type": "string", "connect.name": "io.debezium.time.ZonedTimestamp"},
}
Rows = dict[Any, dict[str, Any]]


@dataclass
class Queried:
    """A source's table, and what the job makes of it; `extra` are further properties."""

    spark: SparkSession
    parameters: ConnectionParameters
    folder: Path
    extra: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    fields: Mapping[str, Any] = field(default_factory=lambda: FIELDS)
    key: str = "address_id"
    table: str = "public.address"
    log: list[str] = field(default_factory=list)

    def execute(self, *statements: str) -> None:
        for statement in statements:
            execute(self.parameters, statement)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Any]:
        """A cursor in a transaction that is open as long as the block."""
        with contextlib.closing(psycopg2.connect(**self.parameters)) as connection, connection.cursor() as cursor:
            yield cursor

    @property
    def table_path(self) -> Path:
        return self.folder / "lake" / "address"

    def properties(self) -> dict[str, str]:
        avro = self.folder / "table.avsc"
        fields = [{"name": name, "type": ["null", kind]} for name, kind in {**self.fields, **QUERIED_TYPES}.items()]
        avro.write_text(json.dumps({"type": "record", "name": "row", "fields": fields}))
        p = self.parameters
        given = {
            **SHARED,
            keys.RECORD_KEY: self.key,
            keys.SCHEMA_FILE: str(avro),
            keys.JDBC_URL: f"jdbc:postgresql://{p['host']}:{p['port']}/{p['dbname']}",
            keys.JDBC_USER: p["user"],
            keys.JDBC_PASSWORD: p["password"],
            keys.JDBC_TABLE: self.table,
            keys.JDBC_SWEEP: "0",
            **self.extra,
        }
        # An empty one takes a property away.
        return {key: value for key, value in given.items() if value or key == keys.JDBC_LEFT_OUT}

    def settings(self) -> Settings:
        given = command_line.parse(
            [
                *("--table-type", "COPY_ON_WRITE", "--target-base-path", str(self.table_path)),
                *("--target-table", "lake.address", "--source-class", "JdbcSource", *self.arguments),
            ]
        )
        return settings.decide(given, properties.combine(self.properties().items(), []), self.log.append)

    def job(self) -> Ingest:
        """A job that has read the table's progress, as after a start."""
        decided = self.settings()
        columns = schema.parse(Path(decided.schema_file).read_text(), decided.schema_file)
        job = build_ingest(self.spark, decided, columns, SharedParts(log=self.log.append))
        job.load()
        return job

    def run(self, job: Ingest | None = None) -> list[CommitReport]:
        """Commit all that there is, by a new job or a given one."""
        running = job or self.job()
        reports = []
        while report := running.run_batch():
            reports.append(report)
        if job is None:
            running.close()
        return reports

    def lake(self) -> Rows:
        """The lake's rows by key, without what only says how they travelled."""
        found = self.spark.read.format("hudi").load(str(self.table_path)).select(self.key, *self.fields).collect()
        rows = {row[0]: row.asDict() for row in found}
        assert len(rows) == len(found), "a key is in the table twice"
        return rows

    def source(self) -> Rows:
        """The source's rows by key, instants as Spark gives them: in UTC, without saying so."""
        with self.transaction() as cursor:
            cursor.execute(f"SET TimeZone = 'UTC'; SELECT {', '.join(self.fields)} FROM {self.table}")
            names = list(self.fields)
            rows = [dict(zip(names, map(_naive, row), strict=True)) for row in cursor.fetchall()]
        return {row[self.key]: row for row in rows}

    def operations(self) -> dict[Any, str]:
        """What each row's event was to the lake."""
        found = self.spark.read.format("hudi").load(str(self.table_path)).select(self.key, "__op").collect()
        return {row[0]: row[1] for row in found}

    def commits(self) -> int:
        """How many completed commits the timeline has."""
        return len([*(self.table_path / ".hoodie").glob("[0-9]*.commit")])

    def progress(self) -> dict[str, Any]:
        """The progress of the newest commit."""
        newest = max((self.table_path / ".hoodie").glob("[0-9]*.commit"), key=lambda path: path.name)
        found: dict[str, Any] = json.loads(json.loads(newest.read_text())["extraMetadata"][keys.PROGRESS])
        return found


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


@pytest.fixture
def queried(spark: SparkSession, database: ConnectionParameters, tmp_path: Path) -> Queried:
    """A table of 603 addresses with one last_update, as Pagila's dump has them, and no lake yet."""
    made = Queried(spark, database, tmp_path)
    made.execute(
        ADDRESS,
        "INSERT INTO address SELECT i, 'Street ' || i, 'District ' || i % 7, '2022-02-15 10:45:30+00'"
        " FROM generate_series(1, 603) AS i",
    )
    return made


@pytest.fixture(autouse=True)
def sweeps_whenever_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test doesn't wait until a look at all rows is due again."""
    monkeypatch.setattr(source, "_SHARE", 1e9)
