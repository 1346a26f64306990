"""The loop, its pauses and its turns: retries, ends, the order of tables; the report's line."""

import functools
import itertools
import threading
from dataclasses import replace
from typing import Any
from unittest.mock import Mock, call

import pytest
from py4j.protocol import Py4JNetworkError

from spark_jobs.errors import JobError
from spark_jobs.options import command_line, keys, settings
from spark_jobs.options.table_settings import SyncSettings
from spark_jobs.runtime.metrics import CommitReport, Metrics
from spark_jobs.runtime.retry import LINE_S, Backoff
from spark_jobs.runtime.session import PACE_SECONDS, Turns, large_turns
from spark_jobs.table.glue import GlueSync
from spark_jobs.table.kept_table import KeptTable, SharedParts
from spark_jobs.table_job import Loop, TableStatus
from tests.waiting import PATIENCE_S, wait_until

REPORT = CommitReport(
    commit="20261121023013007",
    files=2,
    events=833,
    upserts=828,
    deletes=1,
    quarantined=2,
    folded=2,
    seconds=2.345,
    lag_seconds=1.26,
    missing_offsets=0,
    late_files=0,
)
Outcome = CommitReport | Exception | None


class Script(KeptTable):
    """Batches with given outcomes; the last one sets the stop event."""

    def __init__(self, stop: threading.Event, *outcomes: Outcome) -> None:
        self.stop = stop
        self.outcomes = list(outcomes)
        self.loads = 0

    def load(self) -> None:
        self.loads += 1

    def _begin(self, *, exists: bool) -> None:
        raise NotImplementedError

    def run_batch(self) -> CommitReport | None:
        outcome = self.outcomes.pop(0)
        if not self.outcomes:
            self.stop.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


ARGUMENTS = ["--target-base-path", "/lake/t", "--target-table", "lake.t", "--table-type", "COPY_ON_WRITE"]
LEAST = {keys.RECORD_KEY: "id", keys.FILES_ROOT: "/landing/t", keys.SCHEMA_FILE: "t.avsc"}


def loop_of(script: Script, shared: SharedParts, poll_seconds: float = 0.01, **options: Any) -> Loop:
    decided = settings.decide(command_line.parse(ARGUMENTS), LEAST, shared.log)
    decided = replace(decided, poll_seconds=poll_seconds, options=replace(decided.options, **options))
    return Loop(script, decided, shared, TableStatus("lake.t"))


def run(*outcomes: Outcome, continuous: bool = True, retries: int = 3) -> tuple[Script, Mock, list[str]]:
    script, told, log = Script(threading.Event(), *outcomes), Mock(spec=Metrics), list[str]()
    shared = SharedParts(stop=script.stop, log=log.append, metrics=told)
    loop_of(script, shared, continuous=continuous, max_retry_count=retries, retry_interval_seconds=0).run()
    return script, told, log


def test_without_continuous_it_ends_when_nothing_is_left() -> None:
    script, told, _ = run(REPORT, REPORT, None, REPORT, continuous=False)
    assert told.committed.mock_calls == [call(REPORT), call(REPORT)]
    assert script.outcomes == [REPORT]


def test_a_table_whose_first_rows_are_awaited_is_neither_running_nor_idle(capsys: pytest.CaptureFixture[str]) -> None:
    class Waits(Script):
        @property
        def awaits_load(self) -> bool:
            return bool(self.outcomes)

        def run_batch(self) -> CommitReport | None:
            loop.status.loads("waits for the connector")
            return super().run_batch()

    stop, told = threading.Event(), Mock(spec=Metrics)
    shared = SharedParts(stop=stop, log=lambda _: None, metrics=told)
    loop = loop_of(Waits(stop, None, None, REPORT), shared, continuous=True)
    loop.run()
    states = [line for line in capsys.readouterr().out.splitlines() if "state=" in line]
    assert [line.partition("state=")[2] for line in states] == [
        "starting",
        "loading progress=waits for the connector",
        "running",
    ]
    told.idle.assert_not_called()
    told.set_states.assert_called_once_with({})


