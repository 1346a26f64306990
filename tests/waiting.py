"""Waits for an event of another process or thread, with a limit that only a hang reaches."""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

# A shared machine may be ten times as slow as a quiet one.
PATIENCE_S = 200.0


def wait_until(question: Callable[[], Answer], what: str = "what was waited for", *, every_s: float = 0.05) -> Answer:
    """Return the first true answer; AssertionError if none came within PATIENCE_S. Ask a costly question less often."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := question()):
        assert time.monotonic() < deadline, f"not there after {PATIENCE_S:.0f} s: {what}"
        time.sleep(every_s)
    return answer
