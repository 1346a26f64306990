"""Transaction numbers have 32 bits in rows: rows written around their wraparound are found all the same."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from local.services.postgres import Postgres, processes_of
from local.setup.ports import choose
from tests.conftest import ask, execute
from tests.spark_jobs.sources.postgres.conftest import ADDRESS, Queried

pytestmark = [pytest.mark.integration, pytest.mark.long]

WAIT_S, AFTER = 60, 300
LAST = 2**32
# Transactions of one segment of pg_xact, and its bytes.
SEGMENT, SEGMENT_BYTES = 2**20, 2**18


@pytest.fixture
def late(tmp_path: Path) -> Iterator[Postgres]:
    """A server with some 200 transactions left until their numbers in rows wrap around."""
    port = choose([Postgres.name], earlier={})[Postgres.name]
    settings = {"max_prepared_transactions": "1", "autovacuum": "off"}
    server = Postgres(tmp_path / "data", port=port, superuser_password="superuser", settings=settings)
    processes = processes_of(server, tmp_path)
    try:
        processes.run(server)
        own = server.connection_parameters()
        # Otherwise rows from the server's creation would be in the future.
        for name in ask(own, "SELECT json_agg(datname) FROM pg_database WHERE datallowconn"):
            execute({**own, "dbname": name}, "VACUUM (FREEZE)")
        processes.stop(server.name, grace_s=WAIT_S)
        put_forward(server)
        processes.run(server)
        yield server
    finally:
        processes.stop(server.name, grace_s=WAIT_S)
        server.cluster.remove()


def put_forward(server: Postgres) -> None:
    """Set a stopped server's next transaction to one of the last."""
    folder, account = server.cluster.data_dir, server.cluster.account
    segment = folder / "pg_xact" / f"{(LAST - 1) // SEGMENT:04X}"
    segment.write_bytes(bytes(SEGMENT_BYTES))
    if account is not None:
        os.chown(segment, account.uid, account.gid)
    subprocess.run(
        [server.program("pg_resetwal"), "-x", str(LAST - 200), "-u", str(LAST - 10_000), "-D", str(folder)],
        check=True,
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
    )


def test_what_is_written_before_and_after_numbers_begin_anew_arrives(
    spark: SparkSession, late: Postgres, tmp_path: Path
) -> None:
    queried = Queried(spark, tmp_path, parameters=late.connection_parameters())
    queried.execute(ADDRESS, "INSERT INTO address SELECT i, 'Street ' || i FROM generate_series(1, 50) AS i")
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
    queried.run(job)
    assert queried.lake() == queried.source()
    queried.execute("COMMIT PREPARED 'p'", "DELETE FROM address WHERE address_id = 8", "VACUUM (FREEZE) address")
    [report] = queried.run(job)
    assert (report.upserts, report.deletes) == (1, 1)
    assert queried.lake() == queried.source()
    assert queried.progress()["mark"]["horizon"] > LAST
    job.close()
    assert queried.run() == []
