"""Changes of the walk-throughs: makes each on the source, a transaction, and waits until the lake shows its rows."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg2
import psycopg2.extras

from local.comparison.compare import same_rows
from local.comparison.describe import describe
from local.comparison.platform_sides import platform_sides
from local.comparison.reconcile import compare_platform
from local.comparison.run import read_catalogue
from local.errors import PlatformError
from local.look.topic import Event
from local.platform.platform import Platform
from local.platform.services import LocalTable
from settings.pipeline import CapturedTableSettings

Row = Mapping[str, Any]
# A check takes 0.1 s of CPU here and at the S3 endpoint, which the job could use.
POLL_S = 0.3


@dataclass(frozen=True, kw_only=True)
class AffectedRows:
    """Rows of one lake table that a change affects.

    `what`: a name for one of them, or with several tables the table's name. `keys`: a query for their keys that runs in
    the same transaction, after the statements. `shows`: columns, or paths into JSON columns.
    """

    what: str
    keys: str
    shows: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One transaction on the source: its statements, and the rows that it affects."""

    name: str
    statements: tuple[str, ...]
    reaches: tuple[AffectedRows, ...]


def show(row: Mapping[str, Any] | None, *shown: str) -> str:
    """Format a row's columns that a change shows, by name; an order's items as `quantity x #product`."""
    return "no row" if row is None else ", ".join(_show(row, what) for what in shown)


def _show(row: Mapping[str, Any], what: str) -> str:
    column, *path = what.split(".")
    value = row.get(column)
    if isinstance(value, str) and (path or column == "order_items"):
        value = json.loads(value)
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if column == "order_items":
        items = ", ".join(f"{item['quantity']} x #{item['product_id']}" for item in value or [])
        return f"items: {items or 'none'}"
    return f"{path[-1] if path else column}: {value}"


def _changes(file: str) -> tuple[Change, ...]:
    """Read the changes of a walk-through; orders.sql says what its comments mean."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    return tuple(map(_change, text.split("-- change: ")[1:]))


def _change(text: str) -> Change:
    made, *rows = text.split("\n-- ")
    name, _, statements = made.partition("\n")
    reaches = []
    for shown, _, keys in (row.partition("\n") for row in rows):
        what, _, columns = shown.partition(": ")
        shows = tuple(columns.split(", "))
        reaches.append(AffectedRows(what=what, keys=keys.strip().removesuffix(";"), shows=shows))
    each = tuple(" ".join(statement.split()) for statement in statements.split(";")[:-1])
    return Change(name=name, statements=each, reaches=tuple(reaches))


ORDER_CHANGES, PLACE_CHANGES = _changes("orders.sql"), _changes("places.sql")


class NotArrivedError(PlatformError):
    """A change didn't reach the lake in time; the message names the rows and the time."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Arrived rows: their keys, and the first one as the source, the topic (if any) and the lake have it."""

    reached: AffectedRows
    keys: list[int]
    source: Row | None
    lake: Row | None
    events: Sequence[Event] = ()


