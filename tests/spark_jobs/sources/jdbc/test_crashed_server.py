"""A server that has crashed: what it lost of its log was seen, and it gives out the same numbers to others."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest
from pyspark.sql import SparkSession

from local.services.passing_postgres import passing_postgres
from local.services.postgres import ConnectionParameters
from tests.conftest import ask
from tests.spark_jobs.sources.jdbc.conftest import ADDRESS, Queried

pytestmark = pytest.mark.integration

WAIT_S = 60
# Commits don't wait until they are on disk, and nothing else brings them there.
LOSING = {"synchronous_commit": "off", "wal_writer_delay": "10s", "autovacuum": "off"}
NEXT = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"


@pytest.fixture
def losing(tmp_path: Path) -> Iterator[ConnectionParameters]:
    with passing_postgres(tmp_path, settings=LOSING) as server:
        yield server.connection_parameters()


def crash(queried: Queried) -> None:
    """Kill a backend, so that the server ends all, and begins anew with what is on disk."""
    with queried.transaction() as cursor:
        os.kill(cursor.connection.get_backend_pid(), signal.SIGKILL)
        until = time.monotonic() + WAIT_S
        while True:
            assert time.monotonic() < until
            time.sleep(0.1)
            try:
                ask(queried.parameters, "SELECT 1")
            except psycopg2.OperationalError:
                continue
            return


def test_what_a_crash_has_lost_goes_and_what_is_written_under_the_same_numbers_arrives(
    spark: SparkSession, losing: ConnectionParameters, tmp_path: Path
) -> None:
    queried = Queried(spark, losing, tmp_path)
    queried.execute(ADDRESS, "INSERT INTO address SELECT i, 'Street ' || i FROM generate_series(1, 50) AS i")
    job = queried.job()
    queried.run(job)
    queried.execute("CHECKPOINT")
    queried.execute("UPDATE address SET address = 'lost' WHERE address_id = 1")
    for _ in range(20):
        queried.execute("SELECT pg_current_xact_id()")
    queried.run(job)
    assert queried.lake()[1]["address"] == "lost"
    seen = ask(queried.parameters, NEXT)
    crash(queried)
    assert queried.source()[1]["address"] == "Street 1"
    assert ask(queried.parameters, NEXT) < seen
    queried.execute("UPDATE address SET address = 'after' WHERE address_id = 2")
    while ask(queried.parameters, NEXT) <= seen:
        queried.execute("SELECT pg_current_xact_id()")
    job.load()
    queried.run(job)
    job.close()
    assert queried.lake() == queried.source()
    assert any("the server has crashed since" in line for line in queried.log)
