"""Lets a file end the job between two commits: for whoever can't send its process a signal, such as an EMR step."""

import threading
import time
from collections.abc import Callable

from py4j.protocol import Py4JNetworkError

from spark_jobs.errors import first_line

Log = Callable[[str], None]
_LOOK_SECONDS = 10.0


class StopFile:
    """Sets `stop` once the file at `path` is there; looks every 10 s at most."""

    def __init__(
        self,
        path: str,
        *,
        exists: Callable[[str], bool],
        stop: threading.Event,
        log: Log,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._exists = exists
        self._stop = stop
        self._log = log
        self._clock = clock
        self._next_look = float("-inf")
        self._failing = False

    def look(self) -> None:
        """Look when it is time; a failure is logged once, and the job goes on."""
        if self._clock() < self._next_look:
            return
        self._next_look = self._clock() + _LOOK_SECONDS
        try:
            there = self._exists(self._path)
        except Py4JNetworkError:
            raise
        except Exception as error:  # noqa: BLE001  (S3, HDFS and Hadoop each raise their own; the next look may succeed)
            if not self._failing:
                self._log(f"stop file {self._path} can't be looked for: {first_line(error)}")
            self._failing = True
            return
        self._failing = False
        if there:
            self._log(f"stopped by {self._path}")
            self._stop.set()
