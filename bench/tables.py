"""Measures memory, requests and time of many tables in one Spark application: `./lake dev bench tables`.

The application runs with spark-submit against an S3 endpoint that logs its requests, once with one table and once
with `--tables`; the difference is the cost of an idle table. No two tables have the same columns, as in a database:
code that Spark compiles for one can't be reused for another.

`./lake dev bench crowded`, also its last part, measures how long a change waits when many tables want to commit. First,
each of some idle tables gets a change at once. Then other tables get their first load, in batches of a few objects,
while one of the idle tables gets a change every second. Measured is the time from landing a change to the commit that
contains it. Exit 1 when changes during the loads exceed the limit.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bench import results
from bench.application import SHORT, application, land, line, name
from bench.job import VERBS, CountedS3, RunningJob, by_verb, counted_s3
from contract.events import CREATE, OPERATION
from contract.lake import DATABASE
from spark_jobs.options import keys
from spark_jobs.options.settings import Settings

IDLE_S = 30
# Poll interval of all tables together; the job's default.
POLL_S = Settings.poll_seconds
# Rounds before the counted one: the JVM compiles new code at first.
WARM_UP = 2
HEADS = ("tables", "MB", *VERBS, "s of CPU", "s until all have a change", "s of CPU for it")
CROWDED_HEADS = ("case", "median", "p95", "last", "the loads")


def main(
    *,
    tables: Annotated[int, typer.Option(min=2, help="Tables in the application.")] = 20,
    parallel: Annotated[int | None, typer.Option(min=1, help="Tables that commit at the same time.")] = None,
) -> None:
    """Print the costs of one and of many tables, then how long a change waits while others load."""
    costs = {count: measure(count, parallel) for count in (1, tables)}
    rows = [[count, *idle, *changes] for count, (idle, changes) in costs.items()]
    each = [(many - one) / (tables - 1) for one, many in zip(costs[1][0], costs[tables][0], strict=True)]
    title = f"Memory, requests and CPU of an idle hour (polls every {POLL_S:.0f} s), and a change in each table"
    results.show("tables", title, HEADS, [*rows, ["each more", *each, None, None]])
    crowded()


def measure(tables: int, parallel: int | None) -> tuple[list[float], list[float]]:
    """Run the application on new tables. Raises PlatformError if it ends or takes too long.

    Return MB of all processes and what an idle hour takes, requests and s of CPU; s and s of CPU of a round of changes.
    """
    shared = {keys.PARALLEL_COMMITS: str(parallel)} if parallel else {}
    with tempfile.TemporaryDirectory(prefix="bench-tables-") as name, counted_s3(Path(name)) as s3:
        _land_all(s3, tables, offset=0)
        with application(Path(name), s3, tables, shared=shared) as job:
            job.wait_for_commits(tables)
            for number in range(1, WARM_UP + 1):
                _land_all(s3, tables, offset=number)
                job.wait_for_commits((number + 1) * tables)
            time.sleep(2 * POLL_S)
            megabytes = job.megabytes()
            s3.taken()
            cpu = job.cpu_seconds()
            time.sleep(IDLE_S)
            idle, idle_cpu = by_verb(s3.taken()), job.cpu_seconds() - cpu
            began, cpu = time.monotonic(), job.cpu_seconds()
            _land_all(s3, tables, offset=WARM_UP + 1)
            job.wait_for_commits((WARM_UP + 2) * tables)
            seconds, cpu = time.monotonic() - began, job.cpu_seconds() - cpu
    per_hour = 3600 / IDLE_S
    requests = [count * per_hour for count in idle.values()]
    return [megabytes, *requests, idle_cpu * per_hour], [seconds, cpu]


def _land_all(s3: CountedS3, tables: int, *, offset: int) -> None:
    for number in range(tables):
        land(s3, number, [line(number, lsn=1000 + offset)], offset=offset)


# As on the local platform: five polls a second, and no wait between two commits.
POLL = {keys.POLL_INTERVAL: "0.2"}
LOADED_EVENTS = 50_000
GOAL_S = 5.0
ROUNDS_BEFORE = 5
EVERY_S = 1.0


def crowded(
    *,
    loads: Annotated[int, typer.Option(min=1, help="Tables that are loaded at the same time.")] = 4,
    events: Annotated[int, typer.Option(min=1000, help="Events of each of them.")] = LOADED_EVENTS,
    objects: Annotated[int, typer.Option(min=1, help="Objects that these land in.")] = 10,
    batch: Annotated[int, typer.Option(min=1, help="Objects that one commit of a load takes.")] = 3,
    idle: Annotated[int, typer.Option(min=1, help="Tables that get single changes.")] = 20,
    limit: Annotated[float, typer.Option(min=0, help="The longest p95 (s) of a change during the loads.")] = GOAL_S,
) -> None:
    """Print how long single changes and the loads took; exit 1 if p95 during the loads exceeds the limit."""
    size = events // objects
    texts = [[_first_load(number, size, objects) for number in range(at, at + loads)] for at in (0, loads)]
    largest = max(sum(len(one) + 1 for one in lines) for text in texts[0] for lines in text)
    options = ["--source-limit", str(batch * largest)]
    with crowd(2 * loads + idle, options) as (job, s3):
        tables = [Changes(job, s3, number) for number in range(2 * loads, 2 * loads + idle)]
        at_once = _at_once(job, tables)
        alone, _, _ = _loaded(job, s3, tables[0], texts[0], first=0, changes=False)
        took, commits, waits = _loaded(job, s3, tables[0], texts[1], first=loads, changes=True)
    p95 = _figures(waits)[1]
    title = f"{loads} first loads of {size * objects:,} events, in {commits} commits with changes; s"
    cases = (
        (f"a change in each of {idle} tables", _figures(at_once), None),
        ("loads alone", (None, None, None), alone),
        ("loads, a change a second elsewhere", _figures(waits), took),
    )
    rows = [[case, *figures, loads_s] for case, figures, loads_s in cases]
    results.show("crowded", title, CROWDED_HEADS, rows)
    print(f"p95 of changes during loads {p95:.1f} s (limit {limit:g}): {'met' if p95 <= limit else 'missed'}")
    raise typer.Exit(0 if p95 <= limit else 1)


def _figures(waits: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, the 95th percentile and the last of sorted seconds."""
    return statistics.median(waits), results.p95(waits), waits[-1]


