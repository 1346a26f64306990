"""Servers that a job queries: a hot standby, its promotion, lost commits of a crash, wrapped transaction ids."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg2
import pytest
from pyspark.sql import SparkSession

from local.services.postgres import STOP_S, ConnectionParameters, Postgres, processes_of, temporary_postgres
from local.setup.ports import HOST, choose
from spark_jobs.errors import JobError
from spark_jobs.options import keys
from tests.conftest import ask, execute
from tests.spark_jobs.sources.postgres.conftest import ADDRESS, Queried
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long]

ROLE = "copier"
FIFTY = "INSERT INTO address SELECT i, 'Street ' || i FROM generate_series(1, 50) AS i"
# Commits don't wait until they are on disk; the test stops the process that would write them.
LOSING = {"synchronous_commit": "off", "autovacuum": "off"}
LOG_WRITER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
NEXT = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"

AFTER = 300
LAST = 2**32
# Transactions of one segment of pg_xact, and its bytes.
SEGMENT, SEGMENT_BYTES = 2**20, 2**18


@dataclass
class Pair:
    """A primary and its hot standby."""

    primary: Postgres
    standby: Postgres

    def wait(self) -> None:
        """Wait until the standby has replayed everything from the primary."""
        position = ask(self.primary.connection_parameters(), "SELECT pg_current_wal_lsn()")
        replayed = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        wait_until(lambda: ask(self.standby.connection_parameters(), replayed), "the standby follows")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    (tmp_path / "primary").mkdir()
    with temporary_postgres(tmp_path / "primary") as primary:
        own = primary.connection_parameters()
        execute(own, f"CREATE ROLE {ROLE} REPLICATION LOGIN PASSWORD '{ROLE}'")
        with (primary.cluster.data_dir / "pg_hba.conf").open("a") as rules:
            rules.write(f"host replication {ROLE} {HOST}/32 scram-sha-256\n")
        execute(own, "SELECT pg_reload_conf()")
        standby = copied(primary, tmp_path / "standby")
        processes = processes_of(standby, tmp_path / "standby")
        try:
            processes.run(standby)
            yield Pair(primary, standby)
        finally:
            processes.stop(standby.name, grace_s=PATIENCE_S)
            standby.cluster.remove()


def copied(primary: Postgres, folder: Path) -> Postgres:
    folder.mkdir()
    own = primary.connection_parameters()
    standby = Postgres(
        folder / "data", port=choose(["standby"], earlier={})["standby"], superuser_password=own["password"]
    )
    standby.cluster.create(own["password"])  # only for a folder that the server's account may use
    target = standby.cluster.data_dir
    shutil.rmtree(target)
    arguments = ["-h", HOST, "-p", str(primary.port), "-U", ROLE, "-D", str(target), "-R", "-X", "stream", "-c", "fast"]
    environment = {"PATH": os.environ["PATH"], "PGPASSWORD": ROLE}
    subprocess.run([primary.program("pg_basebackup"), *arguments], check=True, env=environment)
    target.chmod(0o700)
    if standby.cluster.account is not None:
        account = standby.cluster.account
        for path in [target, *target.rglob("*")]:
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    return standby


def test_what_commits_late_on_the_primary_is_found_on_the_standby(
    spark: SparkSession, pair: Pair, tmp_path: Path
) -> None:
    writer = Queried(spark, tmp_path, parameters=pair.primary.connection_parameters())
    queried = Queried(spark, tmp_path, parameters=pair.standby.connection_parameters())
    writer.execute(ADDRESS, "CREATE INDEX ON address (last_update)", FIFTY)
    pair.wait()
    queried.run()
    with writer.transaction() as early:
        early.execute("SAVEPOINT s; UPDATE address SET address = 'early' WHERE address_id = 1; RELEASE SAVEPOINT s")
        writer.execute("UPDATE address SET address = 'later' WHERE address_id = 2")
        pair.wait()
        queried.run()
        assert queried.lake()[2]["address"] == "later"
        early.connection.commit()
    writer.execute("DELETE FROM address WHERE address_id = 3")
    pair.wait()
    queried.run()
    assert queried.lake() == writer.source()
    queried.extra = {keys.JDBC_COLUMN: "last_update", keys.JDBC_DETECTION: "column"}
    with pytest.raises(JobError, match="a standby doesn't know the primary's running transactions"):
        queried.run()
    # After the promotion all rows are compared, and only different ones are written.
    queried.extra = {}
    execute(pair.standby.connection_parameters(), "SELECT pg_promote()")
    [report] = queried.equal_after("UPDATE address SET address = 'promoted' WHERE address_id = 4")
    assert report.upserts == 1
    assert any("this is another cluster or database than before" in line for line in queried.log)


@pytest.fixture
def losing(tmp_path: Path) -> Iterator[ConnectionParameters]:
    with temporary_postgres(tmp_path, settings=LOSING) as server:
        yield server.connection_parameters()


def crash(queried: Queried) -> None:
    """Kill a backend: the server ends all (a stopped one after 5 s) and starts again with the disk's content."""

    def answers() -> bool:
        with contextlib.suppress(psycopg2.OperationalError):
            return bool(ask(queried.parameters, "SELECT 1"))
        return False

    with queried.transaction() as cursor:
        os.kill(cursor.connection.get_backend_pid(), signal.SIGKILL)
        time.sleep(0.1)
        wait_until(answers, "the server, started again", every_s=0.1)


