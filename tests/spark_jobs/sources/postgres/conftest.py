"""A table in PostgreSQL and the lake's table from JdbcSource, with the job's own settings."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import psycopg2
import pytest
from pyspark.sql import SparkSession

from contract.events import QUERIED_TYPES
from local.services.postgres import ConnectionParameters
from spark_jobs.ingest import Ingest
from spark_jobs.options import keys
from spark_jobs.options.jdbc_settings import Password, Server
from spark_jobs.runtime.metrics import CommitReport
from spark_jobs.sources.postgres import source
from tests.conftest import execute
from tests.spark_jobs.events import SHARED, avro
from tests.spark_jobs.lake import IngestedTable
from tests.spark_jobs.options.test_jdbc_settings import decided

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
READER = """DO $$ BEGIN CREATE ROLE reader LOGIN PASSWORD 'reader';
    EXCEPTION WHEN duplicate_object THEN ALTER ROLE reader PASSWORD 'reader'; END $$"""
AS_READER = {keys.JDBC_USER: "reader", keys.JDBC_PASSWORD: "reader"}
Rows = dict[Any, dict[str, Any]]


def url_of(parameters: ConnectionParameters) -> str:
    return f"jdbc:postgresql://{parameters['host']}:{parameters['port']}/{parameters['dbname']}"


def server_of(parameters: ConnectionParameters) -> Server:
    password = Password(given=parameters["password"])
    return replace(decided().server, url=url_of(parameters), user=parameters["user"], password=password)


@dataclass
class Queried(IngestedTable):
    """A source's table, and the job's table for it."""

    NAME = "address"
    OWN: ClassVar[Sequence[str]] = ("--source-class", "JdbcSource")
    ADDED: ClassVar[Mapping[str, Any]] = QUERIED_TYPES

    parameters: ConnectionParameters = field(kw_only=True)
    fields: Mapping[str, Any] = field(default_factory=lambda: FIELDS)
    key: str = "address_id"
    table_name: str = "public.address"

    def execute(self, *statements: str) -> None:
        for statement in statements:
            execute(self.parameters, statement)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Any]:
        """A cursor in a transaction that stays open during the block."""
        with contextlib.closing(psycopg2.connect(**self.parameters)) as connection, connection.cursor() as cursor:
            yield cursor

    def properties(self) -> dict[str, str]:
        schema_file = self.folder / "table.avsc"
        schema_file.write_text(avro({**self.fields, **self.ADDED}))
        given = {
            **SHARED,
            keys.RECORD_KEY: self.key,
            keys.SCHEMA_FILE: str(schema_file),
            keys.JDBC_URL: url_of(self.parameters),
            keys.JDBC_USER: self.parameters["user"],
            keys.JDBC_PASSWORD: self.parameters["password"],
            keys.JDBC_TABLE: self.table_name,
            keys.JDBC_SWEEP: "0",
            **self.extra,
        }
        # An empty one removes a property.
        return {key: value for key, value in given.items() if value or key == keys.JDBC_LEFT_OUT}

    def run(self, job: Ingest | None = None) -> list[CommitReport]:
        """Commit everything pending, with a new job or a given one."""
        running = job or self.job()
        reports = []
        while report := running.run_batch():
            reports.append(report)
        if job is None:
            running.close()
        return reports

    def equal_after(self, *statements: str, job: Ingest | None = None) -> list[CommitReport]:
        """Run statements and a job; the lake must equal the source then."""
        self.execute(*statements)
        reports = self.run(job)
        assert self.lake() == self.source()
        return reports

    def lake(self) -> Rows:
        """The lake's rows by key, without columns about how they travelled."""
        found = self.stored()
        rows = {row[self.key]: {name: _naive(row[name]) for name in self.fields} for row in found}
        assert len(rows) == len(found), "a key is in the table twice"
        return rows

    def source(self) -> Rows:
        """The source's rows by key, instants as Spark gives them: in UTC, without a time zone."""
        with self.transaction() as cursor:
            cursor.execute(f"SET TimeZone = 'UTC'; SELECT {', '.join(self.fields)} FROM {self.table_name}")
            names = list(self.fields)
            rows = [dict(zip(names, map(_naive, row), strict=True)) for row in cursor.fetchall()]
        return {row[self.key]: row for row in rows}

    def operations(self) -> dict[Any, str]:
        return {row[self.key]: row["__op"] for row in self.stored()}

    def progress(self) -> dict[str, Any]:
        newest = max((self.table_path / ".hoodie").glob("[0-9]*.commit"), key=lambda path: path.name)
        found: dict[str, Any] = json.loads(json.loads(newest.read_text())["extraMetadata"][keys.PROGRESS])
        return found


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


@pytest.fixture
def queried(spark: SparkSession, database: ConnectionParameters, tmp_path: Path) -> Queried:
    """A table of 603 addresses with one last_update, as in Pagila's dump, and no lake yet."""
    made = Queried(spark, tmp_path, parameters=database)
    made.execute(
        ADDRESS,
        "INSERT INTO address SELECT i, 'Street ' || i, 'District ' || i % 7, '2022-02-15 10:45:30+00'"
        " FROM generate_series(1, 603) AS i",
    )
    return made


@pytest.fixture
def job(queried: Queried) -> Iterator[Ingest]:
    """A job that has read all rows."""
    job = queried.job()
    queried.run(job)
    yield job
    job.close()


@pytest.fixture(autouse=True)
def sweeps_whenever_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests don't wait until the next look at all rows is due."""
    monkeypatch.setattr(source, "SWEEPS_SHARE", 1e9)
