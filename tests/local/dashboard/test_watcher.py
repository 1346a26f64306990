"""The picture when a platform is stopped, recreated or can't be polled, without a platform; and one query, repeated."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import psutil
import pytest

from contract.states import LAKE, Word
from local.comparison.command import write
from local.comparison.compare import Difference, TableComparison
from local.dashboard.changes import TopicChanges
from local.dashboard.commit_changes import CommitChanges
from local.dashboard.watcher import (
    LONGEST_S,
    PAUSE_S,
    QUIET,
    Picture,
    Poller,
    Watcher,
    read_reconciled,
    running_command,
)
from local.errors import PlatformError
from local.state.collect import Collector, PipelineState
from local.state.history import Commits
from local.state.stages import Stages
from local.state.tables import DataStatus, TableStatus
from local.state.word import State
from tests.local.dashboard.pictures import TABLE, commit, line, picture
from tests.waiting import wait_until

INSTANT = "20261122112531744"


@pytest.fixture
def platform(tmp_path: Path) -> Mock:
    """A platform as far as a picture needs one."""
    platform = Mock(state_dir=tmp_path, restarts_file=tmp_path / "restarts.json")
    platform.options.pipeline, platform.lock.path = "orders", tmp_path / "lock"
    platform.processes = SimpleNamespace(
        log_file=lambda name: tmp_path / f"{name}.log", logs=tmp_path, is_known_to_run=lambda _name: False
    )
    platform.services = SimpleNamespace(tables=[1], derived=[])
    platform.pid.return_value = None
    run(platform, "job", "s3")
    return platform


def run(platform: Mock, *services: str) -> None:
    platform.expected.return_value, platform.running.return_value = frozenset(services), set(services)


@pytest.fixture
def watcher(platform: Mock) -> Iterator[Watcher]:
    watching = Watcher(platform)
    found(watching, topic_end=3)
    yield watching
    watching.__exit__()


def found(watcher: Watcher, *, topic_end: int) -> None:
    """Result of a look: a commit, and a topic with events up to there, all of which are in the lake."""
    table = TableStatus(name="t", topic_end=topic_end, sink_offset=topic_end, read_to=topic_end)
    data = DataStatus(tables=(table,))
    stages = tuple(Stages().read(time.monotonic(), data))
    watcher._status.value = PipelineState(state=State(word=Word.STARTING, reason=""), stages=stages, data=data)
    watcher._commits["t"] = Commits()
    watcher._commits["t"].all = [commit(INSTANT, inserted=3)]


def wait(watcher: Watcher, question: Callable[[Picture], bool]) -> Picture:
    wait_until(lambda: question(watcher.picture))
    return watcher.picture


def test_a_look_that_fails_is_told_and_the_next_one_is_made(platform: Mock, watcher: Watcher) -> None:
    assert watcher.look().state.word == Word.UP_TO_DATE
    platform.running.side_effect = PlatformError("pipeline.toml says nonsense\nat length")
    # The picture alone: nothing is polled.
    threading.Thread(target=watcher._run, daemon=True).start()
    picture = wait(watcher, lambda picture: picture.state.word == Word.FAILING)
    assert picture.state.reason == "the page can't look: pipeline.toml says nonsense"
    platform.running.side_effect = None
    wait(watcher, lambda picture: picture.state.word == Word.UP_TO_DATE)


def test_what_was_found_before_a_stop_isnt_shown_of_what_is_started_next(platform: Mock, watcher: Watcher) -> None:
    assert watcher.look().commits
    run(platform)
    picture = watcher.look()
    assert (picture.state.word, picture.commits, picture.found.stages) == (Word.DOWN, {}, ())
    run(platform, "job", "s3")
    assert watcher.look().state.word == Word.STARTING
    found(watcher, topic_end=1)
    assert {stage.name: stage.lag_events for stage in watcher.look().found.stages}[LAKE] == 0


def test_the_catalogue_counts_derived_tables_too(platform: Mock) -> None:
    tables: dict[str, dict[str, str]] = {"places": {"last_commit_time_sync": INSTANT}, "another's": {}}
    derived, aws = SimpleNamespace(lake_name="places"), SimpleNamespace(tables=lambda _database: tables)
    platform.services = SimpleNamespace(tables=[], derived=[derived], aws=aws)
    assert Collector(platform)._catalogue() == (1, INSTANT)


@pytest.mark.parametrize(("queried", "follower"), [(True, CommitChanges), (False, TopicChanges)])
def test_last_changes_are_asked_of_commits_where_there_is_no_topic(
    platform: Mock, watcher: Watcher, monkeypatch: pytest.MonkeyPatch, *, queried: bool, follower: type
) -> None:
    changes = [*picture().changes[TABLE]]
    monkeypatch.setattr(follower, "read", lambda _self: changes)
    table = SimpleNamespace(name="t", entry=SimpleNamespace(is_queried=queried, key=["Id"]), lake=None, topic=None)
    pipeline = Mock(**{"schema_file.return_value": "northwind/orders.avsc"})
    platform.services = SimpleNamespace(tables=[table], pipeline=pipeline)
    assert watcher._read_changes() == {"t": changes}


def test_it_looks_until_it_is_left(platform: Mock) -> None:
    with Watcher(platform) as watching:
        wait_until(lambda: watching._status.error)
    assert [thread for thread in watching._threads if thread.is_alive()] == []


def test_a_new_commit_in_the_log_ends_the_pause(platform: Mock, watcher: Watcher) -> None:
    watcher.look()
    watcher._status.woken.clear()
    (platform.state_dir / "job.log").write_text(line(INSTANT))
    threading.Thread(target=watcher._run, daemon=True).start()
    wait_until(watcher._status.woken.is_set)
    assert wait(watcher, lambda picture: bool(picture.logged)).logged[0].rows == 3


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("-m", "cli", "up", "--folder", "x"), "up"),
        (("-m", "cli", "down"), "down"),
        (("-m", "cli", "status"), None),
        (("-m", "cli"), None),
        (("up",), None),
        (("-m", "pytest"), None),
    ],
)
def test_the_command_is_that_of_the_process_that_took_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], command: str | None
) -> None:
    lock = tmp_path / "lock"
    assert running_command(lock) is None
    lock.write_text(f"{os.getpid()}\n")
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _self: ["python", *arguments])
    assert running_command(lock) == command
    # Nobody, and a process that is gone.
    for holder in ("", "999999999"):
        lock.write_text(holder)
        assert running_command(lock) is None


def test_the_report_of_a_comparison_is_read_and_half_a_report_is_none(tmp_path: Path) -> None:
    report = tmp_path / "reconcile.json"
    (none,) = read_reconciled(report)
    tables = [
        TableComparison(table="a", source_rows=2, lake_rows=2),
        TableComparison(table="b", source_rows=2, missing=1, late=3, shown=(Difference(key={"id": "1"}, kind="late"),)),
        TableComparison(table="c", problem="no table"),
    ]
    write(report, "orders", tables)
    first, *others = read_reconciled(report)
    assert first.endswith(" UTC: not equal")
    assert others == [
        "a, equal, 2 rows, 0.0 s",
        "b, differs, 1 missing, 3 not in the lake yet, 2 rows, 0 in the copy, 0.0 s",
        "c, not compared: no table",
    ]
    report.write_text('{"at": "2026')
    assert read_reconciled(report) == (none,)


def test_a_poll_that_fails_keeps_the_last_answer_and_its_error_goes_away_with_the_next() -> None:
    answers: list[Any] = [1, RuntimeError("away\nand more"), 7]

    def ask() -> Any:
        if isinstance(answer := answers.pop(), Exception):
            raise answer
        return answer

    asked, found = Poller("x", ask), []
    for _ in range(3):
        asked._ended = -1.0
        asked.ask()
        found.append((asked.value, asked.error, asked._ended > 0))
    assert found == [(7, None, True), (7, "away", True), (1, None, True)]


def test_the_same_answer_is_asked_for_less_often_the_more_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    used, answers, pauses = [0.0], [2, 2, 1, 1, 1], []

    def ask() -> int:
        used[0] += 10 if len(answers) == 3 else 0.1
        return answers.pop()

    monkeypatch.setattr(time, "process_time", lambda: used[0])
    asked = Poller("x", ask)
    for _ in range(5):
        asked.ask()
        pauses.append(round(asked._pause_s))
    assert pauses == [PAUSE_S, QUIET * 0.1, LONGEST_S, PAUSE_S, QUIET * 0.1]


def test_what_takes_its_time_as_a_rule_isnt_silent_until_it_takes_twice_as_long() -> None:
    long_s, now = 60.0, [0.0]

    def ask() -> None:
        now[0] += long_s

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now[0])
        asked = Poller("x", ask)
        asked.ask()
        now[0] += 2 * long_s
        assert (asked.unanswered_s, asked.silent_s) == (2 * long_s, 0.0)
        now[0] += 2
        assert asked.silent_s == 2 * long_s + 1
