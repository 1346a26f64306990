"""A table that the job computes from other tables of the lake: its progress, commits and reports."""

import time
from abc import abstractmethod

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.report import CommitReport
from spark_jobs.table import checkpoint
from spark_jobs.table.hudi_table import Commit
from spark_jobs.table.kept_table import KeptTable

_AS_OF = "as.of.instant"
# Prefix of Hudi's own columns.
META_PREFIX = "_hoodie_"


class MadeTable(KeptTable):
    """The table; its commits carry their inputs."""

    def _begin(self, *, exists: bool) -> None:
        progress = self._table.progress().get(checkpoint.SOURCE_KEY) if exists else None
        self._last_instant, self._progress = self._table.last_instant(), progress
        self._go_on(progress)

    @abstractmethod
    def _go_on(self, progress: str | None) -> None:
        """Take the progress from the newest commit, None for a table without."""

    def _rows(self) -> DataFrame | None:
        """Return the table's rows; None before its first commit."""
        return None if self._last_instant is None else self._table.rows()

    def _write(self, rows: DataFrame, progress: str) -> Commit:
        """Upsert rows, with `progress` in the commit. Raises ConcurrentWriterError for another job's commit."""
        self._refuse_others_commits()
        return self._written(rows, {checkpoint.SOURCE_KEY: progress}, operation="upsert")


def as_of(spark: SparkSession, path: str, instant: str) -> DataFrame:
    """Return a table's rows as of a commit, without Hudi's own columns."""
    rows = spark.read.format("hudi").option(_AS_OF, instant).load(path)
    return rows.drop(*(column for column in rows.columns if column.startswith(META_PREFIX)))


def report(commit: Commit, events: int, inputs: int, started: float) -> CommitReport:
    """Return the report of a commit that is computed from other tables."""
    return CommitReport(
        commit=commit.instant,
        files=inputs,
        events=events,
        upserts=commit.inserts + commit.updates,
        deletes=commit.deletes,
        seconds=time.monotonic() - started,
    )
