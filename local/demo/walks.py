"""The two walk-throughs: orders through outbox, log and Kafka; the rental shop's places and their join with queries."""

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from local.comparison.command import REPORT
from local.comparison.compare import TableComparison
from local.comparison.report import print_comparison, write
from local.demo import order_changes, place_changes
from local.demo.display import Display, print_tables
from local.demo.jdbc_connector import JdbcConnector, print_polled
from local.demo.proof import Proof
from local.demo.walk import WalkThrough, compare
from local.platform.platform import Platform
from local.platform.record import PlatformOptions

PIPELINE = "pagilaquery"
# The class that queries the database.
SOURCE = "JdbcSource"
FIGURES = ("table", "source_rows", "lake_rows", "missing", "extra", "different", "late")


def prove_orders(platform: Platform, display: Display) -> Proof:
    """Reconcile, and count the change events."""
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
        "tables": [figures(one) for one in proof.found],
        "beside": _sent(jdbc, platform, display) if jdbc else None,
    }
    return replace(proof, counted=counted, more=more)


def figures(one: TableComparison) -> dict[str, Any]:
    return {name: getattr(one, name) for name in (*FIGURES, "equal")}


def _sent(jdbc: JdbcConnector, platform: Platform, display: Display) -> dict[str, Any]:
    with display.step("what the JDBC connector has sent") as step:
        found = jdbc.sent(platform)
        step.note(f"{sum(one.records for one in found):,} records")
    print_polled(display.console, jdbc.called, found)
    return {"connector": jdbc.called, "topics": [asdict(one) for one in found]}


ORDERS_DEMO = WalkThrough(name="demo", options=PlatformOptions(), changes=order_changes.CHANGES, prove=prove_orders)
PLACES_DEMO = WalkThrough(
    name="demo-query",
    options=PlatformOptions(pipeline=PIPELINE),
    changes=place_changes.CHANGES,
    prove=prove_places,
)


def places_demo(*, dump: Path | None = None, release: Path | None = None) -> WalkThrough:
    """Return the walk-through on a dump's rows or generated ones; with a JDBC connector alongside, if given."""
    walk = replace(PLACES_DEMO, options=replace(PLACES_DEMO.options, dump=dump))
    if release is None:
        return walk
    jdbc = JdbcConnector(release)
    return replace(walk, also=jdbc.start, prove=partial(prove_places, jdbc=jdbc))
