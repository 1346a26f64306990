import os
import signal
import threading
import time

import pytest

from local.errors import CancelledError, PlatformError
from local.platform.startup import Startup, Step, StepState, uninterrupted
from tests.waiting import PATIENCE_S


class Log:
    def __init__(self) -> None:
        self.steps: list[Step] = []

    def __call__(self, step: Step) -> None:
        self.steps.append(step)

    def states(self) -> list[tuple[str, StepState]]:
        return [(step.name, step.state) for step in self.steps]


def test_a_step_runs_after_those_that_it_needs_and_beside_the_others() -> None:
    log, together = Log(), threading.Barrier(2, timeout=PATIENCE_S)
    with Startup(threading.Event(), log) as startup:
        first = startup.run("first", lambda: f"{together.wait() is not None}")
        startup.run("beside", lambda: f"{together.wait() is not None}")
        startup.run("after", lambda: "done", after=[first])
    order = log.states()
    assert order.index(("first", StepState.DONE)) < order.index(("after", StepState.STARTED))
    assert [step.note for step in log.steps if step.name == "after"] == ["", "done"]


def test_the_first_failure_is_raised_and_the_rest_gives_up() -> None:
    cancelled, log = threading.Event(), Log()

    def fail() -> None:
        raise PlatformError("kafka has ended")

    def wait() -> None:
        if cancelled.wait(PATIENCE_S):
            raise CancelledError("given up")

    def start() -> None:
        with Startup(cancelled, log) as startup:
            broken = startup.run("kafka", fail)
            startup.run("connect", wait)
            startup.run("source", lambda: pytest.fail("must not start"), after=[broken])

    with pytest.raises(PlatformError, match="kafka has ended"):
        start()
    assert ("kafka", StepState.FAILED) in log.states()
    assert "source" not in {step.name for step in log.steps}
    assert ("connect", StepState.FAILED) not in log.states()


def test_a_step_that_fails_alone_keeps_only_those_that_need_it() -> None:
    cancelled, log = threading.Event(), Log()

    def fail() -> None:
        raise PlatformError("no data")

    def start() -> None:
        with Startup(cancelled, log) as startup:
            source = startup.run("source", fail, alone=True)
            startup.run("landing", lambda: pytest.fail("must not start"), after=[source], alone=True)
            startup.run("job", lambda: "runs" if source.exception() else None, after=[])

    with pytest.raises(PlatformError, match="no data"):
        start()
    assert not cancelled.is_set()
    assert [step.note for step in log.steps if step.state is StepState.DONE] == ["runs"]


def test_an_interrupt_ends_the_waiting_steps() -> None:
    cancelled = threading.Event()
    started = time.monotonic()

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        cancelled.wait(PATIENCE_S)

    with pytest.raises(KeyboardInterrupt), Startup(cancelled, Log()) as startup:
        startup.run("postgres", interrupt)
    assert cancelled.is_set()
    assert time.monotonic() - started < PATIENCE_S


def test_tidying_up_is_not_interrupted() -> None:
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)
    assert signal.getsignal(signal.SIGINT) is before
