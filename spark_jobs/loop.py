"""Runs batches until the source is read or the job is told to stop; waits for outages to end, however long."""

import threading
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

from py4j.protocol import Py4JNetworkError

from spark_jobs.errors import JobError, Log, first_line
from spark_jobs.report import CommitReport
from spark_jobs.runtime.retry import Backoff, is_outage
from spark_jobs.table.kept_table import KeptTable


@dataclass(eq=False)
class Loop:
    """Drives batches, in continuous mode indefinitely; after a failure each starts from the table's own progress.

    In continuous mode a round begins at least `min_interval_seconds()` after the previous one, and outages are retried
    without limit. Other failures are retried `max_retries` times in a row; so are outages without continuous mode.
    Pauses double from 1 s up to `retry_seconds`.
    """

    kept: KeptTable
    _: KW_ONLY
    stop: threading.Event
    committed: Callable[[CommitReport], None]
    idle: Callable[[], None]
    failed: Callable[[], None]
    log: Log
    max_retries: int
    retry_seconds: float
    min_interval_seconds: Callable[[], float] = lambda: 0
    clock: Callable[[], float] = time.monotonic
    _counted: int = field(default=0, init=False)
    _loaded: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._backoff = Backoff(stop=self.stop, longest_seconds=self.retry_seconds, log=self.log, clock=self.clock)

    def run(self, *, continuous: bool, poll_seconds: float) -> None:
        """Run until told to stop; without `continuous` until nothing is left to read.

        Raises JobError when the job can't continue, or when all attempts have failed.
        """
        while not self.stop.is_set():
            began = self.clock()
            succeeded, report = self._attempt(continuous)
            if not succeeded:
                continue
            if report is not None:
                self.committed(report)
            elif not continuous:
                return
            else:
                self.idle()
            if continuous:
                rest = began + self.min_interval_seconds() - self.clock()
                self.stop.wait(max(rest, 0 if report else poll_seconds))

    def _attempt(self, continuous: bool) -> tuple[bool, CommitReport | None]:
        try:
            if not self._loaded:
                self.kept.load()
                self._loaded = True
            report = self.kept.run_batch()
        except (JobError, Py4JNetworkError):
            raise
        except Exception as error:  # noqa: BLE001  (the network, S3, Kafka, Spark and Hudi each raise their own)
            if self.stop.is_set():
                # Waiting for a claim, or for executors, ends with an error when the job is told to stop.
                return False, None
            self._try_again(error, waited_for=continuous and is_outage(error))
            return False, None
        self._backoff.over()
        self._counted = 0
        return True, report

    def _try_again(self, error: Exception, *, waited_for: bool) -> None:
        # A commit may have completed before the failure was noticed: only the table knows.
        self._loaded = False
        self._counted += 0 if waited_for else 1
        if self._counted > self.max_retries:
            raise JobError(f"given up after {self._counted} attempts: {first_line(error)}") from error
        self.failed()
        self._backoff.wait(error)
