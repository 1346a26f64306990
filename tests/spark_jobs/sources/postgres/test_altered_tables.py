"""Tables that are altered, replaced or rewritten while a job reads them, between two looks and during one."""

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from local.services.postgres import ConnectionParameters
from spark_jobs.errors import JobError
from spark_jobs.ingest import Ingest
from spark_jobs.sources.postgres import batch
from tests.cases import long
from tests.conftest import ask, execute
from tests.spark_jobs.sources.postgres.conftest import Queried
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

WAIT_S = 120
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'"


@contextlib.contextmanager
def committed_once_somebody_waits(queried: Queried, statements: str) -> Iterator[None]:
    """Run statements in a transaction that commits when another waits for its locks."""
    until = time.monotonic() + WAIT_S
    with queried.transaction() as altering:
        altering.execute(statements)

        def commit() -> None:
            while time.monotonic() < until and not ask(queried.parameters, WAITING):
                time.sleep(0.05)
            altering.connection.commit()

        thread = threading.Thread(target=commit)
        thread.start()
        try:
            yield
        finally:
            thread.join()
    assert time.monotonic() < until, "nobody has waited"


REPLACED = """CREATE TABLE other (LIKE address INCLUDING ALL); INSERT INTO other SELECT * FROM address;
    DROP TABLE address; ALTER TABLE other RENAME TO address"""


@pytest.mark.parametrize(
    "statements",
    [
        long("ALTER TABLE address ALTER address TYPE text USING address || '!'"),
        long("ALTER TABLE address ALTER last_update TYPE timestamptz(3)"),
        "TRUNCATE address; INSERT INTO address SELECT i, 'again' FROM generate_series(1, 603) AS i",
        long(REPLACED),
        "ALTER TABLE address DROP COLUMN district",
    ],
    ids=["all values", "a column's type", "truncated and filled", "replaced", "a column less"],
)
def test_a_table_that_was_altered_while_a_look_waited_ends_no_job_and_is_not_taken_for_empty(
    queried: Queried, job: Ingest, statements: str
) -> None:
    queried.execute("UPDATE address SET address = 'new' WHERE address_id = 3")
    if "DROP COLUMN" in statements:
        queried.fields = {name: kind for name, kind in queried.fields.items() if name != "district"}
    with committed_once_somebody_waits(queried, statements):
        queried.run(job)
    assert queried.lake() == queried.source()


def test_a_view_whose_table_was_rewritten_while_a_look_waited_keeps_its_rows(queried: Queried) -> None:
    queried.execute("CREATE VIEW seen AS SELECT address_id, address, district, last_update FROM address")
    queried.table_name = "public.seen"
    job = queried.job()
    queried.run(job)
    with committed_once_somebody_waits(
        queried, "ALTER TABLE address ADD COLUMN at timestamptz DEFAULT clock_timestamp()"
    ):
        queried.run(job)
    job.close()
    assert queried.lake() == queried.source()


def test_a_look_yields_to_ddl_that_waits_for_it_so_that_the_tables_users_need_not_wait(
    queried: Queried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's question for the columns would stand behind the DDL, and the DDL behind this look."""
    monkeypatch.setattr(batch, "SMALL_EVENTS", 0)
    monkeypatch.setattr(batch, "LOCK_TIMEOUT", "200ms")
    read, job, threads = batch.RelationBatch._read, queried.job(), list[threading.Thread]()

    def read_behind_ddl(*given: Any) -> Any:
        add = partial(queried.execute, "ALTER TABLE address ADD COLUMN phone text")
        threads.append(threading.Thread(target=add))
        threads[0].start()
        wait_until(lambda: ask(queried.parameters, WAITING))
        return read(*given)

    with monkeypatch.context() as patch:
        patch.setattr(batch.RelationBatch, "_read", read_behind_ddl)
        with pytest.raises(Py4JJavaError, match="canceling statement due to lock timeout"):
            job.run_batch()
    job.close()  # as the loop does at once
    threads[0].join(WAIT_S)
    assert not threads[0].is_alive()


def test_values_of_a_new_column_and_of_altered_types_arrive_as_they_are_now(queried: Queried) -> None:
    """Which changes of a type are noticed: test_login.py."""
    queried.execute(
        "CREATE TYPE own AS ENUM ('ok', 'bad')",
        "ALTER TABLE address ADD COLUMN own own, ADD COLUMN code int",
        "UPDATE address SET code = nullif(address_id, 2) WHERE address_id < 200",
        "UPDATE address SET own = 'ok' WHERE address_id >= 200",
    )
    queried.fields = {**queried.fields, "own": "string", "code": "int"}
    job = queried.job()
    queried.run(job)
    # A new column comes with its default, and has the type that the catalogue says: events have a date as a number.
    queried.execute("ALTER TABLE address ADD COLUMN born date DEFAULT '2024-02-29'")
    assert [report.upserts for report in queried.run(job)] == [603]
    assert queried.run(job) == []
    job.close()
    assert {row["born"] for row in queried.stored()} == {date(2024, 2, 29)}
    # In rows of their own, so that each has to be noticed.
    queried.execute(
        "ALTER TYPE own RENAME VALUE 'ok' TO 'fine'",
        "ALTER TABLE address ALTER code TYPE text USING lpad(coalesce(code::text, 'none'), 5, '0')",
        "UPDATE address SET code = NULL WHERE address_id >= 200",
    )
    queried.fields = {**queried.fields, "code": "string"}
    [report] = queried.equal_after()
    assert report.upserts == 603


@pytest.mark.parametrize(
    "statements",
    [
        "ALTER TABLE address DROP CONSTRAINT address_pkey",
        "ALTER TABLE address RENAME TO older; CREATE TABLE address (LIKE older)",
    ],
    ids=["dropped", "another table"],
)
def test_a_table_that_has_no_key_any_more_ends_the_job(queried: Queried, statements: str) -> None:
    job = queried.job()
    first = job._source.next_batch(None)
    assert isinstance(first, batch.JdbcBatch)
    first.close()
    queried.execute(statements, "INSERT INTO address VALUES (700, 'one', NULL, now()), (700, 'two', NULL, now())")
    with pytest.raises(JobError, match=re.escape('"address_id" is no key of it')):
        job._source.next_batch(first.checkpoint)
    job.close()


@pytest.mark.long
def test_a_key_that_a_new_child_of_the_table_has_too_ends_the_job(queried: Queried, job: Ingest) -> None:
    queried.execute(
        "CREATE TABLE child () INHERITS (address)",
        "INSERT INTO child VALUES (1, 'double', NULL, now()), (700, 'new', NULL, now())",
    )
    with pytest.raises(JobError, match=r"has 2 rows of one key: .* doesn't tell its rows apart"):
        queried.run(job)


@pytest.mark.long
def test_a_database_that_was_made_of_the_one_before_is_read_whole(queried: Queried, job: Ingest) -> None:
    job.close()
    first = queried.parameters
    made: ConnectionParameters = {**first, "dbname": "made_of_it"}
    template = {**first, "dbname": "template1"}
    end_sessions = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{first['dbname']}'"
    for statement in (end_sessions, f"CREATE DATABASE made_of_it TEMPLATE {first['dbname']}"):
        execute(template, statement)
    try:
        execute(first, "UPDATE address SET address = 'not there' WHERE address_id = 1")
        queried.run()
        queried.parameters = made
        queried.run()
        assert queried.lake() == queried.source()
    finally:
        execute(template, "DROP DATABASE made_of_it WITH (FORCE)")