@pytest.mark.parametrize(("error", "count", "retries"), [(OSError, 2, 3), (ConnectionRefusedError, 50, 0)])
def test_failures_are_tried_again_from_the_tables_own_progress_and_outages_without_limit(
    error: type[Exception], count: int, retries: int
) -> None:
    script, told, log = run(*[error("refused")] * count, REPORT, None, retries=retries)
    assert script.loads == count + 1
    assert told.failed.call_count == count
    assert told.committed.mock_calls == [call(REPORT)]
    assert log[0] == f"attempt 1 failed, again in 0 s: {error.__name__}: refused"
    assert log[-1].startswith(f"works again, after {count} failed attempts in ")
    assert len(log) < 5  # not a line for each attempt


def test_a_success_ends_the_count_of_attempts() -> None:
    _, told, log = run(OSError("a"), REPORT, OSError("b"), REPORT, OSError("c"), None, retries=1)
    assert told.committed.mock_calls == [call(REPORT), call(REPORT)]
    failures = [line for line in log if line.startswith("attempt")]
    assert [line.partition(" failed")[0] for line in failures] == ["attempt 1"] * 3


@pytest.mark.parametrize(
    ("outcomes", "options", "message"),
    [
        ([JobError("no use"), REPORT], {}, "^no use"),
        ([Py4JNetworkError("the JVM is gone"), REPORT], {}, "^the JVM is gone"),
        ([OSError("gone\nmore")] * 3, {"retries": 2}, "given up after 3 attempts: OSError: gone"),
        # An outage, too, without continuous mode; with it, one in between doesn't count.
        ([ConnectionRefusedError()] * 3, {"retries": 2, "continuous": False}, "3 attempts: ConnectionRefusedError"),
        (
            [ValueError("a"), ConnectionRefusedError(), TimeoutError(), ValueError("b")],
            {"retries": 1},
            "2 attempts: ValueError: b",
        ),
    ],
)
def test_it_gives_up_with_one_line(outcomes: list[Outcome], options: dict[str, Any], message: str) -> None:
    with pytest.raises((JobError, Py4JNetworkError), match=f"{message}$"):
        run(*outcomes, None, **options)


def test_what_fails_when_it_is_told_to_stop_is_no_failure() -> None:
    _, told, log = run(REPORT, OSError("cancelled"), retries=0)
    assert told.committed.mock_calls == [call(REPORT)]
    assert log == []


@pytest.mark.parametrize(
    ("poll", "interval", "rounds", "begins"),
    [
        # HoodieStreamer sleeps minSyncIntervalSeconds minus the round's time; a longer round is followed immediately.
        (1, 5, [(2, True), (7, True), (0.5, False), (1, True), (0, False)], [5, 7, 5, 5]),
        # At once after data, then ever later; new data begin that again.
        (1, 0, [(0, False)] * 7 + [(2, True), (0, False), (0, False)], [0.05, 0.1, 0.2, 0.4, 0.8, 1, 1, 2, 0.05]),
        (0.1, 0, [(0, False)] * 4, [0.05, 0.1, 0.1]),
        (10, 0, [(0, False)] * 3, [0.5, 1]),
    ],
)
def test_rounds_begin_an_interval_apart_and_soon_after_data(
    monkeypatch: pytest.MonkeyPatch, poll: float, interval: int, rounds: list[tuple[float, bool]], begins: list[float]
) -> None:
    stop = threading.Event()
    now, begun = 100.0, list[float]()

    class Rounds(Script):
        def run_batch(self) -> CommitReport | None:
            nonlocal now
            begun.append(now)
            now += rounds[len(begun) - 1][0]
            return super().run_batch()

    def wait(seconds: float | None = None) -> bool:
        nonlocal now
        now += seconds or 0
        return stop.is_set()

    monkeypatch.setattr(stop, "wait", wait)
    script = Rounds(stop, *(REPORT if found else None for _, found in rounds))
    shared = SharedParts(stop=stop, log=lambda _: None)
    loop = loop_of(script, shared, poll_seconds=poll, continuous=True, min_sync_interval_seconds=interval)
    loop.clock = lambda: now
    loop.run()
    assert [later - earlier for earlier, later in itertools.pairwise(begun)] == pytest.approx(begins)


