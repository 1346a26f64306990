"""A hot standby is queried like its primary, and late commits aren't lost there; a promotion starts a new timeline."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from local.services.postgres import Postgres, processes_of, temporary_postgres
from local.setup.ports import HOST, choose
from spark_jobs.errors import JobError
from spark_jobs.options import keys
from tests.conftest import ask, execute
from tests.spark_jobs.sources.postgres.conftest import ADDRESS, Queried

pytestmark = [pytest.mark.integration, pytest.mark.long]

WAIT_S = 180
ROLE = "copier"


@dataclass
class Pair:
    """A primary and its hot standby."""

    primary: Postgres
    standby: Postgres

    def wait(self) -> None:
        """Wait until the standby has replayed everything from the primary."""
        position = ask(self.primary.connection_parameters(), "SELECT pg_current_wal_lsn()")
        deadline = time.monotonic() + WAIT_S
        replayed = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        while not ask(self.standby.connection_parameters(), replayed):
            assert time.monotonic() < deadline, "the standby doesn't follow"
            time.sleep(0.05)


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
            processes.stop(standby.name, grace_s=WAIT_S)
            standby.cluster.remove()


def copied(primary: Postgres, folder: Path) -> Postgres:
    """A standby's data, by pg_basebackup."""
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
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    return standby


def test_what_commits_late_on_the_primary_is_found_on_the_standby(
    spark: SparkSession, pair: Pair, tmp_path: Path
) -> None:
    writer = Queried(spark, tmp_path, parameters=pair.primary.connection_parameters())
    queried = Queried(spark, tmp_path, parameters=pair.standby.connection_parameters())
    writer.execute(ADDRESS, "CREATE INDEX ON address (last_update)")
    writer.execute("INSERT INTO address SELECT i, 'Street ' || i FROM generate_series(1, 50) AS i")
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
    queried.execute("UPDATE address SET address = 'promoted' WHERE address_id = 4")
    [report] = queried.run()
    assert report.upserts == 1
    assert queried.lake() == queried.source()
    assert any("this is another cluster or database than before" in line for line in queried.log)
