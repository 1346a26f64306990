"""Everything a look finds reaches the lake, including rows that a poll by a timestamp would lose."""

import json
import re
import time
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from contract.events import QUERIED_TYPES
from contract.metrics import HORIZON_AGE_SECONDS
from db.source.reading import ReadObjects, grant_reader
from spark_jobs.errors import JobError
from spark_jobs.ingest import Ingest
from spark_jobs.options import keys
from spark_jobs.sources.postgres import source
from spark_jobs.sources.postgres.batch import JdbcBatch
from spark_jobs.table.hudi_table import HudiTable
from stacks.handlers.preparation import wanted_tables
from tests.conftest import EXTENSIONS_TYPE, ask
from tests.spark_jobs.runtime.test_session_and_plans import stored
from tests.spark_jobs.sources.postgres.conftest import AS_READER, FIELDS, READER, Queried
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

Row = dict[str, Any]


def test_every_change_arrives_and_a_truncate_where_allowed(queried: Queried, monkeypatch: pytest.MonkeyPatch) -> None:
    [first] = queried.equal_after()
    assert (first.upserts, first.deletes, first.quarantined) == (603, 0, 0)
    assert queried.run() == []
    assert queried.commits() == 1
    # The first commit of these fails, and is made again.
    queried.execute(
        "UPDATE address SET address = 'renamed' WHERE address_id = 100",
        "DELETE FROM address WHERE address_id = 104",
        "INSERT INTO address VALUES (700, 'new', NULL, '2001-01-01')",
        "INSERT INTO address SELECT i, 'old', NULL, '1999-01-01' FROM generate_series(800, 805) AS i",
        "UPDATE address SET address_id = address_id + 10000 WHERE address_id BETWEEN 20 AND 25",
    )
    job = queried.job()
    with monkeypatch.context() as patch:
        patch.setattr(HudiTable, "write", Mock(side_effect=OSError("the disk is full")))
        with pytest.raises(OSError, match="full"):
            job.run_batch()
    job.load()
    [report] = queried.equal_after(job=job)
    assert (report.upserts, report.deletes) == (14, 7)
    operations = queried.operations()
    assert (operations[1], operations[100], operations[700]) == ("c", "u", "c")
    # What a poll by the stamp loses, and what commits after a later transaction was seen.
    with queried.transaction() as early:
        early.execute("INSERT INTO address (address_id, address) VALUES (701, 'early')")
        early.execute("SAVEPOINT s; UPDATE address SET address = 'sub' WHERE address_id = 7; RELEASE SAVEPOINT s")
        queried.equal_after(
            "UPDATE address SET address = 'later', last_update = now() WHERE address_id = 8",
            "UPDATE address SET address = 'x', last_update = '2000-01-01' WHERE address_id BETWEEN 9 AND 16",
            "UPDATE address SET district = address, address = district WHERE address_id = 30",
            # New rows under a deleted one's key, with older stamps.
            "INSERT INTO address VALUES (104, 'again', NULL, '1990-01-01')",
            "DELETE FROM address WHERE address_id = 105",
            "INSERT INTO address VALUES (105, 'at once', NULL, '1980-01-01')",
            job=job,
        )
        early.connection.commit()
    queried.equal_after(job=job)
    job.close()
    _truncate(queried)


def _truncate(queried: Queried) -> None:
    """A TRUNCATE stops the job and leaves the table, until that many deletes are allowed."""
    before, job = queried.lake(), queried.job()
    queried.execute("TRUNCATE address")
    gone = r"611 of 611 rows .* aren't in public.address any more.* nothing was committed"
    with pytest.raises(JobError, match=gone):
        queried.run(job)
    job.load()
    queried.execute("INSERT INTO address (address_id, address) VALUES (1, 'other')")
    with pytest.raises(JobError, match=r"610 of 611 rows .*deletes.max.percent allows 10 % per commit"):
        queried.run(job)
    job.close()
    assert queried.lake() == before
    queried.extra = {keys.JDBC_DELETES_PERCENT: "100"}
    queried.equal_after()


def read_on(job: Ingest, checkpoint: str | None = None, *, parts: int = 3) -> tuple[list[list[Row]], str | None]:
    """Look for the next parts of a table that fits into three, without a lake; return their rows and the progress."""
    found = []
    for _ in range(parts):
        batch = job._source.next_batch(checkpoint)
        assert isinstance(batch, JdbcBatch)
        found.append([json.loads(line) for line in batch._text.split("\n")])
        batch.close()
        checkpoint = batch.checkpoint
    return found, checkpoint


