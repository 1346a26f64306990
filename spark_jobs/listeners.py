"""What runs beside the ingestion and hears of its batches: the catalogue's sync, the metrics, the files."""

from dataclasses import dataclass
from typing import Protocol

from spark_jobs.glue_sync import GlueSync
from spark_jobs.looked_file import LookedFile
from spark_jobs.metrics import Metrics
from spark_jobs.report import CommitReport
from spark_jobs.table import Commit
from spark_jobs.table_status import TableStatus, write_line


class Kept(Protocol):
    """What of a table's job is told besides its commits."""

    @property
    def last_commit(self) -> Commit | None:
        """The newest commit of this run."""

    @property
    def ignored_truncates(self) -> int | None:
        """1 while rows of an ignored TRUNCATE may be in the table, 0 while not; None where none is ignored."""

    @property
    def horizon_age_seconds(self) -> float | None:
        """How long a transaction has kept a queried source's horizon where it is; None for another source."""


@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Tells each of them, where the settings want it, what the loop has just done."""

    kept: Kept
    glue_sync: GlueSync | None
    metrics: Metrics | None
    status: TableStatus | None = None
    looked_file: LookedFile | None = None

    def committed(self, report: CommitReport) -> None:
        """Pass a commit on, its line to standard output first."""
        write_line(report.line() + (f" table={self.status.table}" if self.status else ""))
        if self.status:
            self.status.works()
        self._tell_look()
        if self.metrics:
            self._tell_states(self.metrics)
            self.metrics.committed(report)
        if self.glue_sync and self.kept.last_commit:
            self.glue_sync.committed(self.kept.last_commit)

    def idle(self) -> None:
        """Pass on that there was nothing new."""
        if self.status:
            self.status.works()
        self._tell_look()
        if self.metrics:
            self._tell_states(self.metrics)
            self.metrics.idle()
        if self.glue_sync:
            self.glue_sync.run_if_due()

    def failed(self) -> None:
        """Pass on that an attempt has failed and is made again."""
        if self.status:
            self.status.fails()
        if self.metrics:
            self.metrics.failed()

    def _tell_look(self) -> None:
        if self.looked_file:
            self.looked_file.write()

    def _tell_states(self, metrics: Metrics) -> None:
        metrics.ignored_truncates(self.kept.ignored_truncates)
        metrics.horizon_age(self.kept.horizon_age_seconds)

    def finish(self) -> None:
        """Let each finish what it has begun."""
        if self.glue_sync:
            self.glue_sync.finish()
