"""Waits for an event of another process or thread, with a limit that only a hang reaches; tells how slow all is.

And a clock for tests that must not wait.
"""

import os
import time
from collections.abc import Callable
from typing import TypeVar

import psutil

Answer = TypeVar("Answer")

# A shared machine may be ten times as slow as a quiet one.
PATIENCE_S = 200.0
# CPU seconds of an AMD EPYC whose neighbours rest, where the demos keep their limits with nothing else running.
SQUARES_S = 0.12


class Clock:
    """Seconds that pass only on request."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def wait_until(question: Callable[[], Answer], what: str = "what was waited for", *, every_s: float = 0.05) -> Answer:
    """Return the first true answer; AssertionError if none came within PATIENCE_S. Ask a costly question less often."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := question()):
        assert time.monotonic() < deadline, f"not there after {PATIENCE_S:.0f} s: {what}"
        time.sleep(every_s)
    return answer


def gone(process: psutil.Process) -> bool:
    """A container's first process may not reap orphans: a zombie counts as gone."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def crowd() -> float:
    """The slowdown to allow: limits hold up to two processes per core, which take SQUARES_S for these squares.

    A platform alone doesn't exceed that; the suite runs several at a time, on slower machines as well.
    """
    began = time.thread_time()
    sum(number * number for number in range(2_000_000))
    slower = (time.thread_time() - began) / SQUARES_S
    return max(1.0, os.getloadavg()[0] / (2 * (os.cpu_count() or 1))) * max(1.0, slower)
