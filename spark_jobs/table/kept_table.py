"""A table that a job keeps: its claim, its newest commit, and what is reported apart from its commits."""

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.errors import ConcurrentWriterError, JobError, Log
from spark_jobs.options.settings import FileSettings, Settings
from spark_jobs.runtime.hadoop import Hadoop, remembering
from spark_jobs.runtime.metrics import CommitReport, Metrics
from spark_jobs.runtime.session import Turns
from spark_jobs.sources.kafka import Ends
from spark_jobs.sources.listing import SharedListing
from spark_jobs.sources.postgres.access import Databases
from spark_jobs.table import commits
from spark_jobs.table.claim import Claim
from spark_jobs.table.hudi_table import Commit, HudiTable


@dataclass(frozen=True, kw_only=True)
class SharedParts:
    """What a table's job shares with others, or outlives it. Each commit is made in a `turn`.

    `loads` is told how far a first load is, in one line.
    """

    log: Log
    stop: threading.Event = field(default_factory=threading.Event)
    metrics: Metrics | None = None
    turns: Turns = field(default_factory=lambda: Turns(1))
    listing: SharedListing = field(default_factory=SharedListing)
    databases: Databases | None = None
    topic_ends: Ends = field(default_factory=dict)
    loads: Callable[[str], None] = lambda _progress: None

    @contextmanager
    def turn(self, *, small: bool = False) -> Iterator[None]:
        """Take a turn; raises InterruptedError when the job was told to stop before it came."""
        with self.turns.take(small=small):
            if self.stop.is_set():
                raise InterruptedError("told to stop while waiting for a turn")
            yield


class KeptTable(ABC):
    """Brings new data into a Hudi table, one commit after the other; holds the progress between commits."""

    def __init__(
        self, spark: SparkSession, settings: Settings, *, shared: SharedParts, claim: Claim | None = None
    ) -> None:
        """`claim` makes this job the table's only writer; without one the caller must."""
        stores = [settings.table.base_path]
        if isinstance(settings.source, FileSettings):
            stores.append(settings.source.root)
        self._spark = spark
        self._settings = settings
        self._table = HudiTable(spark, settings.table, memory=remembering(Hadoop(spark), stores, shared.log))
        self._log = shared.log
        self._claim = claim
        self._turn = shared.turn
        # The timeline's last state: its newest instant, and the progress in the newest commit that has one.
        self._last_instant: str | None = None
        self._progress: str | None = None
        self.last_commit: Commit | None = None

    def states(self) -> Mapping[str, float]:
        """Return the values of metrics.STATES that this table has now."""
        return {}

    @property
    def looked_ms(self) -> int | None:
        """Start of the last look at all rows that the table has completely; None unless the source is a database."""
        return None

    @property
    def awaits_load(self) -> bool:
        """Whether its first rows are yet to be read from the database."""
        return False

    def load(self) -> None:
        """Read where the table stands, at the start and after a failure; JobError if it can't be written to."""
        if self._claim:
            self._claim.acquire()
        self._begin(exists=self._table.recover(self._log))

    @abstractmethod
    def _begin(self, *, exists: bool) -> None:
        """Take the progress from the newest commit; `exists`: whether there is a table."""

    @abstractmethod
    def run_batch(self) -> CommitReport | None:
        """Commit new data; None without any."""

    def close(self) -> None:  # noqa: B027  (as a rule nothing is open between two batches)
        """Close open resources."""

    def _written(self, rows: DataFrame, metadata: Mapping[str, str], *, operation: str) -> Commit:
        commit = self._table.write(rows, metadata, operation=operation)
        self._last_instant, self._progress = commit.newest, metadata[commits.SOURCE_KEY]
        self.last_commit = commit
        return commit

    def _refuse_others_commits(self) -> None:
        """Raise ConcurrentWriterError for another job's progress, JobError for a table that is gone.

        Raises TimeoutError while the clock is behind a commit.
        """
        if self._claim:
            self._claim.check()
        found = self._table.last_instant()
        # Readers and later commits would miss a commit below the newest one.
        if found is not None and found > f"{datetime.now(UTC):%Y%m%d%H%M%S%f}"[:17]:
            raise TimeoutError(
                f"{self._settings.table.base_path}: this machine's clock (UTC) is behind the newest commit, {found}; "
                "the next one waits until it has passed"
            )
        if found == self._last_instant:
            return
        if found is None:
            raise JobError(
                f"{self._settings.table.base_path}: the table is gone, with its commits until {self._last_instant}; "
                "nothing was written: start the job again, and it makes a new one"
            )
        # A compaction or clustering by another program, or a manual correction, leaves the progress unchanged.
        if self._table.progress().get(commits.SOURCE_KEY) != self._progress:
            raise ConcurrentWriterError(
                f"{self._settings.table.base_path}: another writer committed {found} after {self._last_instant}, "
                "which this job knows; run one job per table"
            )
        self._last_instant = found


_AS_OF = "as.of.instant"
# Prefix of Hudi's own columns.
META_PREFIX = "_hoodie_"


class MadeTable(KeptTable):
    """The table; its commits carry their inputs."""

    def _begin(self, *, exists: bool) -> None:
        progress = self._table.progress().get(commits.SOURCE_KEY) if exists else None
        self._last_instant, self._progress = self._table.last_instant(), progress
        try:
            self._go_on(None if progress is None else json.loads(progress))
        except (ValueError, TypeError, LookupError) as error:
            told = f"the table's progress {progress!r:.60} isn't of this kind of table: give it another name"
            raise JobError(told) from error

    @abstractmethod
    def _go_on(self, progress: Any) -> None:
        """Take the progress from the newest commit's JSON, None for a table without."""

    def _rows(self) -> DataFrame | None:
        return None if self._last_instant is None else self._table.rows()

    def _write(self, rows: DataFrame, progress: str) -> Commit:
        """Upsert rows, with `progress` in the commit. Raises ConcurrentWriterError for another job's commit."""
        self._refuse_others_commits()
        return self._written(rows, {commits.SOURCE_KEY: progress}, operation="upsert")


def as_of(spark: SparkSession, path: str, instant: str) -> DataFrame:
    """Return a table's rows as of a commit, without Hudi's own columns."""
    rows = spark.read.format("hudi").option(_AS_OF, instant).load(path)
    return rows.drop(*(column for column in rows.columns if column.startswith(META_PREFIX)))


def report(commit: Commit, events: int, inputs: int, started: float) -> CommitReport:
    return CommitReport(
        commit=commit.instant,
        files=inputs,
        events=events,
        upserts=commit.inserts + commit.updates,
        deletes=commit.deletes,
        seconds=time.monotonic() - started,
    )