def test_a_long_outage_is_said_at_times_and_its_end_too() -> None:
    stop, log, now = threading.Event(), list[str](), 0.0
    pauses: list[float] = []

    def wait(seconds: float | None = None) -> bool:
        nonlocal now
        pauses.append(seconds or 0)
        now += seconds or 0
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stop, "wait", wait)
        backoff = Backoff(stop=stop, longest_seconds=30, log=log.append, clock=lambda: now)
        while now < 3 * LINE_S:
            backoff.wait(ConnectionRefusedError("refused"))
        backoff.over()
    assert pauses[:7] == [1, 2, 4, 8, 16, 30, 30]
    assert len(log) == 5 + 2 + 1
    assert log[4] == "attempt 5 failed for 15 s, again in 16 s: ConnectionRefusedError: refused"
    assert log[-1].startswith("works again, after ")
    backoff.over()
    assert len(log) == 8


def test_large_batches_come_in_their_order_and_small_ones_at_once() -> None:
    turns, order, threads = Turns(1), list[int](), list[threading.Thread]()

    def work(number: int) -> None:
        with turns.take():
            order.append(number)

    def waits(count: int) -> bool:
        return len(turns._waiting[False]) >= count

    with turns.take():
        for number in range(5):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            wait_until(functools.partial(waits, number + 1))
        with turns.take(small=True):
            assert order == []
    for thread in threads:
        thread.join(PATIENCE_S)
    assert order == [0, 1, 2, 3, 4]


def test_what_waits_for_its_turn_begins_no_batch_after_a_stop() -> None:
    stop, begun, log = threading.Event(), list[str](), list[str]()
    shared = SharedParts(stop=stop, log=log.append)

    class Waits(Script):
        def run_batch(self) -> CommitReport | None:
            with shared.turn():
                begun.append("batch")
            return None

    waiting = threading.Thread(target=loop_of(Waits(stop), shared, continuous=True).run)
    with shared.turn():
        waiting.start()
        wait_until(lambda: bool(shared.turns._waiting[False]))
        stop.set()
    waiting.join(PATIENCE_S)
    assert (waiting.is_alive(), begun, log) == (False, [], [])


def test_a_failure_gives_its_turn_back() -> None:
    turns = Turns(1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), turns.take():
            _ = 1 / 0
    assert turns.min_interval_seconds() == 0
    with turns.take():
        assert turns._busy == {False: 1, True: 0}
        assert turns.min_interval_seconds() == PACE_SECONDS


@pytest.mark.parametrize(("slots", "large"), [(0, 1), (2, 1), (4, 1), (6, 2), (8, 3), (16, 4)])
def test_large_batches_leave_slots_to_small_ones(slots: int, large: int) -> None:
    assert large_turns(4, slots) == large


def test_as_many_large_batches_work_as_the_executors_have_room_for_now() -> None:
    slots, works, ends = [6], threading.Event(), threading.Event()
    turns = Turns(4, lambda: slots[0])

    def work() -> None:
        with turns.take():
            works.set()
            ends.wait(PATIENCE_S)

    waiting = threading.Thread(target=work)
    with turns.take(), turns.take():
        waiting.start()
        assert not works.wait(0.05)
        slots[0] = 10
        with turns.take():
            assert works.wait(PATIENCE_S)
    ends.set()
    waiting.join(PATIENCE_S)


def test_nothing_stays_open_while_a_failure_is_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    script = Script(threading.Event(), OSError("refused"), None)
    monkeypatch.setattr(script, "close", lambda: done.append("close"))
    monkeypatch.setattr(Backoff, "wait", lambda *_: done.append("wait"))
    loop_of(script, SharedParts(stop=script.stop, log=lambda _line: None), continuous=True).run()
    assert done[:2] == ["close", "wait"]


def test_what_a_failed_attempt_may_have_committed_is_synced() -> None:
    sync, script = Mock(return_value=True), Script(threading.Event(), None, OSError("lost answer"), None)
    shared = SharedParts(stop=script.stop, log=lambda _line: None)
    loop = loop_of(script, shared, continuous=True, retry_interval_seconds=0)
    to = SyncSettings(database="lake", table="t", partition_fields=(), properties={})
    loop.glue_sync = GlueSync(to, sync=sync, log=shared.log)
    loop.run()
    loop.finish()
    assert sync.call_count == 2
