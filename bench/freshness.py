"""Measures how old a change is when the lake shows it, and where the time goes: `./lake dev bench freshness`.

Runs on its own local platform: single changes on an idle system, then many per second, and again while another
application on the same cores has first loads of another database, one after another. Times are those of the source's
commit, of the broker, and of the files in which S3Proxy keeps objects and the table's timeline, so that measuring adds
no requests. A commit can be queried as soon as its file exists: there a journey ends.
"""

import bisect
import json
import random
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import psycopg2
import typer
from confluent_kafka import Consumer, TopicPartition

from bench import first_load, results
from bench.job import watched
from bench.results import bounds
from contract.errors import UserError
from contract.events import SOURCE_TIME_MS
from contract.source import OUTBOX_TABLE, SCHEMA
from local.errors import PlatformError
from local.platform.platform import Platform
from local.platform.services import LAKE_BUCKET, LANDING_BUCKET
from spark_jobs.options.keys import PROGRESS

_LANDED = re.compile(r"(?P<partition>\d+)/(?P<last>\d{12,})_\d+_\d+\.json$")


class Event(NamedTuple):
    """An event in the topic's one partition; times in ms since 1970: the source's commit, the broker's."""

    offset: int
    source_ms: float
    topic_ms: float


@dataclass(frozen=True)
class Arrival:
    """Everything up to the offset `last` had arrived at `ms`."""

    last: int
    ms: float


class Journey(NamedTuple):
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
    for offset, source_ms, topic_ms in sorted(events):
        landed_ms, committed_ms = to_object(offset), to_commit(offset)
        if landed_ms is not None and committed_ms is not None:
            found.append(Journey(source_ms, topic_ms, landed_ms, committed_ms))
    return found


def percentiles(values: Iterable[float]) -> tuple[float, float]:
    """Return median and 95th percentile, in seconds, of times in ms. Raises UserError without any."""
    taken = [*values]
    if not taken:
        raise UserError("nothing has arrived")
    return statistics.median(taken) / 1000, results.p95(taken) / 1000


def _first_at(arrivals: Sequence[Arrival]) -> Callable[[int], float | None]:
    ordered = sorted(arrivals, key=lambda arrival: (arrival.last, arrival.ms))
    lasts = [arrival.last for arrival in ordered]

    def at(offset: int) -> float | None:
        index = bisect.bisect_left(lasts, offset)
        return ordered[index].ms if index < len(ordered) else None

    return at


GOAL_P50_S, GOAL_P95_S = 10, 20
SINGLE_TIMEOUT_S = 60
CATCH_UP_S = 120
PARTS = 5
HEADS = ("changes", "number", "a second", *(f"{stage}, {which}" for stage in STAGES for which in ("p50", "p95")))


def main(
    *,
    rate: Annotated[int, typer.Option(min=1, help="Changes per second.")] = 200,
    seconds: Annotated[int, typer.Option(min=10, help="For how long.")] = 300,
    singles: Annotated[int, typer.Option(min=1, help="Changes one by one before that.")] = 10,
    loaded: Annotated[int, typer.Option(min=0, help="Rows of each first load meanwhile; 0: none.")] = 1_000_000,
) -> None:
    """Measure freshness; exit 1 if it misses the goals, or changes don't arrive."""
    with tempfile.TemporaryDirectory(prefix="bench-freshness-") as folder, ExitStack() as stack:
        platform = Platform(Path(folder) / "platform")
        stack.callback(platform.remove)
        platform.up()
        alone = measure(platform, lambda source: _one_by_one(platform, source, singles))
        many = measure(platform, lambda source: _at_a_rate(source, rate, seconds))
        # Parts of equal length, so that a rising figure shows.
        parts = [(f"part {number}", many[at:to]) for number, (at, to) in enumerate(bounds(len(many), PARTS), 1)]
        rows = [("one by one", alone), ("all", many), *parts]
        if loaded:
            with _loading(loaded) as loads:
                during = measure(platform, lambda source: _at_a_rate(source, rate, seconds))
            rows.append((f"during {len(loads)} loads of {loaded:,} rows", during))
    _show(rows, f"s from one to the other; asked for {rate} changes a second")
    p50, p95 = percentiles(STAGES["source to commit"](one) for one in many)
    met = p50 <= GOAL_P50_S and p95 <= GOAL_P95_S
    print(f"p50 {p50:.1f} s (goal {GOAL_P50_S}), p95 {p95:.1f} s (goal {GOAL_P95_S}): {'met' if met else 'missed'}")
    raise typer.Exit(0 if met else 1)


