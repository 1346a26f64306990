"""Runs batches until the source is read or the job is told to stop; an outage is waited for, however long it is."""

import threading
import time
from collections.abc import Callable

from py4j.protocol import Py4JNetworkError

from spark_jobs.errors import JobError, Log, first_line
from spark_jobs.report import CommitReport
from spark_jobs.runtime.retry import Backoff, is_outage
from spark_jobs.table.kept_table import KeptTable


class Loop:
    """Drives batches, in continuous mode for ever; after a failure each begins with the table's own progress.

    In continuous mode a round begins at least `min_interval_seconds()` after the one before, and an outage is waited
    for without end. Other failures are tried again `max_retries` times in a row; so are outages without continuous
    mode. Pauses double from 1 s up to `retry_seconds`.
    """

    def __init__(
        self,
        kept: KeptTable,
        *,
        stop: threading.Event,
        committed: Callable[[CommitReport], None],
        idle: Callable[[], None],
        failed: Callable[[], None],
        log: Log,
        max_retries: int,
        retry_seconds: float,
        min_interval_seconds: Callable[[], float] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kept = kept
        self._stop = stop
        self._committed = committed
        self._idle = idle
        self._failed = failed
        self._max_retries = max_retries
        self._min_interval_seconds = min_interval_seconds
        self._clock = clock
        self._backoff = Backoff(stop=stop, longest_seconds=retry_seconds, log=log, clock=clock)
        self._counted = 0
        self._loaded = False

    def run(self, *, continuous: bool, poll_seconds: float) -> None:
        """Run until told to stop; without `continuous` until nothing is left to read.

        Raises JobError when the job can't go on, or when all attempts have failed.
        """
        while not self._stop.is_set():
            began = self._clock()
            succeeded, report = self._attempt(continuous)
            if not succeeded:
                continue
            if report is not None:
                self._committed(report)
            elif not continuous:
                return
            else:
                self._idle()
            if continuous:
                rest = began + self._min_interval_seconds() - self._clock()
                self._stop.wait(max(rest, 0 if report else poll_seconds))

    def _attempt(self, continuous: bool) -> tuple[bool, CommitReport | None]:
        try:
            if not self._loaded:
                self._kept.load()
                self._loaded = True
            report = self._kept.run_batch()
        except (JobError, Py4JNetworkError):
            raise
        except Exception as error:  # noqa: BLE001  (the network, S3, Kafka, Spark and Hudi each raise their own)
            if self._stop.is_set():
                # What waits for a claim, or for executors, ends by an error when the job is told to stop.
                return False, None
            self._try_again(error, waited_for=continuous and is_outage(error))
            return False, None
        self._backoff.over()
        self._counted = 0
        return True, report

    def _try_again(self, error: Exception, *, waited_for: bool) -> None:
        # A commit may have been completed before the failure was seen: only the table knows.
        self._loaded = False
        self._counted += 0 if waited_for else 1
        if self._counted > self._max_retries:
            raise JobError(f"given up after {self._counted} attempts: {first_line(error)}") from error
        self._failed()
        self._backoff.wait(error)
