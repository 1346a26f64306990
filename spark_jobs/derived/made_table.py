"""A table that the job makes of other tables of the lake: its claim, its progress, its commits and their reports."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.options.settings import Settings
from spark_jobs.report import CommitReport
from spark_jobs.runtime.turns import Turns
from spark_jobs.table import checkpoint
from spark_jobs.table.claim import Claim
from spark_jobs.table.hudi_table import Commit, ForeignCommits, HudiTable

Log = Callable[[str], None]
_AS_OF = "as.of.instant"
# What Hudi's own columns begin with.
META_PREFIX = "_hoodie_"


class MadeTable(ABC):
    """The table; a round computes and commits in a turn of its own."""

    ignored_truncates = None
    horizon_age_seconds = None

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        *,
        table: HudiTable,
        log: Log,
        claim: Claim | None = None,
        turns: Turns | None = None,
    ) -> None:
        """`claim` makes this job the table's only writer."""
        self._spark = spark
        self._log = log
        self._turns = turns or Turns(1)
        self._table = table
        self._claim = claim
        self._writer = ForeignCommits(table, settings.table.base_path, claim)
        self.last_commit: Commit | None = None

    def load(self) -> None:
        """Read the progress of the newest commit: at the start, and after a failure, when a commit may be there.

        Raises JobError for another kind of table's progress.
        """
        if self._claim:
            self._claim.acquire()
        stored = None
        if self._table.recover(self._log):
            stored = self._table.progress().get(checkpoint.SOURCE_KEY)
        self._writer.note(self._table.last_instant(), stored)
        self._begin(stored)

    @abstractmethod
    def _begin(self, progress: str | None) -> None:
        """Take in the progress of the newest commit, None for a table without."""

    @abstractmethod
    def run_batch(self) -> CommitReport | None:
        """Commit what is new; None when nothing is."""

    def close(self) -> None:  # noqa: B027  (nothing is open between two rounds)
        """End what is open."""

    def _rows(self) -> DataFrame | None:
        """Return the rows that it has; None before its first commit."""
        return None if self._writer.last_instant is None else self._table.rows()

    def _write(self, rows: DataFrame, progress: str) -> Commit:
        """Upsert rows, with `progress` in the commit. Raises ConcurrentWriterError for another one's."""
        self._writer.check()
        commit = self._table.write(rows, {checkpoint.SOURCE_KEY: progress}, operation="upsert")
        self._writer.note(commit.newest, progress)
        self.last_commit = commit
        return commit


def as_of(spark: SparkSession, path: str, instant: str) -> DataFrame:
    """Return a table's rows as they were after a commit, without Hudi's own columns."""
    rows = spark.read.format("hudi").option(_AS_OF, instant).load(path)
    return rows.drop(*(column for column in rows.columns if column.startswith(META_PREFIX)))


def report(commit: Commit, events: int, inputs: int, started: float) -> CommitReport:
    """Return what is told of a commit that is made of other tables."""
    return CommitReport(
        commit=commit.instant,
        files=inputs,
        events=events,
        upserts=commit.inserts + commit.updates,
        deletes=commit.deletes,
        quarantined=0,
        folded=0,
        seconds=time.monotonic() - started,
        lag_seconds=None,
        missing_offsets=0,
        late_files=0,
    )