def test_another_cluster_is_read_whole(queried: Queried) -> None:
    job = queried.job()
    _, checkpoint = read_on(job, parts=1)
    progress = json.loads(str(checkpoint))
    # A database that is made of this one has another number.
    number = ask(queried.parameters, "SELECT oid FROM pg_database WHERE datname = current_database()")
    assert progress["mark"]["system"].endswith(f"/database {number}")
    parts, _ = read_on(job, json.dumps(progress | {"mark": progress["mark"] | {"system": "other/1"}}), parts=1)
    job.close()
    assert len(parts[0]) == 603
    assert "another cluster or database than before, or it was restored (other/1, now " in queried.log[-1]


def test_a_rename_that_is_undone_amid_a_look_in_parts_leaves_no_nulls(queried: Queried) -> None:
    queried.arguments = ("--source-limit", "300")
    job = queried.job()
    _, checkpoint = read_on(job)
    queried.execute("ALTER TABLE address RENAME district TO area")
    _, checkpoint = read_on(job, checkpoint, parts=1)
    job.close()
    queried.execute("ALTER TABLE address RENAME area TO district")
    job = queried.job()
    parts, _ = read_on(job, checkpoint)
    job.close()
    found = {row["address_id"]: row["district"] for part in parts for row in part}
    assert found == {key: row["district"] for key, row in queried.source().items()}


def test_a_first_load_goes_on_where_it_was_and_brings_what_changed_meanwhile(queried: Queried) -> None:
    """Here of a table with a column left out, read by the role that a deployment makes."""
    request = {"schema": "public", "name": "address", "key": [queried.key], "leaveOut": ["district"], "byXmin": True}
    wanted = ReadObjects(role="deployed", tables=wanted_tables([request]), queries={})
    grant_reader(queried.parameters, wanted, password="deployed")
    queried.fields = {name: kind for name, kind in FIELDS.items() if name != "district"}
    queried.extra = {keys.JDBC_USER: "deployed", keys.JDBC_PASSWORD: "deployed", keys.JDBC_LEFT_OUT: "district"}
    queried.execute("DELETE FROM address WHERE address_id = 1")
    queried.arguments = ("--source-limit", "300")
    job = queried.job()
    job.run_batch()
    job.close()
    shown = [queried.progress()["after"], *queried.log]
    assert not any("301" in text for text in shown), shown
    reports = queried.equal_after(
        "UPDATE address SET address = 'read already' WHERE address_id = 7",
        "UPDATE address SET address_id = 9 + 9000 WHERE address_id = 9",
        "UPDATE address SET address_id = 0 WHERE address_id = 500",
        "DELETE FROM address WHERE address_id IN (11, 511)",
    )
    assert len(reports) == 3


def test_keys_of_an_extensions_type_are_read_in_parts(queried: Queried) -> None:
    """Its operators aren't where the sessions look for them."""
    queried.execute(
        EXTENSIONS_TYPE,
        "ALTER TABLE address DROP CONSTRAINT address_pkey, ADD PRIMARY KEY (address, address_id),"
        " ALTER address_id TYPE isbn USING address_id::text::isbn",
    )
    queried.fields, queried.extra = {**FIELDS, "address_id": "string"}, {keys.RECORD_KEY: "address,address_id"}
    queried.arguments = ("--source-limit", "300")
    job = queried.job()
    parts, _ = read_on(job)
    job.close()
    assert [len(part) for part in parts] == [300, 300, 3]
    assert {row["address_id"] for part in parts for row in part} == queried.source().keys()


@pytest.mark.long
def test_a_first_load_whose_last_row_is_gone_begins_again(queried: Queried) -> None:
    queried.arguments = ("--source-limit", "400")
    job = queried.job()
    job.run_batch()
    job.close()
    reports = queried.equal_after("DELETE FROM address WHERE address_id = 400")
    assert [report.upserts for report in reports] == [1, 202]
    assert "public.address: the row that was read last is gone, so its parts are read once more" in queried.log


