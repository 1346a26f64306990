"""Runs the demo: start, load, change, watch each change arrive, reconcile, shut down, write the summary."""

import time
from pathlib import Path

from rich.console import Console

from local.demo.arrival import Watch
from local.demo.changes import CHANGES
from local.demo.display import Display, print_comparison
from local.demo.summary import StepResult, Summary
from local.look.quarantine import count_quarantined
from local.look.reconcile import RECONCILE_TIMEOUT_S, reconcile
from local.platform.platform import Platform

FOLDER = Path(__file__).resolve().parents[2] / "build" / "demo"
INITIAL_LOAD_TIMEOUT_S = 180
CHANGE_TIMEOUT_S = 60


def run_demo(console: Console, folder: Path = FOLDER) -> Summary:
    """Run the whole demo on a platform of its own in `folder`, stop the platform again, and return the summary.

    Raises PlatformError and its kin when the platform doesn't start, NotArrivedError when a change gets lost.
    """
    started = time.monotonic()
    display = Display(console)
    platform = Platform(folder / "platform")
    with platform.lock.held(), display.live():
        platform.remove()  # what an earlier demo left, its processes too if it was killed
        try:
            platform.up(display.progress)
            steps = _walk_through(platform, display)
            proof = _prove(platform, display)
        finally:
            platform.down(display.progress)
    summary = Summary(**proof, steps=steps, seconds_total=round(time.monotonic() - started, 1))
    summary.write(folder / "summary.json")
    return summary


def _walk_through(platform: Platform, display: Display) -> list[StepResult]:
    """Wait for the initial load, then make each change and watch it arrive."""
    watch = Watch(parameters=platform.endpoints.source, topic=platform.topic, lake=platform.lake)
    with display.step("initial load") as step:
        rows, seconds = watch.initial_load(timeout_s=INITIAL_LOAD_TIMEOUT_S, on_count=step.note)
        step.note(f"{rows:,} rows in the lake")
    results = [StepResult(name="initial load", seconds_to_lake=round(seconds, 1))]
    for change in CHANGES:
        with display.step(change.name) as step:
            arrival = watch.make(change, timeout_s=CHANGE_TIMEOUT_S)
            step.note(f"in the lake after {arrival.seconds:.1f} s")
        display.change(change, arrival)
        results.append(StepResult(name=change.name, seconds_to_lake=round(arrival.seconds, 1)))
    return results


def _prove(platform: Platform, display: Display) -> dict[str, int]:
    """Reconcile, and count the change events and what the job has put aside."""
    with display.step("reconcile") as step:
        comparison = reconcile(platform.endpoints.source, platform.lake, timeout_s=RECONCILE_TIMEOUT_S)
        step.note("equal" if comparison.equal else "NOT EQUAL")
    print_comparison(display.console, comparison)
    return {
        "source_rows": comparison.source_rows,
        "lake_rows": comparison.lake_rows,
        "missing": len(comparison.missing),
        "extra": len(comparison.extra),
        "different": len(comparison.different),
        "quarantined": count_quarantined(platform.services.s3.client(), platform.services.tables[0].lake_name),
        "events": platform.topic.count(),
    }
