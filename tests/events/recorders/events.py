"""Records Debezium's real output for tests/events/: `./lake dev generate events`, on separate platforms.

Each case becomes two files in tests/events/ with a line per event: `<case>.jsonl` holds the values as the sink lands
them, byte by byte, and `<case>.keys.jsonl` the keys.
"""

from collections.abc import Sequence
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


def delete_order(order_id: int) -> tuple[str, ...]:
    """Write the statements that delete an order."""
    return (
        f"DELETE FROM {SCHEMA}.order_details WHERE order_id = {int(order_id)}",
        f"DELETE FROM {SCHEMA}.orders WHERE order_id = {int(order_id)}",
    )


# Each one a transaction on the source, with the operations of the events that it causes (`c`, `u`, `d`).
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "insert": ("c", WALK_THROUGH),
    "update": ("u", (f"UPDATE {SCHEMA}.orders SET shipped_date = '1998-06-15' WHERE order_id = 11077",)),
    "delete": ("d", delete_order(11075)),
    # The triggers deferred to the commit fire after each statement, to show a row's growth.
    "insert_by_statement": ("cuuu", ("SET CONSTRAINTS ALL IMMEDIATE", *WALK_THROUGH)),
    # From here on no old row is logged (default replica identity). 11077 has the most lines; stored uncompressed, its
    # products are out of line.
    "unavailable_value": (
        "uu",
        (
            f"ALTER TABLE {SCHEMA}.{OUTBOX_TABLE} REPLICA IDENTITY FULL, ALTER COLUMN products SET STORAGE EXTERNAL",
            f"UPDATE {SCHEMA}.{OUTBOX_TABLE} SET products = products || '[]' WHERE order_id = 11077",
            f"ALTER TABLE {SCHEMA}.{OUTBOX_TABLE} REPLICA IDENTITY DEFAULT",
            f"UPDATE {SCHEMA}.{OUTBOX_TABLE} SET required_date = '1998-06-04' WHERE order_id = 11077",
        ),
    ),
    "delete_key_only": ("d", delete_order(10250)),
    "new_column": (
        "u",
        (
            f"ALTER TABLE {SCHEMA}.{OUTBOX_TABLE} REPLICA IDENTITY FULL",
            f"ALTER TABLE {SCHEMA}.{OUTBOX_TABLE} ADD COLUMN sales_channel TEXT",
            f"UPDATE {SCHEMA}.{OUTBOX_TABLE} SET sales_channel = 'web' WHERE order_id = 10248",
        ),
    ),
}


def main() -> None:
    with one_line_errors("capture"):
        platform = Platform(PLATFORM, PlatformOptions(job=False))
        platform.remove()
        try:
            platform.up()
            capture_snapshot(platform.topic)
            for name in CASES:
                capture(name, platform)
        finally:
            platform.remove()


def capture_snapshot(topic: Topic) -> None:
    """Write the snapshot's events of a few orders."""
    wanted = [f'{{"order_id":{order}}}'.encode() for order in SNAPSHOT_ORDERS]
    write("snapshot", [event for event in topic.raw_events(0) if event.key in wanted])


def capture(name: str, platform: Platform) -> None:
    """Commit a case, wait for its events and write them. Raises PlatformError if others arrive."""
    expected, statements = CASES[name]
    _, before = platform.topic.bounds()
    # Sent at once, they are one transaction.
    execute(platform.source, "; ".join(statements))
    wait_until(lambda: platform.topic.bounds()[1] >= before + len(expected), f"the events of {name}")
    events = platform.topic.events(before)
    operations = "".join(str((event.value or {}).get(OPERATION)) for event in events)
    if operations != expected:
        raise PlatformError(f"{name}: the events' operations are {operations}, not {expected}")
    write(name, platform.topic.raw_events(before))


def write(name: str, events: Sequence[RawEvent]) -> None:
    """Write a case's values and keys, a line per event."""
    EVENTS.mkdir(parents=True, exist_ok=True)
    (EVENTS / f"{name}.jsonl").write_bytes(b"".join((event.value or b"") + b"\n" for event in events))
    (EVENTS / f"{name}.keys.jsonl").write_bytes(b"".join(event.key + b"\n" for event in events))
    typer.echo(f"{name}: {len(events)} events")