@contextmanager
def _loading(rows: int) -> Iterator[list[first_load.Load]]:
    """Load a table again and again while the block runs, with a job of its own. Raises PlatformError if one fails."""
    loads, ended = list[first_load.Load](), threading.Event()

    def load() -> None:
        while not ended.is_set():
            loads.append(first_load.measure("job", rows, 1))

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(load)
        try:
            yield loads
        finally:
            ended.set()
        running.result()


def measure(platform: Platform, change: Any) -> list[Journey]:
    """Make changes and return their journeys. Raises PlatformError if some haven't arrived after CATCH_UP_S."""
    _, first = platform.topic.bounds()
    with _timeline(platform.state_dir) as commits, closing(psycopg2.connect(**platform.source)) as source:
        source.autocommit = True
        changed = change(source)
        deadline = time.monotonic() + CATCH_UP_S
        while max((commit.last for commit in commits), default=-1) < first + changed - 1:
            if time.monotonic() > deadline:
                raise PlatformError(f"the lake hasn't caught up {CATCH_UP_S} s after the last of {changed} changes")
            time.sleep(0.5)
    objects = platform.state_dir / "s3" / "objects" / LANDING_BUCKET
    files = [landed(str(path), path.stat().st_mtime * 1000) for path in objects.rglob("*.json")]
    return journeys(_events(platform, first), [file for file in files if file], commits)


def _one_by_one(platform: Platform, source: Any, count: int) -> int:
    """Change an order, wait until the lake shows it and a moment more, `count` times."""
    for _ in range(count):
        before = platform.lake.last_commit()
        _change(source)
        deadline = time.monotonic() + SINGLE_TIMEOUT_S
        while platform.lake.last_commit() == before:
            if time.monotonic() > deadline:
                raise PlatformError(f"a single change isn't in the lake after {SINGLE_TIMEOUT_S} s")
            time.sleep(0.3)
        time.sleep(random.uniform(1, 3))  # noqa: S311  (no secret)
    return count


def _at_a_rate(source: Any, rate: int, seconds: int) -> int:
    """Change orders at a steady rate, as far as the source keeps up; return how many."""
    started, changed = time.monotonic(), 0
    while (elapsed := time.monotonic() - started) < seconds:
        if changed < elapsed * rate:
            _change(source)
            changed += 1
        else:
            time.sleep(1 / rate / 4)
    return changed


def _change(source: Any) -> None:
    with source.cursor() as cursor:
        cursor.execute(
            f"UPDATE {SCHEMA}.orders SET freight = freight + 0.01"
            f" WHERE order_id = (SELECT order_id FROM {SCHEMA}.orders WHERE order_id >= %s ORDER BY order_id LIMIT 1)",
            (random.randint(10248, 11077),),  # noqa: S311  (no secret)
        )


def _events(platform: Platform, first: int) -> list[Event]:
    _, end = platform.topic.bounds()
    consumer = Consumer({**platform.services.kafka.client(), "group.id": "bench"})
    events: list[Event] = []
    with closing(consumer):
        consumer.assign([TopicPartition(platform.topic.name, 0, first)])
        while not events or events[-1].offset < end - 1:
            message = consumer.poll(10)
            value, offset = (message.value(), message.offset()) if message and not message.error() else (None, None)
            if message is None or value is None or offset is None:
                raise PlatformError(f"the topic can't be read: {message and message.error()}")
            events.append(Event(offset, json.loads(value)[SOURCE_TIME_MS], message.timestamp()[1]))
    return events


@contextmanager
def _timeline(folder: Path) -> Iterator[list[Arrival]]:
    """Collect commits while the block runs: Hudi archives them, and then their times are lost."""
    timeline = folder / "s3" / "objects" / LAKE_BUCKET / OUTBOX_TABLE / ".hoodie"
    seen, found = {path.name for path in timeline.glob("*.commit")}, list[Arrival]()

    def look() -> None:
        for path in timeline.glob("*.commit"):
            if path.name not in seen and (text := path.read_text()):
                seen.add(path.name)
                if arrival := committed(text, path.stat().st_mtime * 1000):
                    found.append(arrival)

    with watched(look):
        yield found


def _show(runs: Sequence[tuple[str, list[Journey]]], title: str) -> None:
    rows: list[list[results.Value]] = []
    for label, run in runs:
        per_second = (len(run) - 1) / (run[-1].source_ms - run[0].source_ms) * 1000 if len(run) > 1 else None
        cells = [value for stage in STAGES.values() for value in percentiles(map(stage, run))]
        rows.append([label, len(run), per_second, *cells])
    results.show("freshness", title, HEADS, rows)
