"""Runs a walk-through: start, load, change, watch each change arrive, reconcile, shut down, write the summary."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from local.comparison.command import REPORT, print_comparison, write
from local.comparison.compare import TableComparison
from local.comparison.reconcile import compare_platform
from local.demo.display import Display, print_counts, print_tables
from local.demo.jdbc_connector import JdbcConnector
from local.demo.watch import ORDER_CHANGES, PLACE_CHANGES, Change, Watch
from local.errors import PlatformError
from local.files import BUILD
from local.look.json_lines import count_quarantined
from local.platform.platform import Platform
from local.platform.record import PlatformOptions
from local.platform.startup import Step, StepState

# Marks a folder as a demo's.
MARK = ".demo"
COUNTED = ("source_rows", "lake_rows", "missing", "extra")
INITIAL_LOAD_TIMEOUT_S = 180
CHANGE_TIMEOUT_S = 60
# The step after which the source has its rows.
LOAD = "load"
PIPELINE = "pagilaquery"
# The class that queries the database.
SOURCE = "JdbcSource"
FIGURES = ("table", "source_rows", "lake_rows", "missing", "extra", "different", "late", "equal")


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
class WalkThrough:
    """A walk-through: a platform, its changes, and the final proof.

    `name` names the command and its folder. `also` starts something alongside the platform, which also stops it.
    """

    name: str
    options: PlatformOptions
    changes: Sequence[Change]
    prove: Callable[[Platform, Display], Proof]
    also: Callable[[Platform, Display], None] = lambda _platform, _display: None

    @property
    def folder(self) -> Path:
        return BUILD / self.name


def run(walk: WalkThrough, console: Console, folder: Path) -> tuple[Proof, float]:
    """Run all of it on a platform of its own in `folder`, stop that, and return the proof and the seconds it took.

    summary.json in `folder` says the same, and each step's seconds from the source commit to the lake's queryable row.

    Raises PlatformError and its subclasses when the platform doesn't start or the folder isn't a demo's,
    NotArrivedError when a change gets lost.
    """
    started = time.monotonic()
    display = Display(console)
    mark = folder / MARK
    # A demo begins with deleting the last one's platform.
    if folder.resolve() != walk.folder and any(folder.glob("*")) and not mark.exists():
        raise PlatformError(f"{folder} has other files than a demo's: give a new or empty folder")
    platform = Platform(folder / "platform", walk.options)
    summary_file = folder / "summary.json"
    with platform.lock.held(), display.live():
        mark.touch()
        summary_file.unlink(missing_ok=True)  # it would say how an earlier run went
        platform.remove()  # remains of an earlier run, including its processes if it was killed
        try:
            loaded = _start(platform, display)
            walk.also(platform, display)
            steps = _walk_through(walk, Watch(platform, loaded), display)
            proof = walk.prove(platform, display)
        finally:
            platform.down(display.progress)
    seconds = round(time.monotonic() - started, 1)
    summary = {**proof.counts, **proof.more, "seconds_total": seconds, "steps": steps}
    summary_file.write_text(json.dumps(summary, indent=2) + "\n")
    return proof, seconds


def _start(platform: Platform, display: Display) -> float:
    """Start the platform; return when its source had its rows."""
    loaded = time.monotonic()

    def progress(step: Step) -> None:
        nonlocal loaded
        if (step.name, step.state) == (LOAD, StepState.DONE):
            loaded = time.monotonic()
        display.progress(step)

    platform.up(progress, stays=False)
    return loaded


def _walk_through(walk: WalkThrough, watch: Watch, display: Display) -> list[dict[str, str | float]]:
    with display.step("initial load") as note:
        rows, seconds = watch.initial_load(timeout_s=INITIAL_LOAD_TIMEOUT_S)
        note(f"{rows:,} rows in the lake")
    steps: list[dict[str, str | float]] = [{"name": "initial load", "seconds_to_lake": round(seconds, 1)}]
    for change in walk.changes:
        with display.step(change.name) as note:
            arrived, seconds = watch.make(change, timeout_s=CHANGE_TIMEOUT_S)
            note(f"in the lake after {seconds:.1f} s")
        display.arrived(arrived)
        steps.append({"name": change.name, "seconds_to_lake": round(seconds, 1)})
    return steps


def compare(platform: Platform, display: Display) -> Proof:
    """Compare all tables, as a step; also count the quarantined events."""
    with display.step("reconcile") as note:
        found = compare_platform(platform)
        note("equal" if all(one.equal for one in found) else "NOT EQUAL")
    client, tables = platform.services.s3.client(), platform.services.tables
    return Proof(found=found, quarantined=sum(count_quarantined(client, table.lake_name) for table in tables))


def prove_orders(platform: Platform, display: Display) -> Proof:
    proof = compare(platform, display)
    for one in proof.found:
        print_comparison(display.console, one)
    events = platform.topic.count()
    return replace(proof, counted=f"{events:,} events", more={"events": events})


def prove_places(platform: Platform, display: Display, *, jdbc: JdbcConnector | None = None) -> Proof:
    """Reconcile all tables, and check what a JDBC connector has sent, where one runs."""
    proof = compare(platform, display)
    write(platform.state_dir / REPORT, platform.services.pipeline.name, proof.found)
    print_tables(display.console, proof.found)
    counted = f"{proof.counts['source_rows']:,} rows of {len(proof.found)} tables by {SOURCE}"
    more = {
        "captured_by": SOURCE,
        "tables": [{name: getattr(one, name) for name in FIGURES} for one in proof.found],
        "beside": _sent(jdbc, platform, display) if jdbc else None,
    }
    return replace(proof, counted=counted, more=more)


def _sent(jdbc: JdbcConnector, platform: Platform, display: Display) -> dict[str, Any]:
    with display.step("what the JDBC connector has sent") as note:
        found = jdbc.sent(platform)
        note(f"{sum(one.records for one in found):,} records")
    columns = ("topic", "records", "missing", "stale", "too many")
    rows = ((one.topic, one.records, one.missing, one.stale, one.extra) for one in found)
    print_counts(display.console, f"alongside: {jdbc.called}", columns, rows)
    return {"connector": jdbc.called, "topics": [asdict(one) for one in found]}


ORDERS_DEMO = WalkThrough(name="demo", options=PlatformOptions(), changes=ORDER_CHANGES, prove=prove_orders)


def places_demo(*, dump: Path | None = None, release: Path | None = None) -> WalkThrough:
    """Return the walk-through on a dump's rows or generated ones; with a JDBC connector alongside, if given."""
    options = PlatformOptions(pipeline=PIPELINE, dump=dump)
    walk = WalkThrough(name="demo-query", options=options, changes=PLACE_CHANGES, prove=prove_places)
    if release is None:
        return walk
    jdbc = JdbcConnector(release)
    return replace(walk, also=jdbc.start, prove=partial(prove_places, jdbc=jdbc))
