"""Polls a platform for all viewers and keeps the last picture.

Each source is polled in its own thread: one that hangs blocks no other, and the picture reports it.
"""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")
PAUSE_S = 1.0
# While answers stay the same, the pause is this many times the CPU seconds of the last poll, up to a limit.
QUIET, LONGEST_S = 60, 15.0


class Poller(Generic[Value]):
    """Repeats one query. `value`: the last answer. `error`: why the last attempt failed, in one line.

    `woken` ends the pause; it is long while answers stay the same by `key`.
    """

    def __init__(
        self, name: str, ask: Callable[[], Value], key: Callable[[Value], object] = lambda value: value
    ) -> None:
        self.name = name
        self.value: Value | None = None
        self.error: str | None = None
        self.woken = threading.Event()
        self._ask = ask
        self._key = key
        self._last: object = None
        self._pause_s = PAUSE_S
        self._ended = time.monotonic()
        self._took_s = 0.0

    def start(self, stop: threading.Event) -> threading.Thread:
        """Start polling in a daemon thread, since a query that never ends must not keep the program from exiting."""
        thread = threading.Thread(target=self._run, args=[stop], name=f"look at {self.name}", daemon=True)
        thread.start()
        return thread

    @property
    def unanswered_s(self) -> float:
        return time.monotonic() - self._ended

    @property
    def silent_s(self) -> float:
        """Seconds overdue; 0 until twice the last poll's duration: large tables take a while to count."""
        unanswered_s = self.unanswered_s - self._pause_s
        return unanswered_s if unanswered_s > 2 * self._took_s else 0.0

    def ask(self) -> None:
        began, used = time.monotonic(), time.process_time()
        last, self._last = self._last, None
        try:
            self.value = self._ask()
            self.error, self._last = None, self._key(self.value)
        except Exception as error:  # noqa: BLE001  (any error may be gone at the next poll)
            self.error = (str(error) or type(error).__name__).splitlines()[0]
        is_quiet = self.error is None and self._last == last
        quiet_s = min(QUIET * (time.process_time() - used), LONGEST_S)
        self._pause_s = max(PAUSE_S, quiet_s) if is_quiet else PAUSE_S
        self._ended = time.monotonic()
        self._took_s = self._ended - began

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.ask()
            self.woken.wait(self._pause_s)
            self.woken.clear()
