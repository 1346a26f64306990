"""Follows each change through the topic, the landing bucket and the table's timeline."""

import bisect
import json
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from contract.errors import UserError
from spark_jobs.options.keys import PROGRESS

_LANDED = re.compile(r"(?P<partition>\d+)/(?P<last>\d{12,})_\d+_\d+\.json$")


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event in the topic's one partition; times in ms since 1970: the source's commit, the broker's."""

    offset: int
    source_ms: float
    topic_ms: float


@dataclass(frozen=True)
class Arrival:
    """Everything up to the offset `last` had arrived at `ms`."""

    last: int
    ms: float


@dataclass(frozen=True, kw_only=True)
class Journey:
    """One change: when it was committed at the source, then in the topic, an object, and the table; ms since 1970."""

    source_ms: float
    topic_ms: float
    landed_ms: float
    committed_ms: float


STAGES: dict[str, Callable[[Journey], float]] = {
    "source to topic": lambda one: one.topic_ms - one.source_ms,
    "topic to object": lambda one: one.landed_ms - one.topic_ms,
    "object to commit": lambda one: one.committed_ms - one.landed_ms,
    "source to commit": lambda one: one.committed_ms - one.source_ms,
}


def landed(key: str, ms: float) -> Arrival | None:
    """Parse an object's key; None for an unrelated one."""
    found = _LANDED.search(key)
    return Arrival(int(found["last"]), ms) if found else None


def committed(content: str, ms: float) -> Arrival | None:
    """Parse a completed commit's progress in the landing's one partition; None for one without progress."""
    progress = (json.loads(content).get("extraMetadata") or {}).get(PROGRESS)
    names = (json.loads(progress).get("watermarks") or {}).values() if progress else ()
    found = [arrival for name in names if (arrival := landed(name, ms))]
    return found[0] if found else None


def journeys(events: Iterable[Event], objects: Sequence[Arrival], commits: Sequence[Arrival]) -> list[Journey]:
    """Return the journeys of the events that have reached the table, in the topic's order."""
    to_object, to_commit = _first_at(objects), _first_at(commits)
    found = []
    for event in sorted(events, key=lambda event: event.offset):
        landed_ms, committed_ms = to_object(event.offset), to_commit(event.offset)
        if landed_ms is not None and committed_ms is not None:
            times = {"landed_ms": landed_ms, "committed_ms": committed_ms}
            found.append(Journey(source_ms=event.source_ms, topic_ms=event.topic_ms, **times))
    return found


def percentiles(values: Iterable[float]) -> tuple[float, float]:
    """Return median and 95th percentile, in seconds, of times in ms. Raises UserError without any."""
    ordered = sorted(values)
    if not ordered:
        raise UserError("nothing has arrived")
    return statistics.median(ordered) / 1000, ordered[min(len(ordered) * 95 // 100, len(ordered) - 1)] / 1000


def _first_at(arrivals: Sequence[Arrival]) -> Callable[[int], float | None]:
    ordered = sorted(arrivals, key=lambda arrival: (arrival.last, arrival.ms))
    lasts = [arrival.last for arrival in ordered]

    def at(offset: int) -> float | None:
        index = bisect.bisect_left(lasts, offset)
        return ordered[index].ms if index < len(ordered) else None

    return at
