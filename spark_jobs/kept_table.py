"""A table that the job makes of other tables of the lake: its claim, its progress and its commits."""

from collections.abc import Callable

from pyspark.sql import DataFrame

from spark_jobs import checkpoint
from spark_jobs.claim import Claim
from spark_jobs.one_writer import OneWriter
from spark_jobs.table import Commit, HudiTable
from spark_jobs.table_settings import TableSettings

Log = Callable[[str], None]


class KeptTable:
    """The table; `claim` makes this job its only writer."""

    def __init__(self, table: HudiTable, settings: TableSettings, *, claim: Claim | None, log: Log) -> None:
        self._table = table
        self._claim = claim
        self._log = log
        self._writer = OneWriter(table, settings.base_path, claim)
        self.last_commit: Commit | None = None

    def load(self) -> str | None:
        """Return the progress of the newest commit, None for a table without: at the start, and after a failure."""
        if self._claim:
            self._claim.acquire()
        stored = None
        if self._table.recover(self._log):
            stored = self._table.progress().get(checkpoint.SOURCE_KEY)
        self._writer.note(self._table.last_instant(), stored)
        return stored

    def rows(self) -> DataFrame | None:
        """Return the rows that it has; None before its first commit."""
        return None if self._writer.last_instant is None else self._table.rows()

    def write(self, rows: DataFrame, progress: str) -> Commit:
        """Upsert rows, with `progress` in the commit. Raises ConcurrentWriterError for another one's."""
        self._writer.check()
        commit = self._table.write(rows, {checkpoint.SOURCE_KEY: progress}, operation="upsert")
        self._writer.note(commit.newest, progress)
        self.last_commit = commit
        return commit
