"""Progress and rate of the data at each stage of its way."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypedDict

from contract.states import CATALOGUE, JOB, LAKE, LANDING, SLOT, SOURCE, STAGES, TOPIC
from local.services.source_database import OutboxQueue, Slot
from local.state.tables import DataStatus

RATE_S = 30.0
# A server writes this much on its own now and then (checkpoints, vacuum), which isn't confirmed at once.
QUIET_WAL_BYTES = 65_536
_KEPT = 1_000


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage; None where it isn't known or doesn't apply.

    `lag_s` and `lag_events`: behind the previous stage, for the lake behind the topic. `rate`: events a second, for the
    source and the slot bytes of WAL. `held_bytes`: the WAL that the server retains.
    """

    name: str
    position: str | None = None
    lag_s: float | None = None
    lag_events: int | None = None
    rate: float | None = None
    last: float | None = None
    held_bytes: int | None = None


class Trail:
    """A stage's positions over time; positions grow, and one that shrinks restarts the trail."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque(maxlen=_KEPT)
        self._moved: float | None = None

    def note(self, now: float, position: int | None) -> None:
        """Record a position that differs from the last one."""
        if position is None:
            return
        if self._points and position < self._points[-1][1]:
            self._points.clear()
        if not self._points or position != self._points[-1][1]:
            if self._points:
                self._moved = now
            self._points.append((now, position))

    @property
    def last(self) -> float | None:
        """When it last moved, as far as observed."""
        return self._moved

    @property
    def position(self) -> int | None:
        return self._points[-1][1] if self._points else None

    def rate(self, now: float) -> float | None:
        """Return the growth per second, over RATE_S or since the first position; None at the first look."""
        if not self._points or self._points[0][0] == now:
            return None
        former = [point for point in self._points if point[0] <= now - RATE_S]
        began, position = former[-1] if former else self._points[0]
        seconds = RATE_S if former else max(now - began, 1.0)
        return (self._points[-1][1] - position) / seconds

    def behind_s(self, now: float, position: int | None) -> float | None:
        """Return the seconds since it passed a position; 0 where it hasn't."""
        if position is None or not self._points:
            return None
        return next((now - at for at, beyond in self._points if beyond > position), 0.0)


def on_wall_clock(stages: Iterable[Stage], counted: float, now: float) -> tuple[Stage, ...]:
    """Give `last` in seconds since 1970: what was counted on a monotonic clock isn't moved when the clock is set."""
    return tuple(s if s.last is None else replace(s, last=now - (counted - s.last)) for s in stages)


class _Lag(TypedDict, total=False):
    lag_s: float
    lag_events: int


class Stages:
    """Keeps the trails of one pipeline between polls."""

    def __init__(self) -> None:
        self._trails = {name: Trail() for name in STAGES}

    def read(self, now: float, data: DataStatus) -> list[Stage]:
        """Record a look's result, at `now` on a monotonic clock, and return the stages in order."""
        slot, newest = data.slot, max(filter(None, (table.last_commit for table in data.tables)), default=None)
        source = None if data.wal is None else wal_bytes(data.wal)
        confirmed = None if slot is None or source is None or slot.behind_bytes is None else source - slot.behind_bytes
        ends = _sum(table.topic_end for table in data.tables)
        landed = _sum(table.sink_offset for table in data.tables)
        read_to = _sum(table.read_to for table in data.tables)
        positions = {SOURCE: source, SLOT: confirmed, TOPIC: ends, LANDING: landed, JOB: read_to}
        positions |= {LAKE: _number(newest), CATALOGUE: _number(data.synced)}
        for name, position in positions.items():
            self._trails[name].note(now, position)
        if data.queried:
            # A change is unknown until a query finds it.
            return [
                Stage(name=LAKE, position=_lake(newest, data), last=self._trails[LAKE].last),
                Stage(name=CATALOGUE, position=_catalogue(data), last=self._trails[CATALOGUE].last),
            ]
        return [
            self._stage(now, SOURCE, _source(data), **_queue(data.outbox_queue)),
            self._stage(now, SLOT, _slot(slot), lag_s=self._slot_lag(now, slot, confirmed), held=slot),
            self._stage(now, TOPIC, _offset(ends)),
            self._behind(now, LANDING, _landing(landed, data), TOPIC),
            self._behind(now, JOB, _offset(read_to), LANDING),
            self._behind(now, LAKE, _lake(newest, data), TOPIC, of=JOB),
            Stage(name=CATALOGUE, position=_catalogue(data), last=self._trails[CATALOGUE].last),
        ]

    def _stage(
        self,
        now: float,
        name: str,
        position: str | None,
        *,
        lag_s: float | None = None,
        lag_events: int | None = None,
        held: Slot | None = None,
        rate_of: str | None = None,
    ) -> Stage:
        return Stage(
            name=name,
            position=position,
            lag_s=lag_s,
            lag_events=lag_events,
            rate=self._trails[rate_of or name].rate(now),
            last=self._trails[name].last,
            held_bytes=held.held_bytes if held else None,
        )

    def _behind(self, now: float, name: str, position: str | None, upstream: str, *, of: str | None = None) -> Stage:
        """A stage that counts events as the previous one does; `of`: the trail that holds its count."""
        here, there = self._trails[of or name].position, self._trails[upstream].position
        events = None if here is None or there is None else max(there - here, 0)
        lag_s = self._trails[upstream].behind_s(now, here)
        return self._stage(now, name, position, lag_s=lag_s, lag_events=events, rate_of=of)

    def _slot_lag(self, now: float, slot: Slot | None, confirmed: int | None) -> float | None:
        if slot is None or slot.behind_bytes is None:
            return None
        return self._trails[SOURCE].behind_s(now, confirmed) if slot.behind_bytes > QUIET_WAL_BYTES else 0.0


def wal_bytes(position: str) -> int:
    """Return a log position such as 0/1A2B3C as a number."""
    high, _, low = position.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def _sum(values: Iterable[int | None]) -> int | None:
    found = [value for value in values if value is not None]
    return sum(found) if found else None


def _number(instant: str | None) -> int | None:
    return int(instant) if instant and instant.isdecimal() else None


def _offset(position: int | None) -> str | None:
    return None if position is None else f"next offset {position:,}"


def _queue(queue: OutboxQueue | None) -> _Lag:
    return {} if queue is None else {"lag_s": queue.seconds if queue.entries else 0.0, "lag_events": queue.entries}


def _source(data: DataStatus) -> str | None:
    if data.wal is None:
        return None
    return f"{data.wal}, {data.outbox_rows:,} rows" if data.outbox_rows is not None else data.wal


def _slot(slot: Slot | None) -> str | None:
    if slot is None:
        return None
    reader = "" if slot.active else ", nobody reads it"
    return f"{slot.behind_bytes or 0:,} bytes behind{reader}"


def _landing(landed: int | None, data: DataStatus) -> str | None:
    objects = "" if data.landing_objects is None else f", {data.landing_objects:,} objects"
    return None if landed is None else f"next offset {landed:,}{objects}"


def _catalogue(data: DataStatus) -> str | None:
    """Only changes of columns or partitions are synced, so the catalog is rarely told of the newest commit."""
    if data.catalogued is None:
        return None
    told = "" if data.synced is None else f", told at commit {data.synced}"
    return f"{data.catalogued} of {len(data.tables)} tables{told}"


def _lake(newest: str | None, data: DataStatus) -> str | None:
    rows = _sum(table.lake_rows for table in data.captured)
    return None if newest is None else f"commit {newest}" + ("" if rows is None else f", {rows:,} rows")
