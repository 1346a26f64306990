"""Random histories of transactions, looks, restarts and crashes: a plain lake that follows the looks equals the source.

Other tests cover Spark's and Hudi's part; these check only what a look finds, hundreds of times.
"""

import contextlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg2
import pytest
from pyspark.sql import SparkSession

from local.services.postgres import ConnectionParameters
from spark_jobs.options.jdbc_settings import Detection, JdbcSettings
from spark_jobs.sources.postgres.access import Database
from spark_jobs.sources.postgres.batch import JdbcBatch
from spark_jobs.sources.postgres.source import Jdbc
from tests import cases
from tests.conftest import execute
from tests.spark_jobs.options.test_jdbc_settings import decided
from tests.spark_jobs.sources.postgres.conftest import server_of

pytestmark = pytest.mark.integration

STEPS, SESSIONS, HISTORIES = 60, 3, 12
CREATE = """CREATE TABLE t (a int, b text, v int, last_update timestamptz DEFAULT now(), PRIMARY KEY (a, b));
    CREATE INDEX ON t (last_update); CREATE SEQUENCE s;
    INSERT INTO t SELECT i, 'b' || i % 3, 0 FROM generate_series(1, 30) AS i;
    CREATE VIEW w AS SELECT * FROM t"""
ANY = "(SELECT a FROM t WHERE a >= {n} ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED)"
CHANGES = (
    f"UPDATE t SET v = nextval('s'), last_update = now() WHERE a = {ANY}",
    f"UPDATE t SET v = nextval('s') WHERE a = {ANY}",
    f"UPDATE t SET last_update = last_update - interval '1 day' WHERE a = {ANY}",
    f"UPDATE t SET a = a + 1000 WHERE a = {ANY} AND a < 1000",
    f"DELETE FROM t WHERE a = {ANY}",
    "INSERT INTO t SELECT nextval('s') + 5000, 'new', 1",
    "INSERT INTO t SELECT nextval('s') + 5000, 'old', 1, '2001-01-01'",
    "SAVEPOINT p",
)


@dataclass
class PlainLake:
    """Rows by key, and the progress of their last commit."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    checkpoint: str | None = None

    def take(self, batch: JdbcBatch) -> None:
        """Apply a batch as the job does, by QueriedRows' rules."""
        found = {key_of(row): row for part in batch.parts for row in lines(batch, part)}
        new = len(found.keys() - self.rows.keys())
        known = batch.lake_rows if self.rows else 0
        self.rows |= found
        if batch.complete and (known is None or known + new != batch.rows):
            there = {key_of(json.loads(line)) for line in read(batch, batch.relation.key_lines("true"))}
            self.rows = {key: row for key, row in self.rows.items() if key in there}
            known, new = len(self.rows), 0
        after = None if known is None else known + new
        if batch.complete:
            assert after is not None
            assert batch.rows is not None
            batch.settled(after if after == batch.rows else None, batch.rows - after)
        else:
            batch.settled(after if batch.lake_rows is not None else None, 0)
        batch.close()
        self.checkpoint = batch.checkpoint


def key_of(row: dict[str, Any]) -> str:
    return json.dumps([row["a"], row["b"]])


def lines(batch: JdbcBatch, part: str) -> list[dict[str, Any]]:
    within = f"{batch.condition} AND {part}"
    rows: list[dict[str, Any]] = [json.loads(line) for line in read(batch, batch.relation.lines(within, {}))]
    return rows


def read(batch: JdbcBatch, query: str) -> list[str]:
    text = batch.look.text(f"SELECT string_agg(line, E'\\n') FROM ({query}) AS q")
    return text.split("\n") if text else []


@dataclass
class Sessions:
    """Some sessions, each in a transaction or not, that change rows at random."""

    connections: list[Any]
    chance: random.Random

    def step(self) -> None:
        """Continue in one of them: a change, a savepoint, or the end of its transaction."""
        connection = self.chance.choice(self.connections)
        ending = self.chance.random()
        if ending < 0.25:
            connection.commit()
        elif ending < 0.3:
            connection.rollback()
        else:
            # Some rows with the transaction's own number, some with a subtransaction's.
            with connection.cursor() as cursor, contextlib.suppress(psycopg2.errors.LockNotAvailable):
                cursor.execute("SET LOCAL lock_timeout = '50ms'")
                cursor.execute(self.chance.choice(CHANGES).format(n=self.chance.randint(1, 40)))
                return
            connection.rollback()

    def end(self) -> None:
        for connection in self.connections:
            connection.commit()


@pytest.fixture
def sessions(database: ConnectionParameters) -> Iterator[list[Any]]:
    execute(database, CREATE)
    connections = [psycopg2.connect(**database) for _ in range(SESSIONS)]
    yield connections
    for connection in connections:
        connection.close()


def settings_of(parameters: ConnectionParameters, chance: random.Random) -> JdbcSettings:
    by_digests = chance.random() < 0.3
    return replace(
        decided(),
        server=server_of(parameters),
        table=chance.choice("tw") if by_digests else "t",
        detection=Detection.HASH if by_digests else Detection.AUTO,
        column=None if by_digests or chance.random() < 0.5 else "last_update",
        margin_seconds=0.2,
        sweep_seconds=0,
        deletes_percent=100,
        max_rows=chance.choice([7, 1000]),
        fetch_size=100,
        readers=3,
    )


@pytest.mark.parametrize("number", range(cases.RUNS or HISTORIES))
def test_any_looks_end_with_the_source_in_the_lake(
    spark: SparkSession, database: ConnectionParameters, sessions: list[Any], number: int
) -> None:
    chance = cases.chance(number)
    settings, lake, writers = settings_of(database, chance), PlainLake(), Sessions(sessions, chance)
    connections = Database(spark, settings.server, log=lambda _line: None)

    def started() -> Jdbc:
        return Jdbc(spark, settings, connections, ("a", "b"), log=lambda _line: None)

    job = started()
    for step in range(STEPS):
        what = chance.random()
        if step == STEPS // 2:
            what = 0.9  # the job looks at least once while changes continue
        if what < 0.75:
            writers.step()
            continue
        if settings.column and chance.random() < 0.5:
            job._next_sweep = float("inf")  # a look by the column alone, if any
        batch = job.next_batch(lake.checkpoint)
        job._next_sweep = 0.0
        if batch is not None and what > 0.95:
            job.reset()  # a crash before the commit
        elif batch is not None:
            lake.take(batch)
        if chance.random() < 0.1:
            job.reset()
            job = started()
    writers.end()
    while (batch := job.next_batch(lake.checkpoint)) is not None:
        lake.take(batch)
        job._next_sweep = 0.0
    job.reset()
    wanted = all_rows(spark, settings, connections)
    assert lake.rows == wanted


def all_rows(spark: SparkSession, settings: JdbcSettings, connections: Database) -> dict[str, Any]:
    found = PlainLake()
    fresh = Jdbc(spark, replace(settings, max_rows=10**6), connections, ("a", "b"), log=lambda _line: None)
    if (all_of_it := fresh.next_batch(None)) is not None:
        found.take(all_of_it)
    fresh.reset()
    return found.rows
