"""A table's last changes, each with its row's previous values: of captured tables from their topics' events."""

import contextlib
import json
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from confluent_kafka import KafkaException

from contract.events import (
    CREATE,
    DELETE,
    DELETED,
    IS_DELETED,
    OPERATION,
    PREFIX,
    READ,
    SETTLED,
    SOURCE_TIME_MS,
    TRUNCATE,
    UPDATE,
)
from local.console import cut
from local.look.topic import RawEvent, Topic

SHOWN = 20
# Values and keys are cut after this many characters, and a change after this many columns: a table may have 1,600.
VALUE_CHARACTERS = 80
# Shown of what two long values have in common, before the part that differs.
CONTEXT_CHARACTERS = 20
KEY_CHARACTERS = 200
COLUMNS = 40
# Events read at first, to know rows' previous values, and rows whose last event is remembered.
FIRST_EVENTS, ROWS = 1_000, 5_000
# Debezium's type for days since 1970 (`connect.name`).
DATE = "io.debezium.time.Date"
EPOCH_DAY, MOST_DAYS = date(1970, 1, 1), 700_000
WORDS = {CREATE: "inserted", UPDATE: "updated", DELETE: "deleted", TRUNCATE: "emptied"}

# A row's values as text; None for NULL.
Row = Mapping[str, str | None]
# Each changed column's name, and its value before and after.
Columns = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change: its row's key, and each changed column's value before and after, or a note in their place.

    `at`: when it was made at the source, in seconds since 1970.
    """

    table: str
    what: str
    key: str
    at: float | None
    columns: Columns


def change(
    table: str, operation: str, key: Mapping[str, Any], at: float | None, before: Row | None, after: Row | None
) -> Change:
    """Return the change of a row; `before` and `after` are None where it doesn't exist or isn't known."""
    columns = differing(before, after)
    more = ((f"and {len(columns) - COLUMNS:,} more", "", ""),) if len(columns) > COLUMNS else ()
    unseen = () if before is not None or operation in (CREATE, TRUNCATE) else (("", "not seen", ""),)
    return Change(
        table=table,
        what=WORDS.get(operation, operation),
        key=cut(", ".join(f"{name} = {value}" for name, value in key.items()), KEY_CHARACTERS),
        at=at,
        columns=(*unseen, *columns[:COLUMNS], *more) or (("", "", "" if operation == TRUNCATE else "the same"),),
    )


def text(value: Any) -> str | None:
    """Write a value as text: one that isn't text yet as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def differing(before: Row | None, after: Row | None) -> Columns:
    """Return the columns whose values differ, with both values; empty text where a side has no row."""
    return tuple(
        (name, *_parts(_shown(before, name), _shown(after, name)))
        for name in (after or before or {})
        if before is None or after is None or before.get(name) != after.get(name)
    )


def _shown(row: Row | None, name: str) -> str:
    value = "" if row is None else row.get(name)
    return "NULL" if value is None else value


def _parts(before: str, after: str) -> tuple[str, str]:
    """Return of two values the parts that differ, with a little of what is before, as far as they are long."""
    pairs = enumerate(zip(before, after, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))
    begin = max(same - CONTEXT_CHARACTERS, 0) if max(len(before), len(after)) > VALUE_CHARACTERS else 0
    first, second = ((f"…{value[begin:]}" if begin and value else value) for value in (before, after))
    return cut(first, VALUE_CHARACTERS), cut(second, VALUE_CHARACTERS)


class TopicChanges:
    """Follows one table's topic."""

    def __init__(self, table: str, topic: Topic, schema: str) -> None:
        """`schema`: the events', in Avro; it says which values are days since 1970."""
        self._table = table
        self._topic = topic
        self._dates = {one["name"] for one in json.loads(schema)["fields"] if DATE in json.dumps(one["type"])}
        self._next = -1
        self._rows: OrderedDict[bytes, Row] = OrderedDict()
        self._newest: deque[Change] = deque(maxlen=SHOWN)

    def read(self) -> list[Change]:
        """Return the last changes, newest first, including new ones; the previous ones when that fails."""
        with contextlib.suppress(KafkaException, TimeoutError):
            first, end = self._topic.bounds()
            if not first <= self._next <= end:
                self._next = max(first, end - FIRST_EVENTS)
            for event in self._topic.raw_events(self._next) if self._next < end else ():
                self._next = event.offset + 1
                self._take(event)
        return list(self._newest)

    def _take(self, event: RawEvent) -> None:
        try:
            key, found = json.loads(event.key), json.loads(event.value or b"null")
        except ValueError:
            return  # the job quarantines it, and the page shows the quarantine
        if not (isinstance(key, dict) and isinstance(found, dict)):
            return
        operation, before, after = str(found.get(OPERATION)), self._rows.pop(event.key, None), None
        if operation == TRUNCATE:
            self._rows.clear()
        elif found.get(DELETED) == IS_DELETED or operation == DELETE:
            operation = DELETE
        else:
            after = self._rows[event.key] = {
                name: self._text(name, value) for name, value in found.items() if not name.startswith(PREFIX)
            }
            if len(self._rows) > ROWS:
                self._rows.popitem(last=False)
        if operation not in (READ, SETTLED):  # the snapshot's rows and marks for the job aren't changes
            made = found.get(SOURCE_TIME_MS)
            at = made / 1000 if isinstance(made, int) else None
            self._newest.appendleft(change(self._table, operation, key, at, before, after))

    def _text(self, name: str, value: object) -> str | None:
        if name in self._dates and isinstance(value, int) and abs(value) < MOST_DAYS:
            return (EPOCH_DAY + timedelta(days=value)).isoformat()
        return text(value)