def test_rows_that_are_read_again_unchanged_are_not_written_nor_kept_in_memory(queried: Queried) -> None:
    in_memory = stored(queried.spark)
    queried.run()
    job = queried.job()
    queried.execute("CREATE TABLE other (a int)", "INSERT INTO other VALUES (1)")
    before = jobs_of(queried)
    assert queried.run(job) == []
    assert jobs_of(queried) == before, "an empty look asks Spark for nothing"
    job.close()
    job = queried.job()

    def nobody_holds_the_horizon() -> bool:
        assert queried.run(job) == []
        return not job.states()[HORIZON_AGE_SECONDS]

    # Autovacuum also holds it for a moment.
    wait_until(nobody_holds_the_horizon)
    with queried.transaction() as open_for_long:
        open_for_long.execute("SELECT pg_current_xact_id()")
        queried.execute("UPDATE address SET address = 'new' WHERE address_id <= 20")
        began = time.monotonic()
        assert [report.upserts for report in queried.run(job)] == [20]
        queried.execute("UPDATE address SET address = 'new', district = 'other' WHERE address_id = 1")
        assert [report.upserts for report in queried.run(job)] == [1]
        before = jobs_of(queried)
        assert queried.run(job) == []
        assert jobs_of(queried) == before, "a look that finds the same as the one before asks Spark for nothing"
        # The job continues to look, maybe for hours, and finds nothing.
        assert stored(queried.spark) == in_memory
        assert 0.2 <= job.states()[HORIZON_AGE_SECONDS] <= time.monotonic() - began
        assert queried.run() == []
    wait_until(nobody_holds_the_horizon)
    job.close()
    assert queried.commits() == 3
    assert queried.lake() == queried.source()


@pytest.mark.long
def test_a_dropped_column_keeps_its_values_in_rows_that_do_not_change(queried: Queried) -> None:
    queried.run()
    queried.execute("ALTER TABLE address DROP COLUMN district", "UPDATE address SET address = 'x' WHERE address_id = 1")
    assert [report.upserts for report in queried.run()] == [1]
    lake = queried.lake()
    assert (lake[1]["district"], lake[2]["district"]) == (None, "District 2")


def test_a_row_that_does_not_fit_is_set_aside_and_a_delete_next_to_it_arrives(queried: Queried) -> None:
    queried.execute("ALTER TABLE address ADD COLUMN big bigint")
    queried.fields = {**queried.fields, "big": "int"}
    job = queried.job()
    queried.run(job)
    # From here on the job counts: the row must not be taken for the one that goes.
    queried.execute(
        "BEGIN; DELETE FROM address WHERE address_id = 4; UPDATE address SET address = 'new' WHERE address_id = 1;"
        " INSERT INTO address VALUES (0, 'too big', NULL, now(), 5000000000); COMMIT"
    )
    first, *more = queried.run(job)
    job.close()
    assert (first.upserts, first.deletes, first.quarantined) == (1, 1, 1)
    assert sum(report.upserts + report.deletes for report in more) == 0
    # A new job hasn't counted the row that doesn't fit.
    queried.execute("DELETE FROM address WHERE address_id = 101")
    assert sum(report.deletes for report in queried.run()) == 1
    assert set(queried.source()) ^ set(queried.lake()) == {0}


@pytest.mark.long
def test_a_delete_next_to_a_new_row_that_does_not_fit_arrives_in_parts(queried: Queried) -> None:
    queried.execute("ALTER TABLE address ADD COLUMN big bigint", "DELETE FROM address WHERE address_id > 20")
    queried.fields = {**queried.fields, "big": "int"}
    queried.arguments = ("--source-limit", "15")
    job = queried.job()
    queried.run(job)
    # From here on the job counts.
    queried.execute("UPDATE address SET address = 'new' WHERE address_id = 3")
    queried.run(job)
    queried.execute(
        "BEGIN; DELETE FROM address WHERE address_id = 4; UPDATE address SET address = address || '!';"
        " INSERT INTO address VALUES (0, 'too big', NULL, now(), 5000000000); COMMIT"
    )
    queried.run(job)
    job.close()
    assert set(queried.source()) ^ set(queried.lake()) == {0}


@pytest.mark.long
def test_what_is_read_by_a_clock_that_is_behind_the_lakes_rows_arrives(queried: Queried) -> None:
    job = queried.job()
    assert isinstance(job._source, source.Jdbc)
    job._source.clock = lambda: time.time() + 3600
    queried.run(job)
    job.close()
    for number, arguments in enumerate([(), ("--ignore-checkpoint", "once")]):
        queried.arguments = arguments
        queried.equal_after(
            f"UPDATE address SET address = 'new' WHERE address_id = {3 + number}",
            f"DELETE FROM address WHERE address_id = {10 + number}",
        )


