"""The walk-through of `make demo-query`: the rental shop's places, by queries alone, and the join of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from local.comparison.command import REPORT
from local.comparison.compare import TableComparison
from local.comparison.report import write
from local.demo.beside import Beside, print_polled
from local.demo.display import Display, print_tables
from local.demo.place_changes import CHANGES
from local.demo.summary import Proof, count
from local.demo.walk import WalkThrough, compare
from local.platform.platform import Platform
from local.platform.services import PlatformOptions

PIPELINE = "pagilaquery"
# What asks the database.
SOURCE = "JdbcSource"


@dataclass(frozen=True, kw_only=True)
class PlacesProof(Proof):
    """What is counted of all tables together, and each table's figures. `captured_by`: what has asked the database.

    `beside`: which JDBC connector has polled it, too, and what it has sent; None where none was given.
    """

    captured_by: str
    tables: tuple[Mapping[str, Any], ...]
    beside: Mapping[str, Any] | None = None

    @property
    def equal(self) -> bool:
        """True when each table was compared and is equal, and nothing was quarantined."""
        return super().equal and all(table["equal"] for table in self.tables)

    @property
    def counted(self) -> str:
        """The rows, and what has asked for them."""
        return f"{self.source_rows:,} rows of {len(self.tables)} tables by {self.captured_by}"


def prove(platform: Platform, display: Display) -> PlacesProof:
    """Reconcile all tables, and count what the job has put aside."""
    found, quarantined = compare(platform, display)
    write(platform.state_dir / REPORT, platform.services.pipeline.name, found)
    print_tables(display.console, found)
    tables = tuple(_figures(one) for one in found)
    return PlacesProof(**count(found), quarantined=quarantined, captured_by=SOURCE, tables=tables)


def _figures(one: TableComparison) -> dict[str, Any]:
    kept = ("table", "source_rows", "lake_rows", "missing", "extra", "different", "late")
    return {name: value for name, value in asdict(one).items() if name in kept} | {"equal": one.equal}


def prove_beside(beside: Beside, platform: Platform, display: Display) -> PlacesProof:
    """Do what `prove` does, and look at what a JDBC connector has sent."""
    proof = prove(platform, display)
    with display.step("what the JDBC connector has sent") as step:
        found = beside.sent(platform)
        step.note(f"{sum(one.records for one in found):,} records")
    print_polled(display.console, beside.called, found)
    return replace(proof, beside={"connector": beside.called, "topics": [asdict(one) for one in found]})


PLACES_DEMO = WalkThrough(
    name="demo-query",
    options=PlatformOptions(pipeline=PIPELINE),
    changes=CHANGES,
    prove=prove,
)


def places_demo(*, dump: Path | None = None, release: Path | None = None) -> WalkThrough:
    """Return the walk-through on a dump's rows, or generated ones; beside it, if given, a JDBC connector."""
    walk = replace(PLACES_DEMO, options=replace(PLACES_DEMO.options, dump=dump))
    if release is None:
        return walk
    beside = Beside(release)
    return replace(walk, also=beside.start, prove=partial(prove_beside, beside))
