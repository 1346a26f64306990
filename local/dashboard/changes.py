"""The last changes, each with its row's previous values, from the topic's events."""

import json
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from contract.events import CREATE, DELETE, DELETED, IS_DELETED, OPERATION, PREFIX, READ, SOURCE_TIME_MS, UPDATE
from local.console import cut
from local.look.topic import RawEvent, Topic

SHOWN = 20
# Events read at first, to know rows' previous values, and rows whose last event is remembered.
FIRST_EVENTS, ROWS = 1_000, 5_000
# Values and keys are cut after this many characters, and a change after this many columns: a table may have 1,600.
VALUE_CHARACTERS = 80
# Shown of what two long values have in common, before the part that differs.
CONTEXT_CHARACTERS = 20
KEY_CHARACTERS = 200
COLUMNS = 40
# Debezium's type for days since 1970 (`connect.name`).
DATE = "io.debezium.time.Date"
EPOCH_DAY, MOST_DAYS = date(1970, 1, 1), 700_000
WORDS = {READ: "loaded", CREATE: "inserted", UPDATE: "updated", DELETE: "deleted"}


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change: its row's key, and each changed column's value before and after, as text.

    `at`: when it was made at the source, in seconds since 1970; `seen`: whether the row's previous event was read;
    `more`: number of changed columns missing from `columns`.
    """

    table: str
    offset: int
    what: str
    key: str
    at: float | None
    columns: tuple[tuple[str, str, str], ...]
    seen: bool
    more: int = 0


class Changes:
    """Follows one table's topic."""

    def __init__(self, table: str, dates: Collection[str] = ()) -> None:
        """`dates`: the columns whose values are days since 1970."""
        self._table = table
        self._dates = frozenset(dates)
        self._next: int | None = None
        self._rows: OrderedDict[bytes, Mapping[str, Any]] = OrderedDict()
        self._changes: list[Change] = []

    def read(self, topic: Topic) -> list[Change]:
        """Return the last changes, newest first, including new ones. Raises KafkaException, TimeoutError."""
        first, end = topic.bounds()
        if self._next is None or not first <= self._next <= end:
            self._next = max(first, end - FIRST_EVENTS)
        if self._next < end:
            events = topic.raw_events(self._next)
            self.take(events)
            # Events may have arrived since the end was queried.
            self._next = max([end, *(event.offset + 1 for event in events[-1:])])
        return self.newest

    @property
    def newest(self) -> list[Change]:
        return list(reversed(self._changes))

    def take(self, events: Iterable[RawEvent]) -> None:
        for event in events:
            if event.value is None:
                continue
            try:
                key, row = json.loads(event.key), json.loads(event.value)
            except ValueError:
                continue  # the job quarantines it, and the page shows the quarantine
            if isinstance(key, dict) and isinstance(row, dict):
                self._take(event, key, row)

    def _take(self, event: RawEvent, key: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        operation, before = str(row.get(OPERATION)), self._rows.pop(event.key, None)
        gone = row.get(DELETED) == IS_DELETED or operation == DELETE
        if not gone:
            self._rows[event.key] = row
            while len(self._rows) > ROWS:
                self._rows.popitem(last=False)
        if operation == READ:
            return  # the snapshot's rows aren't changes
        made = row.get(SOURCE_TIME_MS)
        columns = differing(before, None if gone else row, self._dates)
        change = Change(
            table=self._table,
            offset=event.offset,
            what=WORDS[DELETE] if gone else WORDS.get(operation, operation),
            key=key_text(key),
            at=made / 1000 if isinstance(made, int) else None,
            columns=columns[:COLUMNS],
            more=max(len(columns) - COLUMNS, 0),
            seen=before is not None or operation == CREATE,
        )
        self._changes = [*self._changes, change][-SHOWN:]


def key_text(key: Mapping[str, Any]) -> str:
    return cut(", ".join(f"{name} = {value}" for name, value in key.items()), KEY_CHARACTERS)


def date_columns(schema: Path) -> frozenset[str]:
    """Return the columns of an Avro schema that count days; none where it can't be read."""
    try:
        fields = json.loads(schema.read_text(encoding="utf-8"))["fields"]
    except (OSError, ValueError, LookupError):
        return frozenset()
    return frozenset(field["name"] for field in fields if DATE in json.dumps(field["type"]))


def differing(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, dates: Collection[str] = ()
) -> tuple[tuple[str, str, str], ...]:
    """Return the columns whose values differ, with both values as text; empty text where a side has no row."""
    names = [name for name in (after or before or {}) if not name.startswith(PREFIX)]
    return tuple(
        (name, *_parts(_text(before, name, name in dates), _text(after, name, name in dates)))
        for name in names
        if before is None or after is None or before.get(name) != after.get(name)
    )


def _parts(before: str, after: str) -> tuple[str, str]:
    """Return of two values the parts that differ, with a little of what is before, as far as they are long."""
    pairs = enumerate(zip(before, after, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))
    begin = max(same - CONTEXT_CHARACTERS, 0) if max(len(before), len(after)) > VALUE_CHARACTERS else 0
    first, second = ((f"…{text[begin:]}" if begin and text else text) for text in (before, after))
    return cut(first, VALUE_CHARACTERS), cut(second, VALUE_CHARACTERS)


def _text(row: Mapping[str, Any] | None, name: str, is_date: bool) -> str:
    if row is None:
        return ""
    value = row.get(name)
    if is_date and isinstance(value, int) and abs(value) < MOST_DAYS:
        return (EPOCH_DAY + timedelta(days=value)).isoformat()
    return "NULL" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
