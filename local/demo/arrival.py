"""Makes a change on the source and waits until the lake shows it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg2
import psycopg2.extras

from contract.source import OUTBOX_TABLE, SCHEMA
from local.demo.changes import Change
from local.errors import PlatformError
from local.look.canonical import EPOCH, MICROSECOND
from local.look.lake import Lake
from local.look.reconcile import KEY, compare, read_lake, read_source
from local.look.topic import Event, Topic

# A look takes 0.1 s of CPU on its own and at the S3 endpoint, which the job could use.
POLL_S = 0.3


class NotArrivedError(PlatformError):
    """A change did not show in the lake in time; the message names the orders and the time."""


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A change that has arrived: its first order as source, topic and lake have it, and the seconds it took."""

    orders: list[int]
    source: Mapping[str, Any] | None
    events: list[Event]
    lake: Mapping[str, Any] | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Watch:
    """The three places where a change is looked at: the source database, the topic and the lake's table."""

    parameters: Mapping[str, Any]
    topic: Topic
    lake: Lake

    def initial_load(self, *, timeout_s: float, on_count: Callable[[str], None]) -> tuple[int, float]:
        """Wait until the lake has every row of the source; return the rows and the seconds since the rows were made.

        Raises NotArrivedError after `timeout_s`.
        """
        source = read_source(self.parameters)
        loaded = EPOCH + max(int(row["updated_at"] or 0) for row in source.rows.values()) * MICROSECOND
        deadline = time.monotonic() + timeout_s
        while True:
            rows = self.lake.rows([KEY]).num_rows if self.lake.exists() else 0
            on_count(f"{rows:,} of {len(source.rows):,} rows in the lake")
            if rows == len(source.rows) and compare(source, read_lake(self.lake, source.types)).equal:
                return rows, (datetime.now(UTC) - loaded).total_seconds()
            if time.monotonic() > deadline:
                raise NotArrivedError(f"initial load: {rows} of {len(source.rows)} rows after {timeout_s:.0f} s")
            time.sleep(POLL_S)

    def make(self, change: Change, *, timeout_s: float) -> Arrival:
        """Commit the change, wait until the lake's rows equal the source's, and return what each place shows.

        Raises NotArrivedError after `timeout_s`, psycopg2.Error when the source refuses the change.
        """
        _, before = self.topic.bounds()
        orders = self._commit(change)
        seconds = self._wait(change.name, orders, timeout_s)
        return Arrival(
            orders=orders,
            source=self._source_row(orders[0]),
            events=[event for event in self.topic.events(before) if event.key.get("order_id") in orders],
            lake=self._lake_row(orders[0]),
            seconds=seconds,
        )

    def _wait(self, name: str, orders: list[int], timeout_s: float) -> float:
        """Wait until the lake's rows of these orders equal the source's; return the seconds since the commit."""
        committed = time.monotonic()
        keys = [str(order) for order in orders]
        source = read_source(self.parameters, keys)
        while True:
            rows = read_lake(self.lake, source.types, keys)
            seconds = time.monotonic() - committed
            if compare(source, rows).equal:
                return seconds
            if seconds > timeout_s:
                raise NotArrivedError(f"{name}: orders {', '.join(keys)} not in the lake after {timeout_s:.0f} s")
            time.sleep(POLL_S)

    def _commit(self, change: Change) -> list[int]:
        connection = psycopg2.connect(**self.parameters)
        try:
            with connection, connection.cursor() as cursor:
                for statement in change.statements:
                    cursor.execute(statement)
                    if cursor.rowcount == 0:
                        raise NotArrivedError(f"{change.name}: the source has no such row: {statement}")
                cursor.execute(change.orders)
                return [order for (order,) in cursor.fetchall()]
        finally:
            connection.close()

    def _source_row(self, order: int) -> Mapping[str, Any] | None:
        connection = psycopg2.connect(**self.parameters)
        try:
            with connection, connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
                cursor.execute(f"SELECT * FROM {SCHEMA}.{OUTBOX_TABLE} WHERE order_id = %s", (order,))
                row: Mapping[str, Any] | None = cursor.fetchone()
                return row
        finally:
            connection.close()

    def _lake_row(self, order: int) -> Mapping[str, Any] | None:
        rows: list[dict[str, Any]] = self.lake.rows().to_pylist()
        return next((row for row in rows if row["order_id"] == order), None)
