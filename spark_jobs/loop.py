"""Runs batches until the source is read or the job is told to stop; failures of the surroundings are tried again."""

import threading
from collections.abc import Callable
from typing import Protocol

from py4j.protocol import Py4JNetworkError

from spark_jobs.errors import JobError, first_line
from spark_jobs.report import CommitReport

Log = Callable[[str], None]


class Batches(Protocol):
    """What the loop drives."""

    def load(self) -> None:
        """Read the progress from the table."""

    def run_batch(self) -> CommitReport | None:
        """Commit the next batch; None when there is nothing new."""


class Loop:
    """Drives batches: `max_retries` attempts after a failure, pauses doubling from 1 s up to `retry_seconds`."""

    def __init__(
        self,
        batches: Batches,
        *,
        stop: threading.Event,
        committed: Callable[[CommitReport], None],
        idle: Callable[[], None],
        log: Log,
        max_retries: int,
        retry_seconds: float,
    ) -> None:
        self._batches = batches
        self._stop = stop
        self._committed = committed
        self._idle = idle
        self._log = log
        self._max_retries = max_retries
        self._retry_seconds = retry_seconds
        self._failures = 0
        self._loaded = False

    def run(self, *, continuous: bool, poll_seconds: float) -> None:
        """Run until told to stop; without `continuous` until nothing is left to read.

        Raises JobError when the job can't go on, or when all attempts have failed.
        """
        while not self._stop.is_set():
            succeeded, report = self._attempt()
            if report is not None:
                self._committed(report)
            elif succeeded and not continuous:
                return
            elif succeeded:
                self._idle()
                self._stop.wait(poll_seconds)

    def _attempt(self) -> tuple[bool, CommitReport | None]:
        try:
            if not self._loaded:
                self._batches.load()
                self._loaded = True
            report = self._batches.run_batch()
        except (JobError, Py4JNetworkError):
            raise
        except Exception as error:  # noqa: BLE001  (the network, S3, Kafka, Spark and Hudi each raise their own)
            self._failed(error)
            return False, None
        self._failures = 0
        return True, report

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        # A commit may have been completed before the failure was seen: only the table knows.
        self._loaded = False
        if self._failures > self._max_retries:
            raise JobError(f"given up after {self._failures} attempts: {first_line(error)}") from error
        pause = min(2.0 ** (self._failures - 1), self._retry_seconds)
        self._log(f"attempt {self._failures} failed, again in {pause:.0f} s: {first_line(error)}")
        self._stop.wait(pause)
