"""Waits between two attempts, longer each time."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JNetworkError

from spark_jobs.errors import JobError, said
from spark_jobs.outages import is_outage

Log = Callable[[str], None]
T = TypeVar("T")
_FIRST_PAUSE_S = 1.0
# Between two lines of the log while an outage lasts.
LINE_S = 600.0


class Backoff:
    """Waits between attempts, 1, 2, 4 … s up to `longest_seconds`; says so at first, every 10 minutes, and in the end.

    `stop` ends a pause at once.
    """

    def __init__(
        self,
        *,
        stop: threading.Event,
        longest_seconds: float,
        log: Log,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stop = stop
        self._longest = longest_seconds
        self._log = log
        self._clock = clock
        self.attempts = 0
        self._began = 0.0
        self._last_line = 0.0

    def wait(self, error: Exception) -> None:
        """Pause after an attempt that `error` ended."""
        now = self._clock()
        self._began = self._began if self.attempts else now
        pause = min(_FIRST_PAUSE_S * 2.0 ** min(self.attempts, 30), self._longest)
        self.attempts += 1
        growing = self.attempts == 1 or pause < self._longest
        if growing or now - self._last_line >= LINE_S:
            self._last_line = now
            lasting = f" for {now - self._began:.0f} s" if self.attempts > 1 else ""
            self._log(f"attempt {self.attempts} failed{lasting}, again in {pause:.0f} s: {said(error)}")
        self._stop.wait(pause)

    def over(self) -> None:
        """Note an attempt that succeeded."""
        if self.attempts:
            self._log(f"works again, after {self.attempts} failed attempts in {self._clock() - self._began:.0f} s")
        self.attempts = 0


def retry_outages(do: Callable[[], T], *, backoff: Backoff, stop: threading.Event) -> T | None:
    """Do what an outage may keep from happening until it has happened; None when told to stop meanwhile."""
    while not stop.is_set():
        try:
            done = do()
        except (JobError, Py4JNetworkError):
            raise
        except Exception as error:
            if not is_outage(error):
                raise
            backoff.wait(error)
        else:
            backoff.over()
            return done
    return None
