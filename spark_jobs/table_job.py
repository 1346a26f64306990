"""Runs one table's job: batches until the source is read or a stop is requested, however long outages last."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from contract import table_states
from contract.table_states import ENDED, FAILING, LOADING, RUNNING, STARTING, STOPPED
from spark_jobs.decoding import schema
from spark_jobs.derived.derived_table import DerivedTable
from spark_jobs.derived.history import HistoryTable
from spark_jobs.errors import JobError, Log, first_line, user_message
from spark_jobs.ingest import Ingest
from spark_jobs.options.jdbc_settings import JdbcSettings
from spark_jobs.options.settings import HistorySettings, Settings, SqlSettings
from spark_jobs.runtime.hadoop import Hadoop, read_text
from spark_jobs.runtime.metrics import CommitReport, metrics_for
from spark_jobs.runtime.retry import Backoff, is_outage
from spark_jobs.table.claim import Claim, claim_store
from spark_jobs.table.glue import GlueSync, sync_to_glue
from spark_jobs.table.kept_table import KeptTable, SharedParts


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

    starting: nothing is known yet; loading: its first rows are read from the database, or will be; running: its last
    look at the source succeeded; failing: its last one didn't, and it is retried; ended: it failed or, without
    --continuous, read everything; stopped: on request.
    """

    def __init__(self, table: str, *, worked: Callable[[], None] = lambda: None) -> None:
        """`worked` is called when the table works (again)."""
        self.table = table
        self._worked = worked
        self._said = ""
        self._say(STARTING)

    def works(self) -> None:
        if self._say(RUNNING):
            self._worked()

    def loads(self, progress: str) -> None:
        self._say(LOADING, progress)

    def fails(self, error: BaseException) -> None:
        self._say(FAILING, user_message(error))

    def ends(self, *, stopped: bool) -> None:
        self._say(STOPPED if stopped else ENDED)

    def _say(self, state: str, detail: str | None = None) -> bool:
        text = table_states.line(self.table, state, detail)
        changed = text != self._said
        if changed:
            write_line(text)
        self._said = text
        return changed


# After data: of the poll interval, and at least.
_FIRST_PAUSE, _LEAST_PAUSE_S = 1 / 20, 0.05


def following_pause(last: float, longest: float) -> float:
    """Return the pause (s) after a round without data; `last` is the one before, 0 after data."""
    return min(longest, max(2 * last, longest * _FIRST_PAUSE, _LEAST_PAUSE_S))


