"""Polls a platform for all viewers and keeps the last picture.

Each source is polled in its own thread: one that hangs blocks no other, and the picture reports it.
"""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")
PAUSE_S = 1.0


class Poller(Generic[Value]):
    """Repeats one query. `value`: the last answer. `error`: why the last attempt failed, in one line."""

    def __init__(self, name: str, ask: Callable[[], Value], pause_s: float = PAUSE_S) -> None:
        self.name = name
        self.value: Value | None = None
        self.error: str | None = None
        self._ask = ask
        self._pause_s = pause_s
        self._ended = time.monotonic()
        self._took_s = 0.0

    def start(self, stop: threading.Event) -> threading.Thread:
        """Start polling in a daemon thread, since a query that never ends must not keep the program from exiting."""
        thread = threading.Thread(target=self._run, args=[stop], name=f"look at {self.name}", daemon=True)
        thread.start()
        return thread

    @property
    def unanswered_s(self) -> float:
        """Seconds since the last answer or error."""
        return time.monotonic() - self._ended

    @property
    def silent_s(self) -> float:
        """Seconds overdue; 0 until twice the last poll's duration: large tables take a while to count."""
        unanswered_s = self.unanswered_s - self._pause_s
        return unanswered_s if unanswered_s > 2 * self._took_s else 0.0

    def ask(self) -> None:
        began = time.monotonic()
        try:
            self.value = self._ask()
            self.error = None
        except Exception as error:  # noqa: BLE001  (any error may be gone at the next poll)
            self.error = (str(error) or type(error).__name__).splitlines()[0]
        self._ended = time.monotonic()
        self._took_s = self._ended - began

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.ask()
            stop.wait(self._pause_s)
