"""Progress and rate of the data at each stage of its way."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from contract.states import CATALOGUE, JOB, LAKE, LANDING, SLOT, SOURCE, STAGES, TOPIC
from local.services.source_database import Slot
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
        # When it last moved, as far as observed.
        self.last: float | None = None

    def note(self, now: float, position: int | None) -> None:
        if position is None:
            return
        if self._points and position < self._points[-1][1]:
            self._points.clear()
        if not self._points or position != self._points[-1][1]:
            if self._points:
                self.last = now
            self._points.append((now, position))

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


class Stages:
    """Keeps the trails of one pipeline between polls."""

    def __init__(self) -> None:
        self._trails = {name: Trail() for name in STAGES}

    def read(self, now: float, data: DataStatus) -> list[Stage]:
        """Record a look's result, at `now` on a monotonic clock, and return the stages in order."""
        slot, newest = data.slot, max(filter(None, (table.last_commit for table in data.tables)), default=None)
        source = None if data.wal is None else wal_bytes(data.wal)
        confirmed = None if slot is None or source is None or slot.behind_bytes is None else source - slot.behind_bytes
        ends = _sum(table.topic_end for table in data.captured)
        landed = _sum(table.sink_offset for table in data.captured)
        read_to = _sum(table.read_to for table in data.captured)
        positions = {SOURCE: source, SLOT: confirmed, TOPIC: ends, LANDING: landed, JOB: read_to}
        positions |= {LAKE: _number(newest), CATALOGUE: _number(data.synced)}
        for name, position in positions.items():
            self._trails[name].note(now, position)
        if data.queried:
            # A change is unknown until a query finds it.
            return [self._stage(LAKE, _lake(newest, data)), self._stage(CATALOGUE, _catalogue(data))]
        queue = data.outbox_queue
        waiting = {"lag_s": queue.seconds if queue.entries else 0.0, "lag_events": queue.entries} if queue else {}
        held = {"lag_s": self._slot_lag(now, slot, confirmed), "held_bytes": slot.held_bytes} if slot else {}
        rates = {name: self._trails[name].rate(now) for name in STAGES}
        return [
            self._stage(SOURCE, _source(data), rate=rates[SOURCE], **waiting),
            self._stage(SLOT, _slot(slot), rate=rates[SLOT], **held),
            self._stage(TOPIC, _offset(ends), rate=rates[TOPIC]),
            self._stage(LANDING, _landing(landed, data), rate=rates[LANDING], **self._lag(now, LANDING, TOPIC)),
            self._stage(JOB, _offset(read_to), rate=rates[JOB], **self._lag(now, JOB, LANDING)),
            self._stage(LAKE, _lake(newest, data), rate=rates[JOB], **self._lag(now, JOB, TOPIC)),
            self._stage(CATALOGUE, _catalogue(data)),
        ]

    def _stage(self, name: str, position: str | None, **more: Any) -> Stage:
        return Stage(name=name, position=position, last=self._trails[name].last, **more)

    def _lag(self, now: float, name: str, upstream: str) -> dict[str, float | None]:
        here, there = self._trails[name].position, self._trails[upstream].position
        events = None if here is None or there is None else max(there - here, 0)
        return {"lag_s": self._trails[upstream].behind_s(now, here), "lag_events": events}

    def _slot_lag(self, now: float, slot: Slot, confirmed: int | None) -> float | None:
        if slot.behind_bytes is None:
            return None
        return self._trails[SOURCE].behind_s(now, confirmed) if slot.behind_bytes > QUIET_WAL_BYTES else 0.0


def wal_bytes(position: str) -> int:
    """Return a log position such as 0/1A2B3C as a number."""
    high, _, low = position.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def _sum(values: Iterable[int | None]) -> int | None:
    """Add up the tables' positions; None while one isn't known: without it, the others would seem to be behind."""
    found = [*values]
    return sum(filter(None, found)) if found and None not in found else None


def _number(instant: str | None) -> int | None:
    return int(instant) if instant and instant.isdecimal() else None


def _offset(position: int | None) -> str | None:
    return None if position is None else f"next offset {position:,}"


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
    # A table without a commit has no rows yet.
    rows = [table.lake_rows for table in data.captured if table.lake_rows is not None]
    return None if newest is None else f"commit {newest}" + (f", {sum(rows):,} rows" if rows else "")
