"""The named queries from their files, in Trino and in DuckDB: the same rows of a table that the job wrote.

The job runs as its program, with its own sync; Trino reads the resulting Glue table, from a Glue and an S3 on loopback.
"""

import contextlib
import datetime
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analytics.queries import QUERIES, Queried, Query, RequiredTables
from analytics.tables import LANDED, QUARANTINE, DeclaredTable
from contract.lake import DATABASE, LANDING_PREFIX
from contract.source import OUTBOX_TABLE as TABLE
from local.look.json_lines import BUCKET, landed, quarantined
from local.look.lake import Lake, local_s3_options, oldest_readable
from local.query.query import LakeTable, Period, QueriedLake, ask
from local.query.silver import Silver
from local.services.aws import S3, Aws
from local.setup.ports import choose
from tests.analytics import alike
from tests.spark_jobs.events import CONF, SCHEMA, TOPIC, captured
from tests.spark_jobs.programs import Job
from tests.trino.server import Trino, TrinoError, needed, running
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.trino

# Makes a merge-on-read table's logs become files now.
COMPACTED = ("hoodie.compact.inline=true", "hoodie.compact.inline.max.delta.commits=1")
# Queries that order their rows, no two of which are equal.
ORDERED = {"history", "latest_orders", "quarantine"}
# This lake has neither the example's tables nor a history.
ASKED = [query for query in QUERIES if not isinstance(query.of, RequiredTables) and query.of != "history"]
Rows = list[dict[str, Any]]


class Storage(S3):
    """S3's stand-in, which refuses unknown headers, such as Trino's client sends."""

    def properties(self, objects: Path) -> dict[str, str]:
        return super().properties(objects) | {"s3proxy.ignore-unknown-headers": "true"}


@dataclass
class WrittenLake:
    """A lake that the job writes, and its query engines."""

    folder: Path
    table_type: str
    s3: S3
    aws: Aws
    trino: Trino
    landed: int = 0

    def run_job(self, *events: str, more: Sequence[str] = ()) -> None:
        """Land events and run the job once, with its sync and these further properties."""
        self.landed += len(events)
        name = f"{LANDING_PREFIX}/{TOPIC}/0/{self.landed - 1:012d}_1_2.json"
        self.s3.client().put_object(Bucket="landing", Key=name, Body="".join(f"{e}\n" for e in events).encode())
        properties = [
            f"hoodie.streamer.source.dfs.root=s3a://landing/{LANDING_PREFIX}",
            f"hoodie.streamer.schemaprovider.source.schema.file={SCHEMA}",
            *more,
        ]
        arguments = [
            *("--table-type", self.table_type, "--target-table", f"{DATABASE}.{TABLE}", "--enable-sync"),
            *("--target-base-path", f"s3a://{BUCKET}/{TABLE}", "--props", str(CONF / "cdc_events.properties")),
            *(argument for given in properties for argument in ("--hoodie-conf", given)),
        ]
        job = Job(self.folder, arguments, self.aws.endpoint, s3_endpoint=self.s3.endpoint)
        try:
            assert job.process.wait(PATIENCE_S) == 0, job.output.read_text()[-2000:]
        finally:
            job.end()

    @property
    def table(self) -> Lake:
        return Lake(base_uri=f"s3://{BUCKET}/{TABLE}", storage_options=local_s3_options(self.s3.endpoint))

    def by_duckdb(self, query: Query, *parameters: str, as_of: str | None = None) -> Rows:
        """The rows from the project's own engine, with timestamps as in Trino: to a millisecond."""
        table = LakeTable(queried=Queried(table=TABLE, outbox=True, topic=TOPIC, key=("order_id",)), lake=self.table)
        lake = QueriedLake(
            database=DATABASE,
            tables=[table],
            silver=Silver(self.folder / "silver"),
            quarantine=lambda names: quarantined(self.s3.client(), names),
            landed=lambda topics: landed(self.s3.client(), topics),
        )
        text = query.text
        for parameter in parameters:
            text = text.replace("?", parameter, 1)
        found = ask(lake, text, Period(as_of=as_of)).to_pylist()
        return [{name: _to_a_millisecond(value) for name, value in row.items()} for row in found]

    def declare(self, table: DeclaredTable, bucket: str, *values: Sequence[str]) -> None:
        """Declare a table, as stacks/analytics does on AWS."""
        self.aws.glue().create_table(
            DatabaseName=DATABASE,
            TableInput={
                "Name": table.name,
                "TableType": "EXTERNAL_TABLE",
                "Parameters": table.parameters(bucket, *values),
                "PartitionKeys": [{"Name": name, "Type": kind} for name, kind in table.partitions],
                "StorageDescriptor": {
                    "Columns": [{"Name": name, "Type": kind} for name, kind in table.columns],
                    "Location": table.location(bucket),
                    "InputFormat": table.input_format,
                    "OutputFormat": table.output_format,
                    "SerdeInfo": {"SerializationLibrary": table.serde},
                },
            },
        )


