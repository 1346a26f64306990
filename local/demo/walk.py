"""Runs a walk-through: start, load, change, watch each change arrive, reconcile, shut down, write the summary."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from local.comparison.reconcile import compare_platform
from local.demo.change import Change
from local.demo.display import Display
from local.demo.proof import Proof, Summary
from local.demo.watch import Watch
from local.files import BUILD
from local.look.quarantine import count_quarantined
from local.platform.platform import Platform
from local.platform.record import PlatformOptions
from local.platform.startup import Step, StepState

INITIAL_LOAD_TIMEOUT_S = 180
CHANGE_TIMEOUT_S = 60
# The step after which the source has its rows.
LOAD = "load"


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
        """Its default folder."""
        return BUILD / self.name


def run(walk: WalkThrough, console: Console, folder: Path) -> Summary:
    """Run all of it on a platform of its own in `folder`, stop the platform again, and return the summary.

    Raises PlatformError and its subclasses when the platform doesn't start, NotArrivedError when a change gets lost.
    """
    started = time.monotonic()
    display = Display(console)
    platform = Platform(folder / "platform", walk.options)
    with platform.lock.held(), display.live():
        platform.remove()  # remains of an earlier run, including its processes if it was killed
        try:
            loaded = _start(platform, display)
            walk.also(platform, display)
            steps = _walk_through(walk, Watch(platform, loaded), display)
            proof = walk.prove(platform, display)
        finally:
            platform.down(display.progress)
    summary = Summary(proof=proof, steps=steps, seconds_total=round(time.monotonic() - started, 1))
    summary.write(folder / "summary.json")
    return summary


def _start(platform: Platform, display: Display) -> float:
    """Start the platform; return when its source had its rows."""
    loaded = time.monotonic()

    def progress(step: Step) -> None:
        nonlocal loaded
        if (step.name, step.state) == (LOAD, StepState.DONE):
            loaded = time.monotonic()
        display.progress(step)

    platform.up(progress)
    return loaded


def _walk_through(walk: WalkThrough, watch: Watch, display: Display) -> dict[str, float]:
    """Wait for the initial load, then make each change and watch it arrive."""
    with display.step("initial load") as step:
        rows, seconds = watch.initial_load(timeout_s=INITIAL_LOAD_TIMEOUT_S, on_count=step.note)
        step.note(f"{rows:,} rows in the lake")
    steps = {"initial load": round(seconds, 1)}
    for change in walk.changes:
        with display.step(change.name) as step:
            arrival = watch.make(change, timeout_s=CHANGE_TIMEOUT_S)
            step.note(f"in the lake after {arrival.seconds:.1f} s")
        display.arrival(arrival)
        steps[change.name] = round(arrival.seconds, 1)
    return steps


def compare(platform: Platform, display: Display) -> Proof:
    """Compare all tables, as a step; also count the quarantined events."""
    with display.step("reconcile") as step:
        found = compare_platform(platform)
        step.note("equal" if all(one.equal for one in found) else "NOT EQUAL")
    client, tables = platform.services.s3.client(), platform.services.tables
    return Proof(found=found, quarantined=sum(count_quarantined(client, table.lake_name) for table in tables))
