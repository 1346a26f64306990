"""Many tables in one Spark application, through spark-submit: captured and derived, each independent of the others."""

import json
import signal
import threading
from typing import Any
from unittest.mock import Mock

import pytest

from contract.events import PLACEHOLDER, READ_MS
from contract.history import COMMIT, ENDED, SUFFIX, VERSION
from spark_jobs import table_job
from spark_jobs.errors import SettingsError
from spark_jobs.multi_table_streamer import ManyTables
from spark_jobs.options import keys, submit
from spark_jobs.options.table_list import ListedTable
from tests.spark_jobs.events import CONF, SCHEMA, event
from tests.spark_jobs.programs import JobRun
from tests.waiting import PATIENCE_S


@pytest.mark.long
@pytest.mark.integration
def test_without_continuous_all_is_read_and_a_failed_table_is_told(job_run: JobRun) -> None:
    job_run.land(event(1, 10, "c"), event(2, 10, "c"), table="first")
    job_run.land(*["{"] * 3, table="second")
    job_run.land(event(1, 10, "c"), event(2, 10, "c"), table="third")
    strict = job_run.table("second", configuration={keys.QUARANTINE_LIMIT: "2"})
    job = job_run.start_all([job_run.table("first"), strict, job_run.table("third")], without=["--continuous"])
    assert job.process.wait(PATIENCE_S) == 1
    assert "error: 1 of 3 tables failed: datalake.second\n" in job.text()
    assert "datalake.second: error: 3 of 3 events don't fit, such as" in job.text()


def made(job_run: JobRun, name: str, ordering_field: str, configuration: dict[str, str]) -> submit.TableJob:
    return job_run.table(
        name,
        landing=None,
        schema_file=None,
        properties_file=str(CONF / "lean.properties"),
        ordering_field=ordering_field,
        configuration=configuration,
    )


def derived(job_run: JobRun, name: str, query: str) -> submit.TableJob:
    tables = f"first={job_run.path('first')}"
    return made(job_run, name, READ_MS, {keys.SQL_QUERY: query, keys.SQL_TABLES: tables, keys.RECORD_KEY: "order_id"})


def versions(job_run: JobRun, name: str) -> list[tuple[int, str | None, bool]]:
    """Key and customer of each version, a key's in order, and whether it ends the row."""
    found = job_run.read(["order_id", "customer_id", ENDED, COMMIT, VERSION], f"{name}{SUFFIX}")
    in_order = sorted(found, key=lambda row: (row["order_id"], row[COMMIT], row[VERSION]))
    return [(row["order_id"], row["customer_id"], row[ENDED]) for row in in_order]


def customers(job_run: JobRun, name: str) -> dict[int, Any]:
    return {row["order_id"]: row["customer_id"] for row in job_run.read(["order_id", "customer_id"], name)}


@pytest.mark.integration
def test_tables_are_independent_and_go_on_after_kill_9(job_run: JobRun) -> None:
    absent = job_run.folder / "second.avsc"
    history = {keys.HISTORY_OF: str(job_run.path("first")), keys.RECORD_KEY: f"order_id,{COMMIT},{VERSION}"}
    tables = [
        job_run.table("first", configuration={keys.HISTORY_KEPT: "true"}),
        job_run.table("second", schema_file=str(absent)),
        derived(job_run, "good", "SELECT order_id, lower(customer_id) AS customer_id FROM first"),
        derived(job_run, "bad", "SELECT 1 AS order_id, customer_id FROM first"),
        made(job_run, f"first{SUFFIX}", COMMIT, history),
    ]
    job_run.land(event(1, 10, "c"), event(2, 10, "c"), event(3, 10, "c", customer_id="OTHER"), table="first")
    job_run.land(event(1, 10, "c"), table="second")
    job = job_run.start_all(tables)
    job.wait_for(lambda: job.commits("good") and job.commits(f"first{SUFFIX}"), "commits of both")
    job.wait_for(lambda: "failing" in job.states("bad") and "failing" in job.states("second"), "word of the failing")
    assert "3 rows of one key, so order_id doesn't tell its rows apart" in job.text()
    assert f"datalake.second: attempt 1 failed, again in 1 s: {absent}: no such file" in job.text()
    # A kill in the middle of a commit (at any other moment: test_kills.py). The quarantine is written before it: both
    # must be there once in the end.
    known = job_run.instants("inflight", "first")
    changes = [event(1, 20, customer_id="NEW"), event(2, 21, "d"), event(1, 22, customer_id="NEWER")]
    job_run.land(*changes, "{broken", table="first")
    job.wait_for(lambda: job_run.instants("inflight", "first") - known, "commit in flight")
    job.kill()
    job = job_run.start_all(tables)
    job.wait_for(lambda: "failing" in job.states("second"), "word of the failing one")
    absent.write_text(SCHEMA.read_text())
    job.wait_for(lambda: customers(job_run, "good") == {1: "newer", 3: "other"}, "the derived table's changes")
    # A commit that wasn't whole on the disk never happened, and its events came again.
    again = [(commit["events"], commit["quarantined"], commit["missing_offsets"]) for commit in job.commits("first")]
    assert again in ([("4", "1", "0")], [])
    [path] = job_run.quarantine_files("first")
    assert [json.loads(line)["text"] for line in path.read_text().splitlines()] == ["{broken"]
    assert customers(job_run, "bad") == {}
    expected: list[tuple[int, str | None, bool]] = [(1, name, False) for name in ("VINET", "NEW", "NEWER")]
    expected += [(2, "VINET", False), (2, None, True), (3, "OTHER", False)]
    job.wait_for(lambda: versions(job_run, "first") == expected, "each version once")
    job.wait_for(lambda: job.commits("second"), "commit of the one that was mended")
    assert job.states("second") == ["starting", "failing", "running"]
    assert job_run.lsns("second") == {1: 10}
    # Each has its own claim. A signal in the middle of a commit: it is finished, and a second one changes nothing.
    claimed = {path.name for path in (job_run.folder / "lake" / "_claims").iterdir()}
    assert claimed == {table.table for table in tables}
    known = job_run.instants("inflight", "first")
    job_run.land(event(1, 24, products=PLACEHOLDER), table="first")
    job.wait_for(lambda: job_run.instants("inflight", "first") - known, "commit in flight")
    assert job.terminate(signal.SIGTERM, signal.SIGTERM, signal.SIGINT) == 0
    assert job_run.lsns("first") == {1: 24, 3: 10}
    assert {job.states(table.table)[-1] for table in tables} == {"stopped"}
    assert "Traceback" not in job.text()


def test_a_base_path_is_free_once_its_tables_file_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_job, "run", lambda *_: None)
    paths = {"a": "/lake/b", "b": "/lake/b"}
    listed = Mock(parallel_commits=1, settings=lambda table, _log: Mock(**{"table.base_path": paths[table.name]}))
    many = ManyTables(Mock(), listed, continuous=True, stop=threading.Event(), log=print)
    a, b = (ListedTable("d", name, "") for name in "ab")
    many._run(a, Mock(), Mock())
    with pytest.raises(SettingsError, match=r"is d\.a's base path, too"):
        many._run(b, Mock(), Mock())
    paths["a"] = "/lake/a"
    many._run(a, Mock(), Mock())
    many._run(b, Mock(), Mock())