@pytest.mark.long
def test_rows_of_a_partition_that_was_filled_before_it_was_attached_arrive(queried: Queried) -> None:
    queried.execute(
        "DROP TABLE address",
        "CREATE TABLE address (address_id int PRIMARY KEY, address text NOT NULL, district text,"
        " last_update timestamptz NOT NULL DEFAULT now()) PARTITION BY RANGE (address_id)",
        "CREATE TABLE low PARTITION OF address FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE high (LIKE address INCLUDING ALL)",
        "INSERT INTO high SELECT i, 'high' FROM generate_series(100, 120) AS i",
        "INSERT INTO address SELECT i, 'low' FROM generate_series(1, 20) AS i",
    )
    queried.equal_after()
    queried.equal_after("ALTER TABLE address ATTACH PARTITION high FOR VALUES FROM (100) TO (200)")
    queried.equal_after("UPDATE address SET address_id = 150 WHERE address_id = 1")
    queried.extra = {keys.JDBC_DELETES_PERCENT: "90"}
    queried.equal_after("ALTER TABLE address DETACH PARTITION high")


def test_rows_without_a_transaction_are_found(queried: Queried, job: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an extension that writes pages, or pg_surgery: here the lake has lost them."""
    lost = replace(job._checkpoint, source=json.dumps(queried.progress() | {"rows": 600}))
    remove_from_lake(queried, 5)
    job.load()
    job._checkpoint = lost
    with monkeypatch.context() as patch:
        patch.setattr(HudiTable, "write", Mock(side_effect=OSError("full")))
        with pytest.raises(OSError, match="full"):
            queried.run(job)
    job.load()
    queried.equal_after(job=job)


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (["DROP TABLE address"], "public.address: no such table in database"),
        (["ALTER TABLE address DROP CONSTRAINT address_pkey"], '"address_id" is no key of it'),
        (["ALTER TABLE address RENAME address_id TO id"], "has no column address_id, which the record key names"),
        (["REVOKE ALL ON address FROM reader"], "permission denied for table address"),
        (
            ["ALTER TABLE address ALTER address_id TYPE timetz USING '12:00Z'::timetz + address_id * interval '1 s'"],
            "column address_id of the record key tells no rows apart: '12:00+00' and '14:00+02' are two keys",
        ),
        (
            ["ALTER TABLE address ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON address USING (address_id < 9)"],
            'query would be affected by row-level security policy for table "address"',
        ),
        (
            [
                "ALTER TABLE address RENAME TO a",
                """CREATE VIEW address AS SELECT address_id, (address || E' "x"\\ny')::int::text AS address, district,
                last_update FROM a""",
                "GRANT SELECT ON address TO reader",
            ],
            "ERROR: invalid input syntax for type integer: …",
        ),
    ],
)
def test_what_no_waiting_mends_ends_the_job_with_a_line(queried: Queried, statements: list[str], reason: str) -> None:
    queried.execute(READER, "GRANT SELECT ON address TO reader", *statements)
    queried.extra = AS_READER
    with pytest.raises(JobError, match=re.escape(reason)):
        queried.run()


def test_an_insert_is_an_upsert_where_rows_have_changed(queried: Queried) -> None:
    queried.arguments = ("--op", "BULK_INSERT")
    queried.equal_after()
    queried.equal_after("INSERT INTO address SELECT i, 'new' FROM generate_series(700, 710) AS i")
    assert not any("upsert" in line for line in queried.log)
    queried.equal_after("UPDATE address SET address = 'changed' WHERE address_id = 1")
    assert "bulk_insert would double rows: this batch has changed ones and is written by upsert" in queried.log


def jobs_of(queried: Queried) -> int:
    scheduler: Any = queried.spark.sparkContext._jsc.sc().dagScheduler()
    return int(scheduler.numTotalJobs())


def remove_from_lake(queried: Queried, address_id: int) -> None:
    decided = queried.settings()
    table = HudiTable(queried.spark, decided.table)
    rows = queried.spark.read.format("hudi").load(str(queried.table_path)).filter(f"address_id = {address_id}")
    rows = rows.selectExpr(*FIELDS, *QUERIED_TYPES, "true AS _hoodie_is_deleted")
    table.write(rows, {keys.PROGRESS: json.dumps(queried.progress() | {"read_ms": 10**15})}, operation="upsert")