@contextmanager
def crowd(tables: int, options: Sequence[str]) -> Iterator[tuple[RunningJob, CountedS3]]:
    """Run the application until the block ends, with nothing landed."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-tables-") as folder,
        counted_s3(Path(folder)) as s3,
        application(Path(folder), s3, tables, own=POLL, shared=POLL, sync_interval_s=0, options=options) as job,
    ):
        yield job, s3


def _first_load(number: int, size: int, objects: int) -> list[list[str]]:
    first = range(2, size * objects + 2, size)
    return [
        [line(number, lsn=2000 + key, order_id=key, **SHORT, **{OPERATION: CREATE}) for key in range(at, at + size)]
        for at in first
    ]


def _at_once(job: RunningJob, tables: "Sequence[Changes]") -> list[float]:
    """Return how long the changes took when each table gets one, after some warm-up rounds, in order."""
    for _ in range(ROUNDS_BEFORE):
        for table in tables:
            table.waits.clear()
            table.land()
        job.wait(lambda: {table.all_there() for table in tables} == {True}, "commits of all tables")
    return sorted(wait for table in tables for wait in table.waits)


def _loaded(
    job: RunningJob, s3: CountedS3, small: "Changes", texts: Sequence[Sequence[list[str]]], *, first: int, changes: bool
) -> tuple[float, int, list[float]]:
    """Load tables from number `first` on; return the duration, the commits, and each change's time meanwhile."""
    small.waits.clear()
    before, events = small.others(), sum(len(lines) for objects in texts for lines in objects)
    began = time.monotonic()
    for place, objects in enumerate(zip(*texts, strict=True)):
        for number, lines in enumerate(objects, first):
            land(s3, number, lines, offset=(place + 1) * len(lines) - 1)

    def loaded() -> bool:
        if changes:
            small.land_when_due()
        return sum(int(report["events"]) for report in small.others()[len(before) :]) >= events

    job.wait(loaded, "loads")
    took = time.monotonic() - began
    job.wait(small.all_there, "commit of the small table")
    return took, len(small.others()) - len(before), sorted(small.waits)


class Changes:
    """The changes of one table: lands them and notes when they are committed."""

    def __init__(self, job: RunningJob, s3: CountedS3, number: int) -> None:
        self.waits: list[float] = []
        self._job = job
        self._s3 = s3
        self._number = number
        self._table = f"{DATABASE}.{name(number)}"
        self._offset = 0
        self._seen = 0
        self._open: list[float] = []
        self._next = 0.0

    def land(self) -> None:
        self._offset += 1
        event = line(self._number, lsn=1000 + self._offset, **SHORT)
        land(self._s3, self._number, [event], offset=self._offset)
        self._open.append(time.monotonic())

    def land_when_due(self) -> None:
        """Land a change each second, however long the commits take."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + EVERY_S
            self.land()
        self.all_there()

    def all_there(self) -> bool:
        """Note new commits; tell whether every change is committed."""
        events = sum(int(report["events"]) for report in self._job.reports() if report["table"] == self._table)
        arrived, self._open = self._open[: events - self._seen], self._open[events - self._seen :]
        self.waits += [time.monotonic() - landed for landed in arrived]
        self._seen = events
        return not self._open

    def others(self) -> list[dict[str, str]]:
        return [report for report in self._job.reports() if report["table"] != self._table]
