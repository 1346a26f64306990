"""A walk-through's result as a file: build/demo/summary.json."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from local.comparison.compare import TableComparison


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """One step: the seconds from the commit on the source to the queryable row in the lake."""

    name: str
    seconds_to_lake: float


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What is counted in the end: rows on both sides and what differs, and lines in quarantine."""

    source_rows: int
    lake_rows: int
    missing: int
    extra: int
    different: int
    quarantined: int

    @property
    def equal(self) -> bool:
        """True when lake and source are equal and nothing was quarantined."""
        return not (self.missing or self.extra or self.different or self.quarantined)

    @property
    def counted(self) -> str:
        """How much it was, in a few words."""
        return f"{self.source_rows:,} rows"


def count(found: Sequence[TableComparison]) -> dict[str, Any]:
    """Add up what comparisons have counted."""
    names = ("source_rows", "lake_rows", "missing", "extra")
    counts = {name: sum(getattr(one, name) for one in found) for name in names}
    return counts | {"different": sum(one.different + one.late for one in found)}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The steps and their seconds, all seconds, and what was counted in the end."""

    proof: Proof
    seconds_total: float
    steps: Sequence[StepResult]

    def write(self, path: Path) -> None:
        """Write the summary as JSON, replacing the last run's."""
        path.parent.mkdir(parents=True, exist_ok=True)
        steps = [asdict(step) for step in self.steps]
        entries = {**asdict(self.proof), "seconds_total": self.seconds_total, "steps": steps}
        path.write_text(json.dumps(entries, indent=2) + "\n")
