"""Records Debezium's real output for tests/events/: `./lake dev generate events`, on separate platforms.

Each case becomes two files in tests/events/ with a line per event: `<case>.jsonl` holds the values as the sink lands
them, byte by byte, and `<case>.keys.jsonl` the keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from contract.errors import one_line_errors
from contract.events import OPERATION
from contract.source import OUTBOX_TABLE, SCHEMA
from local.errors import PlatformError
from local.look.topic import RawEvent, Topic
from local.platform.platform import Platform
from local.platform.record import PlatformOptions
from tests.conftest import execute
from tests.db.conftest import WALK_THROUGH
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
EVENTS = ROOT / "tests" / "events"
PLATFORM = ROOT / "build" / "capture"
# With all its items, with a few, and unshipped, to show a null.
SNAPSHOT_ORDERS = (10248, 10249, 11077)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One transaction on the source and the operations of the events that it causes (`c`, `u`, `d`)."""

    name: str
    statements: tuple[str, ...]
    operations: str


def delete_order(order_id: int) -> tuple[str, ...]:
    """Write the statements that delete an order."""
    return (
        f"DELETE FROM {SCHEMA}.order_details WHERE order_id = {int(order_id)}",
        f"DELETE FROM {SCHEMA}.orders WHERE order_id = {int(order_id)}",
    )


CASES = (
    Case(name="insert", statements=WALK_THROUGH, operations="c"),
    Case(
        name="update",
        statements=(f"UPDATE {SCHEMA}.orders SET shipped_date = '1998-06-15' WHERE order_id = 11077",),
        operations="u",
    ),
    Case(name="delete", statements=delete_order(11075), operations="d"),
    # The triggers deferred to the commit fire after each statement, to show a row's growth.
    Case(name="insert_by_statement", statements=("SET CONSTRAINTS ALL IMMEDIATE", *WALK_THROUGH), operations="cuuu"),
    # From here on no old row is logged (default replica identity). 11077 has the most lines; stored uncompressed, its
    # products are out of line.
    Case(
        name="unavailable_value",
        statements=(
            f"ALTER TABLE {SCHEMA}.{OUTBOX_TABLE} REPLICA IDENTITY FULL, ALTER COLUMN products SET STORAGE EXTERNAL",
            f"UPDATE {SCHEMA}.{OUTBOX_TABLE} SET products = products || '[]' WHERE order_id = 11077",
            f"ALTER TABLE {SCHEMA}.{OUTBOX_TABLE} REPLICA IDENTITY DEFAULT",
            f"UPDATE {SCHEMA}.{OUTBOX_TABLE} SET required_date = '1998-06-04' WHERE order_id = 11077",
        ),
        operations="uu",
    ),
    Case(name="delete_key_only", statements=delete_order(10250), operations="d"),
    Case(
        name="new_column",
        statements=(
            f"ALTER TABLE {SCHEMA}.{OUTBOX_TABLE} REPLICA IDENTITY FULL",
            f"ALTER TABLE {SCHEMA}.{OUTBOX_TABLE} ADD COLUMN sales_channel TEXT",
            f"UPDATE {SCHEMA}.{OUTBOX_TABLE} SET sales_channel = 'web' WHERE order_id = 10248",
        ),
        operations="u",
    ),
)


def main() -> None:
    with one_line_errors("capture"):
        platform = Platform(PLATFORM, PlatformOptions(job=False))
        platform.remove()
        try:
            platform.up()
            capture_snapshot(platform.topic)
            for case in CASES:
                capture(case, platform)
        finally:
            platform.remove()


def capture_snapshot(topic: Topic) -> None:
    """Write the snapshot's events of a few orders."""
    wanted = [f'{{"order_id":{order}}}'.encode() for order in SNAPSHOT_ORDERS]
    write("snapshot", [event for event in topic.raw_events(0) if event.key in wanted])


def capture(case: Case, platform: Platform) -> None:
    """Commit a case, wait for its events and write them. Raises PlatformError if others arrive."""
    _, before = platform.topic.bounds()
    # Sent at once, they are one transaction.
    execute(platform.source, "; ".join(case.statements))
    wait_until(lambda: platform.topic.bounds()[1] >= before + len(case.operations), f"the events of {case.name}")
    events = platform.topic.events(before)
    operations = "".join(str((event.value or {}).get(OPERATION)) for event in events)
    if operations != case.operations:
        raise PlatformError(f"{case.name}: the events' operations are {operations}, not {case.operations}")
    write(case.name, platform.topic.raw_events(before))


def write(name: str, events: Sequence[RawEvent]) -> None:
    """Write a case's values and keys, a line per event."""
    EVENTS.mkdir(parents=True, exist_ok=True)
    (EVENTS / f"{name}.jsonl").write_bytes(b"".join((event.value or b"") + b"\n" for event in events))
    (EVENTS / f"{name}.keys.jsonl").write_bytes(b"".join(event.key + b"\n" for event in events))
    typer.echo(f"{name}: {len(events)} events")