def test_what_a_crash_has_lost_goes_and_what_is_written_under_the_same_numbers_arrives(
    spark: SparkSession, losing: ConnectionParameters, tmp_path: Path
) -> None:
    queried = Queried(spark, tmp_path, parameters=losing)
    queried.execute(ADDRESS, FIFTY)
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
    queried.equal_after(job=job)
    job.close()
    assert any("the server has crashed since" in line for line in queried.log)


def test_a_cold_copy_in_the_servers_place_is_compared_once_its_numbers_have_passed_those_seen(
    spark: SparkSession, tmp_path: Path
) -> None:
    with temporary_postgres(tmp_path) as server:
        queried = Queried(spark, tmp_path, parameters=server.connection_parameters())
        queried.execute(ADDRESS, FIFTY)
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
        queried.equal_after(job=job)
        reads = sum("was started again" in line for line in queried.log)
        job.load()
        queried.run(job)
        job.close()
    # At each of the two starts, and never after.
    assert (reads, sum("was started again" in line for line in queried.log)) == (2, 2)


@pytest.fixture
def late(tmp_path: Path) -> Iterator[Postgres]:
    """A server with some 200 transactions left until their numbers in rows wrap around."""
    settings = {"max_prepared_transactions": "1", "autovacuum": "off"}
    with temporary_postgres(tmp_path, settings=settings) as server:
        own, processes = server.connection_parameters(), processes_of(server, tmp_path)
        # Otherwise rows from the server's creation would be in the future.
        for name in ask(own, "SELECT json_agg(datname) FROM pg_database WHERE datallowconn"):
            execute({**own, "dbname": name}, "VACUUM (FREEZE)")
        processes.stop(server.name, grace_s=PATIENCE_S)
        put_forward(server)
        processes.run(server)
        yield server


def put_forward(server: Postgres) -> None:
    """Set a stopped server's next transaction to one of the last."""
    folder, account = server.cluster.data_dir, server.cluster.account
    segment = folder / "pg_xact" / f"{(LAST - 1) // SEGMENT:04X}"
    segment.write_bytes(bytes(SEGMENT_BYTES))
    if account is not None:
        os.chown(segment, account.pw_uid, account.pw_gid)
    subprocess.run(
        [server.program("pg_resetwal"), "-x", str(LAST - 200), "-u", str(LAST - 10_000), "-D", str(folder)],
        check=True,
        user=None if account is None else account.pw_uid,
        group=None if account is None else account.pw_gid,
    )


def test_what_is_written_before_and_after_numbers_begin_again_arrives(
    spark: SparkSession, late: Postgres, tmp_path: Path
) -> None:
    queried = Queried(spark, tmp_path, parameters=late.connection_parameters())
    queried.execute(ADDRESS, FIFTY)
    job = queried.job()
    queried.run(job)
    assert queried.progress()["mark"]["horizon"] < LAST
    queried.execute("BEGIN; UPDATE address SET address = 'prepared' WHERE address_id = 5; PREPARE TRANSACTION 'p'")
    with queried.transaction() as early, queried.transaction() as others:
        early.execute("SAVEPOINT s; UPDATE address SET address = 'early' WHERE address_id = 1; RELEASE SAVEPOINT s")
        others.connection.autocommit = True
        for _ in range(AFTER):
            others.execute("SELECT pg_current_xact_id()")
        others.execute("UPDATE address SET address = 'later' WHERE address_id = 2")
        others.execute("SELECT xmin::text::bigint FROM address WHERE address_id IN (2, 3) ORDER BY 1")
        [after], [before] = others.fetchall()
        assert after < AFTER < LAST - 1_000 < before
        queried.run(job)
        assert queried.lake()[2]["address"] == "later"
        early.connection.commit()
    queried.equal_after(job=job)
    [report] = queried.equal_after(
        "COMMIT PREPARED 'p'", "DELETE FROM address WHERE address_id = 8", "VACUUM (FREEZE) address", job=job
    )
    assert (report.upserts, report.deletes) == (1, 1)
    assert queried.progress()["mark"]["horizon"] > LAST
    job.close()
    assert queried.run() == []
