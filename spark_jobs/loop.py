"""Runs batches until the source is read or the job is told to stop, however long outages last; tells its listeners."""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from py4j.protocol import Py4JNetworkError

from contract import table_states
from contract.table_states import ENDED, FAILING, RUNNING, STARTING, STOPPED
from spark_jobs.errors import JobError, Log, first_line, user_message
from spark_jobs.runtime.metrics import CommitReport, Metrics
from spark_jobs.runtime.retry import Backoff, is_outage
from spark_jobs.table.glue import GlueSync
from spark_jobs.table.kept_table import KeptTable


@dataclass(eq=False)
class SweepTimeFile:
    """The file at `path`, with the newest look's milliseconds since 1970; its folder is created when missing."""

    path: Path
    log: Log
    _written: int | None = field(default=None, init=False)
    _failing: bool = field(default=False, init=False)

    def write(self, looked_ms: int | None) -> None:
        """Write a new value; a failure is logged once, and the job continues."""
        if looked_ms is None or looked_ms == self._written:
            return
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(f"{looked_ms}\n", encoding="ascii")
            new.replace(self.path)
        except OSError as error:
            if not self._failing:
                self.log(f"{self.path} can't be written: {first_line(error)}")
            self._failing = True
            return
        self._written, self._failing = looked_ms, False


def write_line(text: str) -> None:
    """Write a line to standard output at once: many threads write, and `print` writes line and end separately."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class TableStatus:
    """The state of one table, in lines of contract/table_states.py.

    starting: nothing is known yet; running: its last look at the source succeeded; failing: its last one didn't, and it
    is retried; ended: it failed or, without --continuous, read everything; stopped: on request.
    """

    def __init__(self, table: str, *, worked: Callable[[], None] = lambda: None) -> None:
        """`worked` is called when the table works (again)."""
        self.table = table
        self._worked = worked
        self._said = ""
        self._say(STARTING)

    def works(self) -> None:
        """Record a successful look at the source."""
        if self._say(RUNNING):
            self._worked()

    def fails(self, error: BaseException) -> None:
        """Record a failed attempt."""
        self._say(FAILING, user_message(error))

    def ends(self, *, stopped: bool) -> None:
        self._say(STOPPED if stopped else ENDED)

    def _say(self, state: str, reason: str | None = None) -> bool:
        text = table_states.line(self.table, state, reason)
        changed = text != self._said
        if changed:
            write_line(text)
        self._said = text
        return changed


@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Tells the listeners that the settings enable what the loop has just done."""

    kept: KeptTable
    glue_sync: GlueSync | None
    metrics: Metrics | None
    status: TableStatus
    looked_file: SweepTimeFile | None = None

    def committed(self, report: CommitReport) -> None:
        """Write a commit's line to standard output, then pass the commit on."""
        write_line(f"{report.line()} table={self.status.table}")
        self._works()
        if self.metrics:
            self.metrics.committed(report)
        if self.glue_sync and self.kept.last_commit:
            self.glue_sync.committed(self.kept.last_commit)

    def idle(self) -> None:
        self._works()
        if self.metrics:
            self.metrics.idle()
        if self.glue_sync:
            self.glue_sync.run_if_due()

    def failed(self, error: Exception) -> None:
        self.status.fails(error)
        if self.metrics:
            self.metrics.failed()

    def _works(self) -> None:
        self.status.works()
        if self.looked_file:
            self.looked_file.write(self.kept.looked_ms)
        if self.metrics:
            self.metrics.set_states(self.kept.states())

    def finish(self) -> None:
        """Let each listener finish its work."""
        if self.glue_sync:
            self.glue_sync.finish()


@dataclass(eq=False)
class Loop:
    """Drives batches, in continuous mode indefinitely; after a failure each starts from the table's own progress.

    In continuous mode a round begins at least `min_interval_seconds()` after the previous one, and outages are retried
    without limit. Other failures are retried `max_retries` times in a row; so are outages without continuous mode.
    Pauses double from 1 s up to `retry_seconds`.
    """

    kept: KeptTable
    listeners: Listeners
    _: KW_ONLY
    stop: threading.Event
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
                self.listeners.committed(report)
            elif not continuous:
                return
            else:
                self.listeners.idle()
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
        self.listeners.failed(error)
        self._backoff.wait(error)