@contextlib.contextmanager
def written_lake(folder: Path, table_type: str) -> Iterator[WrittenLake]:
    """A lake with a table of two commits and one event in quarantine; its files are deleted afterwards."""
    ports = choose(["s3", "moto", "trino"], earlier={})
    s3, aws = Storage(folder / "s3", port=ports["s3"]), Aws(folder / "moto", port=ports["moto"])
    trino = Trino(folder / "trino", needed(), port=ports["trino"], glue=aws.endpoint, s3=s3.endpoint)
    try:
        with running(folder, s3, aws, trino):
            s3.create_buckets(["landing", BUCKET])
            lake = WrittenLake(folder, table_type, s3, aws, trino)
            lake.run_job(*captured("snapshot"), *captured("insert"), "{broken")
            lake.declare(QUARANTINE, f"s3://{BUCKET}", [TABLE])
            lake.declare(LANDED, "s3://landing", [LANDING_PREFIX, "other"], [TOPIC, "other"])
            lake.run_job(*captured("update"), *captured("delete"))
            yield lake
    finally:
        shutil.rmtree(folder / "s3", ignore_errors=True)


@pytest.fixture(scope="module")
def copy_on_write(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WrittenLake]:
    with written_lake(tmp_path_factory.mktemp("trino"), "COPY_ON_WRITE") as lake:
        yield lake


def _to_a_millisecond(value: Any) -> Any:
    if not isinstance(value, datetime.datetime):
        return value
    whole = value.replace(microsecond=0)
    return whole + datetime.timedelta(milliseconds=(value.microsecond + 500) // 1000)


def sides(lake: WrittenLake, query: Query, since: str, *, as_of: str | None = None) -> tuple[Rows, Rows]:
    """The answers of Trino and DuckDB, in the query's order, or sorted if it has none."""
    given = [f"'{since}'" for _ in query.parameters]
    by_trino = lake.trino.ask(query.text, *given)
    by_duckdb = lake.by_duckdb(query, *given, as_of=as_of)
    for name, rows in (("Trino", by_trino), ("DuckDB", by_duckdb)):
        print(f"{query.name} in {name}: {len(rows)} rows", *rows[:2], sep="\n    ")
    if query.name in ORDERED:
        return by_trino, by_duckdb
    return sorted(by_trino, key=_all_values), sorted(by_duckdb, key=_all_values)


def _all_values(row: dict[str, Any]) -> list[str]:
    return [str(row[name]) for name in sorted(row)]


@pytest.mark.parametrize("query", ASKED, ids=lambda query: str(query.name))
def test_a_named_query_answers_the_same_in_trino_and_duckdb(copy_on_write: WrittenLake, query: Query) -> None:
    first = oldest_readable(copy_on_write.table)
    by_trino, by_duckdb = sides(copy_on_write, query, since=first)
    assert by_trino == by_duckdb
    # Orders 10248, 10249 and, changed by the second commit, 11077; 11075 is deleted.
    counts = {"order_items": 31, "latest_orders": 3, "changed_since": 1, "history": 5, "quarantine": 1}
    assert len(by_trino) == counts[query.name]


def test_a_historys_versions_end_where_the_next_one_begins_in_trino_too(copy_on_write: WrittenLake) -> None:
    """DuckDB's answer is tested without Trino (tests/local/query/test_query.py)."""
    [query] = [query for query in QUERIES if query.name == "versions"]
    day = "timestamp '2026-11-2{} 00:00:00'"
    rows = [(1, 1, "false", 1, 0), (1, 3, "true", 2, 1), (1, 2, "false", 2, 0), (2, 1, "false", 1, 0)]
    values = ", ".join(f"({key}, {day.format(at)}, {', '.join(map(str, more))})" for key, at, *more in rows)
    history = f"(VALUES {values}) AS h (order_id, valid_from, ended, __commit, __version)"
    found = copy_on_write.trino.ask(query.text.replace(f"{DATABASE}.{TABLE}_history AS h", history))
    assert sorted(
        (row["order_id"], row["valid_from"].day, row["valid_to"] and row["valid_to"].day) for row in found
    ) == [(1, 21, 22), (1, 22, 23), (2, 21, None)]


def test_trino_answers_the_cases_as_their_file_says(copy_on_write: WrittenLake) -> None:
    """DuckDB and Spark are compared with the file (tests/analytics, tests/spark_jobs)."""
    assert not (wrong := alike.problems("trino", trinos_answers(copy_on_write.trino))), "\n".join(wrong)


def trinos_answers(trino: Trino) -> dict[str, str]:
    tables = ", ".join(f"{name} AS ({query})" for name, query in alike.TABLES.items())
    found = {}
    for case in alike.cases():
        statement = case.statement
        begun = f"WITH {tables}, {statement[5:]}" if statement.startswith("WITH ") else f"WITH {tables} {statement}"
        try:
            found[case.text] = alike.shown(row.values() for row in trino.ask(begun))
        except TrinoError:
            found[case.text] = alike.FAILS
    return found


def test_trino_shows_of_a_merge_on_read_table_what_is_compacted(tmp_path: Path) -> None:
    with written_lake(tmp_path, "MERGE_ON_READ") as lake:
        first = oldest_readable(lake.table)
        orders = next(query for query in QUERIES if query.name == "latest_orders")
        as_it_was, then = sides(lake, orders, since=first, as_of=first)
        assert as_it_was == then
        assert as_it_was != lake.by_duckdb(orders)
        lake.run_job(*captured("unavailable_value")[:1], more=COMPACTED)
        for query in ASKED:
            by_trino, by_duckdb = sides(lake, query, since=first)
            assert by_trino == by_duckdb
            assert by_trino
