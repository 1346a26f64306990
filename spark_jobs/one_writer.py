"""Tells before a write whether another one has committed to the table since this job read its progress."""

from spark_jobs import checkpoint
from spark_jobs.claim import Claim
from spark_jobs.errors import ConcurrentWriterError
from spark_jobs.table import HudiTable


class OneWriter:
    """What the table's timeline said last: the newest instant, and the progress in the newest commit that has one."""

    def __init__(self, table: HudiTable, path: str, claim: Claim | None) -> None:
        self._table = table
        self._path = path
        self._claim = claim
        self.last_instant: str | None = None
        self._stored: str | None = None

    def note(self, instant: str | None, stored: str | None) -> None:
        """Take in what the timeline says now, or after a commit of our own."""
        self.last_instant, self._stored = instant, stored

    def check(self) -> None:
        """Raise ConcurrentWriterError when somebody else's progress is there."""
        if self._claim:
            self._claim.check()
        found = self._table.last_instant()
        if found == self.last_instant:
            return
        # A compaction or clustering by another program, or a correction by hand, leaves the progress as it is.
        if self._table.progress().get(checkpoint.SOURCE_KEY) != self._stored:
            raise ConcurrentWriterError(
                f"{self._path}: another writer committed {found} after {self.last_instant}, "
                "which this job knows; run one job per table"
            )
        self.last_instant = found
