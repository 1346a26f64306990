"""How long is waited between two attempts, and what is said of it."""

import threading

import pytest

from spark_jobs.errors import JobError
from spark_jobs.retry import LINE_S, Backoff, retry_outages


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


def test_what_is_needed_at_the_start_is_waited_for_but_a_mistake_is_not() -> None:
    stop, log = threading.Event(), list[str]()
    backoff = Backoff(stop=stop, longest_seconds=0.001, log=log.append)
    outcomes: list[Exception | str] = [ConnectionRefusedError("refused"), TimeoutError(), "read"]

    def do() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert retry_outages(do, backoff=backoff, stop=stop) == "read"
    for mistake in (JobError("no such file"), ValueError("unexpected")):
        outcomes.append(mistake)
        with pytest.raises(type(mistake)):
            retry_outages(do, backoff=backoff, stop=stop)
    stop.set()
    assert retry_outages(do, backoff=backoff, stop=stop) is None