@dataclass(eq=False)
class Loop:
    """Drives a table's batches, in continuous mode indefinitely, and tells what listens to them.

    After a failure each batch starts from the table's own progress. In continuous mode a round begins at least the
    minimum interval after the previous one, and outages are retried without limit. Other failures are retried
    `--max-retry-count` times in a row; so are outages without continuous mode. Pauses double from 1 s. A round without
    data is followed by a pause, too: short after data, up to the poll interval as long as none comes.
    """

    kept: KeptTable
    settings: Settings
    shared: SharedParts
    status: TableStatus
    _: KW_ONLY
    glue_sync: GlueSync | None = None
    clock: Callable[[], float] = time.monotonic
    _counted: int = field(default=0, init=False)
    _pause: float = field(default=0.0, init=False)
    _loaded: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        options, source, stop, log = self.settings.options, self.settings.source, self.shared.stop, self.shared.log
        longest = options.retry_interval_seconds
        self._backoff = Backoff(stop=stop, longest_seconds=longest, log=log, clock=self.clock)
        looked_file = source.looked_file if isinstance(source, JdbcSettings) else None
        self._looked_file = SweepTimeFile(Path(looked_file), log) if looked_file else None

    def run(self) -> None:
        """Run until told to stop, or all is read; raises JobError when it can't continue or gives up."""
        options, shared = self.settings.options, self.shared
        while not shared.stop.is_set():
            began = self.clock()
            succeeded, report = self._attempt()
            if not succeeded:
                continue
            if report is not None:
                self._committed(report)
                self._pause = 0.0
            elif not options.continuous:
                return
            else:
                self._idle()
                self._pause = following_pause(self._pause, self.settings.poll_seconds)
            if options.continuous:
                interval = max(options.min_sync_interval_seconds, shared.turns.min_interval_seconds())
                rest = began + interval - self.clock()
                shared.stop.wait(max(rest, self._pause))

    def finish(self) -> None:
        """Close what the table has open, and sync what is pending."""
        self.kept.close()
        if self.glue_sync:
            self.glue_sync.finish()

    def _attempt(self) -> tuple[bool, CommitReport | None]:
        try:
            if not self._loaded:
                self.kept.load()
                self._loaded = True
            report = self.kept.run_batch()
        except (JobError, Py4JNetworkError):
            raise
        except Exception as error:  # noqa: BLE001  (the network, S3, Kafka, Spark and Hudi each raise their own)
            if not self.shared.stop.is_set():
                self._try_again(error)
            # Waiting for a claim, a turn or executors ends with an error when the job is told to stop.
            return False, None
        self._backoff.over()
        self._counted = 0
        return True, report

    def _try_again(self, error: Exception) -> None:
        # A commit may have completed before the failure was noticed: only the table knows.
        self._loaded = False
        if self.glue_sync:
            self.glue_sync.request()
        self._counted += 0 if self.settings.options.continuous and is_outage(error) else 1
        if self._counted > self.settings.options.max_retry_count:
            raise JobError(f"given up after {self._counted} attempts: {first_line(error)}") from error
        self.status.fails(error)
        if self.shared.metrics:
            self.shared.metrics.failed()
        # Others may need its connection, or its locks; the next attempt closes it, too, and tells what fails.
        with suppress(Exception):
            self.kept.close()
        self._backoff.wait(error)

    def _committed(self, report: CommitReport) -> None:
        write_line(f"{report.line()} table={self.status.table}")
        self._works()
        if self.shared.metrics:
            self.shared.metrics.committed(report)
        if self.glue_sync and self.kept.last_commit:
            self.glue_sync.committed(self.kept.last_commit)

    def _idle(self) -> None:
        if self.kept.awaits_load:
            return  # it has said what it waits for
        self._works()
        if self.shared.metrics:
            self.shared.metrics.idle()
        if self.glue_sync:
            self.glue_sync.run_if_due()

    def _works(self) -> None:
        self.status.works()
        if self._looked_file:
            self._looked_file.write(self.kept.looked_ms)
        if self.shared.metrics:
            self.shared.metrics.set_states(self.kept.states())


def keep(
    table: str,
    shared: SharedParts,
    *,
    attempt: Callable[[SharedParts, TableStatus], None],
    waits_out: Callable[[Exception], bool],
    longest_pause_s: float,
    metrics_namespace: str | None,
) -> None:
    """Run a table's `attempt` until it succeeds or a stop is requested, again after each error that `waits_out`."""
    backoff = Backoff(stop=shared.stop, longest_seconds=longest_pause_s, log=shared.log)
    status = TableStatus(table, worked=backoff.over)
    metrics = metrics_for(metrics_namespace, table, shared.log)
    shared = replace(shared, metrics=metrics, loads=status.loads)
    if metrics:
        metrics.start()
    try:
        while not shared.stop.is_set():
            try:
                return attempt(shared, status)
            except Exception as error:
                if shared.stop.is_set() and not isinstance(error, JobError):
                    break
                status.fails(error)
                if metrics:
                    metrics.failed()
                if not waits_out(error):
                    raise
                backoff.wait(error)
    finally:
        status.ends(stopped=shared.stop.is_set())
        if metrics:
            metrics.finish()


def run(spark: SparkSession, decided: Settings, shared: SharedParts, status: TableStatus) -> None:
    """Bring new data into the table and the catalog until all is read or a stop is requested; raises JobError."""
    log, sync = shared.log, decided.sync
    claim = Claim(claim_store(decided.claim_path, Hadoop(spark)), decided.table.base_path, log=log, stop=shared.stop)
    kept = _kept_table(spark, decided, shared, claim)
    glue_sync = GlueSync(sync, sync=lambda: sync_to_glue(spark, sync, decided.table), log=log) if sync else None
    loop = Loop(kept, decided, shared, status, glue_sync=glue_sync)
    try:
        loop.run()
    finally:
        try:
            loop.finish()
        finally:
            claim.release()


def _kept_table(spark: SparkSession, decided: Settings, shared: SharedParts, claim: Claim) -> KeptTable:
    if isinstance(decided.source, SqlSettings):
        return DerivedTable(spark, decided, shared=shared, claim=claim)
    if isinstance(decided.source, HistorySettings):
        return HistoryTable(spark, decided, shared=shared, claim=claim)
    columns = schema.parse(read_text(decided.schema_file, spark), decided.schema_file)
    return Ingest(spark, decided, columns, shared=shared, claim=claim)
