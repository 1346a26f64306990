"""The demo's result as a file: build/demo/summary.json."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """One step of the demo: the seconds from the commit on the source to the queryable row in the lake."""

    name: str
    seconds_to_lake: float


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Rows on both sides and what differs, quarantined lines, change events in the topic, seconds, steps."""

    source_rows: int
    lake_rows: int
    missing: int
    extra: int
    different: int
    quarantined: int
    events: int
    seconds_total: float
    steps: list[StepResult]

    @property
    def equal(self) -> bool:
        """True when lake and source are equal and nothing was quarantined."""
        return not (self.missing or self.extra or self.different or self.quarantined)

    def write(self, path: Path) -> None:
        """Write the summary as JSON, replacing the last run's."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")
