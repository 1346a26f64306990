"""What runs next to the batches: catalog sync times, and the file with a queried table's progress."""

import threading
from pathlib import Path

import pytest

from spark_jobs.options.table_settings import SyncSettings
from spark_jobs.table.glue import GlueSync
from spark_jobs.table.hudi_table import Commit
from spark_jobs.table_job import SweepTimeFile
from tests.waiting import PATIENCE_S

SETTINGS = SyncSettings(database="datalake", table="cdc_events", partition_fields=(), properties={}, timeout_seconds=5)


def commit(schema: str = "a", *partitions: str) -> Commit:
    return Commit("1", "1", 1, 0, 0, frozenset(partitions or ("",)), schema)


class Glue:
    """A sync with a result and a clock that the test sets."""

    def __init__(self) -> None:
        self.syncs = 0
        self.now = 0.0
        self.error: Exception | None = None
        self.log: list[str] = []
        self.release = threading.Event()
        self.release.set()
        self.glue_sync = GlueSync(SETTINGS, sync=self.sync, log=self.log.append, clock=lambda: self.now)

    def sync(self) -> bool:
        self.release.wait(PATIENCE_S)
        self.syncs += 1
        if self.error:
            raise self.error
        return True

    def at(self, now: float) -> int:
        self.now = now
        self.glue_sync.run_if_due()
        self.settle()
        return self.syncs

    def settle(self) -> None:
        for thread in threading.enumerate():
            if thread.name == "glue-sync":
                thread.join(PATIENCE_S)
        self.glue_sync._finished()


def test_only_a_new_schema_or_partition_needs_another_sync() -> None:
    glue = Glue()
    for now, done, made in [
        (0, 1, commit("a", "p=1")),
        (10, 1, commit("a", "p=1")),
        (20, 2, commit("a", "p=2")),
        (30, 3, commit("b", "p=2")),
        (40, 3, commit("b", "p=1", "p=2")),
    ]:
        glue.now = now
        glue.glue_sync.committed(made)
        glue.settle()
        assert glue.syncs == done, now


def test_a_failed_sync_is_tried_again_until_it_succeeds() -> None:
    glue = Glue()
    glue.error = OSError("Glue is down")
    assert [glue.at(0), glue.at(29), glue.at(30)] == [1, 1, 2]
    assert glue.log[0] == "catalogue sync failed, is tried again: OSError: Glue is down"
    glue.error = None
    assert [glue.at(61), glue.at(200)] == [3, 3]
    assert glue.log[-1] == "catalogue sync done: datalake.cdc_events"


def test_a_slow_sync_holds_nothing_up_and_a_commit_meanwhile_counts() -> None:
    glue = Glue()
    glue.release.clear()
    glue.glue_sync.run_if_due()
    glue.glue_sync.committed(commit("b"))  # returns although the first sync hangs
    assert glue.syncs == 0
    glue.release.set()
    glue.settle()
    assert glue.at(10) == 2


def test_the_end_tries_a_pending_sync_once_whatever_the_pause() -> None:
    glue = Glue()
    glue.at(0)
    glue.now = 1
    glue.glue_sync.committed(commit("b"))
    glue.glue_sync.finish()
    assert glue.syncs == 2
    glue.error = OSError("down")
    glue.glue_sync.committed(commit("c"))
    glue.settle()
    glue.glue_sync.finish()
    assert glue.syncs == 4
    assert [line.partition(",")[0] for line in glue.log[-2:]] == ["catalogue sync failed"] * 2


def test_the_end_waits_for_a_running_sync_then_runs_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    glue = Glue()
    glue.release.clear()
    glue.glue_sync.run_if_due()
    glue.glue_sync.committed(commit("b"))
    running = glue.glue_sync._thread
    assert running is not None
    join = running.join

    def released(timeout: float) -> None:
        glue.release.set()
        join(timeout)

    monkeypatch.setattr(running, "join", released)
    glue.glue_sync.finish()
    assert glue.syncs == 2


def test_the_newest_look_is_in_the_file(tmp_path: Path) -> None:
    path, log = tmp_path / "looked" / "address", list[str]()
    file = SweepTimeFile(path, log.append)
    file.write(None)
    assert not path.exists()
    for looked_ms in (5, 5, 7_000):
        file.write(looked_ms)
        assert path.read_text() == f"{looked_ms}\n"
    assert [found.name for found in path.parent.iterdir()] == ["address"]
    assert log == []
    # One that can't be written is told once.
    inside_a_file = SweepTimeFile(path / "address", log.append)
    for _ in range(2):
        inside_a_file.write(1)
    assert len(log) == 1
    assert "address/address can't be written: " in log[0]
