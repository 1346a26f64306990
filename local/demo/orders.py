"""The walk-through of `make demo`: orders with their lines, by the outbox, the log and Kafka."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from contract.source import OUTBOX_TABLE, SCHEMA
from local.demo.arrival import POLL_S, NotArrivedError, Seen, Watch
from local.demo.change import Reached
from local.demo.display import Display, print_comparison
from local.demo.order_changes import CHANGES
from local.demo.summary import Proof
from local.demo.walk import WalkThrough
from local.look.canonical import EPOCH, MICROSECOND
from local.look.quarantine import count_quarantined
from local.look.reconcile import KEY, RECONCILE_TIMEOUT_S, compare, read_lake, read_source, reconcile
from local.platform.platform import Platform
from local.platform.services import PlatformOptions


@dataclass(frozen=True, kw_only=True)
class OrdersProof(Proof):
    """What is counted of the orders in the end; `events` are the topic's."""

    events: int

    @property
    def counted(self) -> str:
        """The change events."""
        return f"{self.events:,} events"


class OrdersWatch(Watch):
    """The three places where a change of orders is looked at: the source database, the topic and the lake's table."""

    def __init__(self, platform: Platform) -> None:
        self.parameters = platform.endpoints.source
        self._topic = platform.topic
        self._lake = platform.lake
        self._before = 0

    def initial_load(self, *, timeout_s: float, on_count: Callable[[str], None]) -> tuple[int, float]:
        """Wait until the lake has every row of the outbox; return the rows and the seconds since they were made."""
        source = read_source(self.parameters)
        loaded = EPOCH + max(int(row["updated_at"] or 0) for row in source.rows.values()) * MICROSECOND
        deadline = time.monotonic() + timeout_s
        while True:
            rows = self._lake.rows([KEY]).num_rows if self._lake.exists() else 0
            on_count(f"{rows:,} of {len(source.rows):,} rows in the lake")
            if rows == len(source.rows) and compare(source, read_lake(self._lake, source.types)).equal:
                _, self._before = self._topic.bounds()
                return rows, (datetime.now(UTC) - loaded).total_seconds()
            if time.monotonic() > deadline:
                raise NotArrivedError(f"initial load: {rows} of {len(source.rows)} rows after {timeout_s:.0f} s")
            time.sleep(POLL_S)

    def arrives(self, reached: Reached, keys: list[int]) -> Callable[[], bool]:  # noqa: ARG002  (all are orders)
        """Return the question whether the lake's rows of these orders equal the outbox's."""
        texts = [str(key) for key in keys]
        source = read_source(self.parameters, texts)
        return lambda: compare(source, read_lake(self._lake, source.types, texts)).equal

    def seen(self, reached: Reached, keys: list[int]) -> Seen:
        """Return what the outbox, the topic since the change before, and the lake have of these orders."""
        events = [event for event in self._topic.events(self._before) if event.key.get("order_id") in keys]
        _, self._before = self._topic.bounds()
        row = next((row for row in self._lake.rows().to_pylist() if row["order_id"] == keys[0]), None)
        query = f"SELECT * FROM {SCHEMA}.{OUTBOX_TABLE} WHERE order_id = %s"
        return Seen(reached=reached, keys=keys, source=self.source_row(query, keys[0]), lake=row, events=events)


def prove(platform: Platform, display: Display) -> OrdersProof:
    """Reconcile, and count the change events and what the job has put aside."""
    with display.step("reconcile") as step:
        comparison = reconcile(platform.endpoints.source, platform.lake, timeout_s=RECONCILE_TIMEOUT_S)
        step.note("equal" if comparison.equal else "NOT EQUAL")
    print_comparison(display.console, comparison)
    return OrdersProof(
        source_rows=comparison.source_rows,
        lake_rows=comparison.lake_rows,
        missing=len(comparison.missing),
        extra=len(comparison.extra),
        different=len(comparison.different),
        quarantined=count_quarantined(platform.services.s3.client(), platform.services.tables[0].lake_name),
        events=platform.topic.count(),
    )


ORDERS_DEMO = WalkThrough(
    name="demo",
    options=PlatformOptions(),
    changes=CHANGES,
    watch=lambda platform, _loaded: OrdersWatch(platform),
    prove=prove,
)
