"""Compares one table with the lake: chunks first, then the rows of differing chunks, then those rows in Python.

Only equal hashes make rows equal, and rows that the engines merely spell differently don't count as different.
Differing rows are compared again until they are proven not to be late, at most a fiftieth of the time: the pipeline
that they wait for runs on the same database, and maybe on the same machine (docs/decisions/0003).
"""

import contextlib
import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from local.comparison.lake import LakeLook
from local.comparison.rows import CHUNK_BITS, ComparedTable, RowFilter, Sum, differing, join, split
from local.comparison.source import look
from local.comparison.suspects import KINDS, LATE, REST, Suspects, suspects
from local.look.lake import again

WAIT_BETWEEN_LOOKS_S = 0.5
# The longest rest after asking how far the lake is; otherwise it is REST times as long as that took.
LONGEST_REST_S = 5.0
SHOWN_ROWS = 5
# Maximum repair attempts.
REPAIRS = 3
LEAST_BITS = 4
# Approximately: what both sides send for one differing row.
ROWS_PER_CHUNK = 500
# Maximum that Python compares per pass; unlimited in the last.
TIDIED_ROWS = 2_000
# For more keys, the table is scanned.
LOOKED_UP_ROWS = 50_000

# Gets a pass's progress: the table, the side being read, rows read, and their estimate.
OnProgress = Callable[[str, str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A differing row: its key's values as text (None: NULL), and the columns; no columns when a side lacks the row.

    `quarantined`: why an event of the row is in quarantine.
    """

    key: dict[str, str | None]
    kind: str
    columns: tuple[str, ...] = ()
    quarantined: str | None = None


@dataclass(frozen=True, kw_only=True)
class TableComparison:
    """Differences between a table and the lake as of log position `position`.

    `source_rows` and `lake_rows`: counts of the first pass; once nothing differs, they are equal. `late`: differing
    rows that may still be on their way, since the lake hadn't reached the position before the timeout. `shown`: the
    first few differing rows. `absent`: columns that hold values and are missing from the lake; `unlike`: columns that
    have another type there. `repaired`: number of rows that a repair made equal. `problem`: why the table couldn't be
    compared.
    """

    table: str
    position: str = ""
    columns: int = 0
    source_rows: int = 0
    lake_rows: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    late: int = 0
    shown: tuple[Difference, ...] = ()
    absent: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    looks: int = 1
    repaired: int = 0
    seconds: float = 0.0
    problem: str | None = None

    @property
    def equal(self) -> bool:
        counts = (self.missing, self.extra, self.different, self.late)
        return not (self.problem or self.absent or self.unlike or any(counts))


# Tells whether the lake has everything that the source had at a log position, such as 0/1A2B3C.
Arrivals = Callable[[str], bool]
# Repairs the suspected keys. May raise PlatformError.
Repair = Callable[[Suspects, LakeLook], None]


# A running comparison: yields while it waits, and returns its result.
Comparing = Generator[None, None, TableComparison]


@dataclass
class _Run:
    """A running comparison.

    `awaited`: number and position of a pass that the lake isn't known to have reached. `passed`: the last pass that it
    has reached; `read_after`: the pass that it had reached before it was last read. `look_at`, `ask_at`: monotonic
    times of the next pass, unless the lake reaches the awaited one before, and of the next question for that.
    """

    parameters: Mapping[str, Any]
    table: ComparedTable
    timeout_s: float
    suspects: Suspects
    lake: LakeLook
    on_progress: OnProgress
    arrivals: Arrivals | None
    awaited: tuple[int, str] | None = None
    passed: int = 0
    read_after: int = 0
    look_at: float = 0.0
    ask_at: float = 0.0

    def arrived(self) -> bool:
        """Tell whether the lake has reached the awaited pass since the last question."""
        began = time.monotonic()
        if self.arrivals is None or self.awaited is None or began < self.ask_at:
            return False
        reached = self.arrivals(self.awaited[1])
        self.ask_at = min(_rested(began), time.monotonic() + LONGEST_REST_S)
        if reached:
            self.passed, self.awaited = self.awaited[0], None
        return reached


def _rested(began: float) -> float:
    now = time.monotonic()
    return now + REST * (now - began)


def comparing(
    parameters: Mapping[str, Any],
    table: ComparedTable,
    *,
    timeout_s: float,
    on_progress: OnProgress = lambda *_: None,
    repair: Repair | None = None,
    arrivals: Arrivals | None = None,
) -> Comparing:
    """Compare a table's rows with the lake's, have differences repaired if asked, and compare again.

    Differences are compared again for `timeout_s` after the first pass. The lake must have the table. Without
    `arrivals`, rows that still differ at the timeout count as different. Raises psycopg2.Error and LakeError when a
    side can't be read, and the errors of `repair`.
    """
    with suspects() as found:
        lake = LakeLook(table, found.engine)
        run = _Run(parameters, table, timeout_s, found, lake, on_progress, arrivals)
        first, chosen = _sums(run)
        notes = table.notes
        if events := lake.other_events:
            notes += (f"{events:,} events in the lake are updates or deletes, and only inserts can be compared",)
        repaired = (yield from _settle_and_repair(run, chosen, repair)) if chosen.chunks else 0
        counts: dict[str, Any] = {kind: found.count(condition) for kind, condition in KINDS.items()}
        return replace(
            first,
            # The differences were on their way: the lake has all of that position.
            lake_rows=first.lake_rows if found.count() else first.source_rows,
            repaired=repaired,
            shown=tuple(_shown(run)),
            notes=notes,
            looks=found.looks + 1,
            **counts,
        )


def step(comparison: Comparing) -> TableComparison | None:
    """Continue a comparison until it waits; return the result once it has ended."""
    try:
        next(comparison)
    except StopIteration as end:
        found: TableComparison = end.value
        return found
    return None


@again
def same_rows(parameters: Mapping[str, Any], table: ComparedTable, keys: Sequence[str]) -> bool:
    """Tell whether both sides have the same rows for these values of a one-column key."""
    with suspects() as found, look(parameters, table) as source:
        chosen = found.choose([join([key]) for key in keys])
        return not found.look(source, LakeLook(table, found.engine), chosen, tidied=True)


def _settle_and_repair(run: _Run, chosen: RowFilter, repair: Repair | None) -> Generator[None, None, int]:
    """Return how many rows differed and are now equal: one that was read again and still differs isn't repaired."""
    yield from _settle(run, chosen)
    differing = run.suspects.count("proven")
    for _ in range(REPAIRS):
        if repair is None or not run.suspects.count("proven"):
            break
        repair(run.suspects, run.lake)
        run.passed = run.read_after = run.suspects.begin_again()
        run.awaited = None
        # Always in Python's spelling: otherwise differences that only Python found would count as repaired.
        yield from _settle(run, run.suspects.chosen(LOOKED_UP_ROWS), tidied=True)
    return max(differing - run.suspects.count("proven"), 0)


@again
def _sums(run: _Run) -> tuple[TableComparison, RowFilter]:
    table = run.table
    with look(run.parameters, table) as source, ThreadPoolExecutor(1) as pool:
        estimate = source.estimate()
        bits = min(max(math.ceil(math.log2(max(estimate, 1) / ROWS_PER_CHUNK)), LEAST_BITS), CHUNK_BITS)
        # PostgreSQL works in its own process while DuckDB reads the lake in this one.
        counting = pool.submit(source.sums, bits, _counter(run, "source", estimate))
        try:
            lake = run.lake.sums(bits, _counter(run, "lake", estimate))
        except BaseException:
            source.cancel()
            raise
        found = counting.result()
        comparison = TableComparison(
            table=table.title,
            position=source.position,
            columns=len(table.columns),
            source_rows=sum(one.rows for one in found.values()),
            lake_rows=sum(one.rows for one in lake.values()),
            absent=tuple(source.filled(table.missing)),
            unlike=tuple(source.filled(table.unlike)),
        )
    differ = {number for number in found.keys() | lake.keys() if found.get(number, Sum()) != lake.get(number, Sum())}
    return comparison, RowFilter(bits=bits, chunks=differ)


def _counter(run: _Run, side: str, estimate: int) -> Callable[[int], None]:
    read = 0

    def count(rows: int) -> None:
        nonlocal read
        read += rows
        run.on_progress(run.table.title, side, read, max(estimate, read))

    return count


def _settle(run: _Run, chosen: RowFilter, *, tidied: bool = False) -> Iterator[None]:
    """Compare until all rows are settled; those that differ in the end, after a last pass in Python's spelling."""
    deadline = time.monotonic() + run.timeout_s
    count = _look(run, chosen, tidied=tidied)
    while count:
        over = time.monotonic() >= deadline
        done = over or not run.suspects.count(LATE)
        if tidied and done:
            break
        few = count <= TIDIED_ROWS
        if tidied or not (few or done):
            yield from _rest(run, deadline, notes=tidied)
        tidied = few or done
        count = _look(run, run.suspects.chosen(LOOKED_UP_ROWS), tidied=tidied)
    if run.arrivals is None:
        run.suspects.prove_all()


def _rest(run: _Run, deadline: float, *, notes: bool) -> Iterator[None]:
    """Wait until the lake has what is awaited; without that, until the next pass is due."""
    with run.suspects.noting(run.parameters, run.table) if notes else contextlib.nullcontext():
        yield
        while time.monotonic() < min(run.look_at, deadline) and not run.arrived():
            yield


@again
def _look(run: _Run, chosen: RowFilter, *, tidied: bool) -> int:
    run.arrived()
    began = time.monotonic()
    with look(run.parameters, run.table) as source:
        passed = run.read_after if run.arrivals else None
        count = run.suspects.look(source, run.lake, chosen, tidied=tidied, passed=passed)
        run.awaited = run.awaited or (run.suspects.looks, source.position)
    # The next pass shows which rows have stayed as they were until now: where the lake has news, it can prove at once.
    run.look_at = began if run.passed > run.read_after else _rested(began)
    run.read_after = run.passed
    run.on_progress(run.table.title, "rows that differ", count, count)
    return count


def _shown(run: _Run) -> Iterator[Difference]:
    found = {kind: run.suspects.some(condition, SHOWN_ROWS) for kind, condition in KINDS.items()}
    columns = _columns_that_differ(run, [key for keys in found["different"].values() for key in keys])
    names = [column.name for column in run.table.keys] or ["row's hash"]
    for kind, rows in found.items():
        for id_ in rows:
            key = dict(zip(names, split(id_), strict=True))
            yield Difference(key=key, kind=kind, columns=tuple(columns.get(id_, ())))


@again
def _columns_that_differ(run: _Run, keys: Sequence[str]) -> dict[str, list[str]]:
    """Read the rows once more and name the differing columns; none for a key that occurs twice."""
    if not keys:
        return {}
    chosen = run.suspects.choose(keys)
    with look(run.parameters, run.table) as source:
        here = {row.id: row.value for batch in source.tidied(chosen) for row in batch}
    there = {row.id: row.value for batch in run.lake.tidied() for row in batch}
    return {id_: differing(here[id_], there[id_], run.table.columns) for id_ in here.keys() & there.keys()}
