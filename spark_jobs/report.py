"""One line per commit, `key=value` separated by blanks; other programs read it, so its keys never change."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CommitReport:
    """What one commit did.

    `upserts` and `deletes` are rows; `folded` are events without effect because something newer of their key was in the
    batch, in the table or among the remembered deletes; `lag_seconds` is the time from the newest event's change in the
    source to this commit.
    """

    commit: str
    files: int
    events: int
    upserts: int
    deletes: int
    quarantined: int = 0
    folded: int = 0
    seconds: float
    lag_seconds: float | None = None
    missing_offsets: int = 0
    late_files: int = 0

    def line(self) -> str:
        lag = "-" if self.lag_seconds is None else f"{self.lag_seconds:.1f}"
        return (
            f"commit={self.commit} files={self.files} events={self.events} upserts={self.upserts}"
            f" deletes={self.deletes} quarantined={self.quarantined} folded={self.folded}"
            f" seconds={self.seconds:.1f} lag_seconds={lag}"
            f" missing_offsets={self.missing_offsets} late_files={self.late_files}"
        )