class Watch:
    """The places where a change is observed: the source database, the topic (if any), and the lake."""

    def __init__(self, platform: Platform, loaded: float) -> None:
        """`loaded`: the time.monotonic() at which the source had its rows."""
        self.parameters = platform.source
        self._platform = platform
        self._loaded = loaded
        self._topic = None if platform.services.pipeline.is_queried else platform.topic
        self._before = 0

    def initial_load(self, *, timeout_s: float) -> tuple[int, float]:
        """Wait until each table in the lake equals the source; return the rows and the seconds since the load.

        Derived tables must exist, too: they are no part of the first change. Raises NotArrivedError.
        """
        deadline = time.monotonic() + timeout_s
        compared = compare_platform(self._platform, timeout_s=timeout_s)
        seconds = time.monotonic() - self._loaded
        if different := [one.table for one in compared if not one.equal]:
            raise NotArrivedError(f"initial load: {', '.join(different)} isn't in the lake as it is in the source")
        while absent := [table.lake_name for table in self._platform.services.derived if not table.lake.exists()]:
            _pause(f"initial load: no {', '.join(absent)}", deadline, timeout_s)
        self._before = self._topic.bounds()[1] if self._topic else 0
        return sum(one.lake_rows for one in compared), seconds

    def arrives(self, reached: AffectedRows, keys: list[int]) -> Callable[[], bool]:
        """Return a check whether the lake has these rows, in all their columns, or no longer has them."""
        [wanted] = platform_sides(self._platform, [self._table(reached).entry.name]).tables
        table = describe(wanted, read_catalogue(self.parameters, [wanted]))
        return partial(same_rows, self.parameters, table, [str(key) for key in keys])

    def seen(self, reached: AffectedRows, keys: list[int]) -> Seen:
        """Return these rows from the source, from the topic since the previous change, and from the lake."""
        table, events = self._table(reached), []
        [name] = table.entry.key
        if self._topic:
            events = [event for event in self._topic.events(self._before) if event.key.get(name) in keys]
            self._before = self._topic.bounds()[1]
        rows = table.lake.rows().to_pylist()
        with source_cursor(self.parameters) as cursor:
            cursor.execute(f"SELECT * FROM {rows_of(table.entry)} WHERE {name} = %s", (keys[0],))
            found = cursor.fetchone()
        source: Row | None = None if found is None else dict(found)
        lake = next((row for row in rows if row[name] == keys[0]), None)
        return Seen(reached=reached, keys=keys, source=source, lake=lake, events=events)

    def _table(self, reached: AffectedRows) -> LocalTable:
        services = self._platform.services
        # The orders' pipeline has one table, whose rows its demo calls orders.
        [table] = services.tables if len(services.tables) == 1 else services.chosen([reached.what])
        return table

    def make(self, change: Change, *, timeout_s: float) -> tuple[list[Seen], float]:
        """Commit the change, wait until the lake has it; return it as each place shows it, and the seconds it took.

        Raises NotArrivedError after `timeout_s`, psycopg2.Error when the source rejects the change.
        """
        reached = list(zip(change.reaches, self._commit(change), strict=True))
        committed = time.monotonic()
        awaited = {f"{one.what} {', '.join(map(str, keys))}": self.arrives(one, keys) for one, keys in reached}
        while awaited := {what: arrived for what, arrived in awaited.items() if not arrived()}:
            _pause(f"{change.name}: {'; '.join(awaited)} not in the lake", committed + timeout_s, timeout_s)
        seconds = time.monotonic() - committed
        return [self.seen(one, keys) for one, keys in reached], seconds

    def _commit(self, change: Change) -> list[list[int]]:
        with source_cursor(self.parameters) as cursor:
            for statement in change.statements:
                cursor.execute(statement)
                if cursor.rowcount == 0:
                    raise NotArrivedError(f"{change.name}: the source has no such row: {statement}")
            keys = []
            for reached in change.reaches:
                cursor.execute(reached.keys)
                keys.append([key for (key,) in cursor.fetchall()])
            return keys


@contextlib.contextmanager
def source_cursor(parameters: Mapping[str, Any]) -> Iterator[Any]:
    """Open a transaction on the source; rows can be read by column name, too."""
    connection = psycopg2.connect(**parameters, cursor_factory=psycopg2.extras.DictCursor)
    with contextlib.closing(connection), connection, connection.cursor() as cursor:
        yield cursor


def _pause(what: str, deadline: float, timeout_s: float) -> None:
    """Pause before the next check. Raises NotArrivedError when the time is over."""
    if time.monotonic() > deadline:
        raise NotArrivedError(f"{what} after {timeout_s:.0f} s")
    time.sleep(POLL_S)


def rows_of(entry: CapturedTableSettings) -> str:
    """Write the FROM item of the source's rows: the pipeline is ours, so its names need no quotes."""
    return f"({entry.query}) AS rows" if entry.query is not None else f"{entry.schema_name}.{entry.table_name}"
