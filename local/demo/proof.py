"""The final proof of a walk-through, and its summary file: build/demo/summary.json."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local.comparison.compare import TableComparison

COUNTED = ("source_rows", "lake_rows", "missing", "extra")


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Result of the final comparison, and the number of quarantined events.

    `counted`: the amount, in a few words. `more`: other content of the summary.
    """

    found: Sequence[TableComparison]
    quarantined: int = 0
    counted: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """True when all tables were compared and are equal, and nothing was quarantined."""
        return not self.quarantined and all(one.equal for one in self.found)

    @property
    def counts(self) -> dict[str, int]:
        """Rows on both sides and differences, over all tables."""
        counts = {name: sum(getattr(one, name) for one in self.found) for name in COUNTED}
        different = sum(one.different + one.late for one in self.found)
        return counts | {"different": different, "quarantined": self.quarantined}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The proof, the total seconds, and each step's from the source commit to the queryable row in the lake."""

    proof: Proof
    seconds_total: float
    steps: Mapping[str, float]

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        steps = [{"name": name, "seconds_to_lake": seconds} for name, seconds in self.steps.items()]
        entries = {**self.proof.counts, **self.proof.more, "seconds_total": self.seconds_total, "steps": steps}
        path.write_text(json.dumps(entries, indent=2) + "\n")
