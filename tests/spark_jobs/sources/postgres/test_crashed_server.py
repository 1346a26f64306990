"""A server that has crashed, or is a cold copy: lost rows were seen, and others get the same numbers."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest
from pyspark.sql import SparkSession

from local.services.postgres import STOP_S, ConnectionParameters, processes_of, temporary_postgres
from tests.conftest import ask
from tests.spark_jobs.sources.postgres.conftest import ADDRESS, Queried

pytestmark = [pytest.mark.integration, pytest.mark.long]

WAIT_S = 180
# Commits don't wait until they are on disk; the test stops the process that would write them.
LOSING = {"synchronous_commit": "off", "autovacuum": "off"}
LOG_WRITER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
NEXT = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"


@pytest.fixture
def losing(tmp_path: Path) -> Iterator[ConnectionParameters]:
    with temporary_postgres(tmp_path, settings=LOSING) as server:
        yield server.connection_parameters()


def crash(queried: Queried) -> None:
    """Kill a backend: the server ends all (a stopped one after 5 s) and starts again with the disk's content."""
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
    queried = Queried(spark, tmp_path, parameters=losing)
    queried.execute(ADDRESS, "INSERT INTO address SELECT i, 'Street ' || i FROM generate_series(1, 50) AS i")
    job = queried.job()
    queried.run(job)
    queried.execute("CHECKPOINT")
    os.kill(ask(queried.parameters, LOG_WRITER), signal.SIGSTOP)
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


def test_a_cold_copy_in_the_servers_place_is_compared_once_its_numbers_have_passed_those_seen(
    spark: SparkSession, tmp_path: Path
) -> None:
    with temporary_postgres(tmp_path) as server:
        queried = Queried(spark, tmp_path, parameters=server.connection_parameters())
        queried.execute(ADDRESS, "INSERT INTO address SELECT i, 'Street ' || i FROM generate_series(1, 50) AS i")
        job, processes, data = queried.job(), processes_of(server, tmp_path), server.cluster.data_dir
        queried.run(job)
        processes.stop(server.name, grace_s=STOP_S)
        shutil.copytree(data, tmp_path / "copy")
        processes.run(server)
        queried.execute("UPDATE address SET address = 'lost' WHERE address_id <= 10")
        queried.run(job)
        assert queried.lake()[1]["address"] == "lost"
        seen = ask(queried.parameters, NEXT)
        processes.stop(server.name, grace_s=STOP_S)
        for path in (tmp_path / "copy").rglob("*"):
            if path.is_file():
                shutil.copyfile(path, data / path.relative_to(tmp_path / "copy"))
        processes.run(server)
        while ask(queried.parameters, NEXT) <= seen + 1:
            queried.execute("SELECT pg_current_xact_id()")
        job.load()
        queried.run(job)
        assert queried.lake() == queried.source()
        reads = sum("was started again" in line for line in queried.log)
        job.load()
        queried.run(job)
        job.close()
    # At each of the two starts, and never after.
    assert (reads, sum("was started again" in line for line in queried.log)) == (2, 2)
