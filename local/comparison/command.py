"""Compares and repairs a pipeline's tables for `./lake reconcile`: prints progress and results, writes a report."""

import contextlib
import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from contract.errors import printable
from local.comparison.compare import Difference, OnProgress, TableComparison
from local.comparison.run import Repairs, Sides, compare_tables
from local.files import write_private

IN_THE_LAKE = "in the lake"
REPORT = "reconcile.json"


def put(console: Console, line: str, *, style: str | None = None) -> None:
    """Print a line as it is, without markup."""
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def print_comparison(console: Console, found: TableComparison, *, there: str = IN_THE_LAKE) -> None:
    for line in lines(found, there=there):
        put(console, line, style=None if found.equal else "red")


def lines(found: TableComparison, *, there: str = IN_THE_LAKE) -> list[str]:
    """Return a table's line, then its differing rows (keys and columns, no values) and what wasn't compared."""
    below = [*map(_difference, found.shown), *found.notes]
    return [_line(found, there), *(f"  {printable(line)}" for line in below)]


def _line(found: TableComparison, there: str) -> str:
    if found.problem:
        return f"{found.table}  not compared: {found.problem}"
    took = f"{found.seconds:.1f} s"
    took = f"{found.repaired:,} rows repaired, {took}" if found.repaired else took
    if found.equal:
        return f"{found.table}  equal  {found.source_rows:,} rows  {took}"
    counts = ("missing", "extra", "different")
    what = [f"{getattr(found, name):,} {name}" for name in counts if getattr(found, name)]
    if found.late:
        what.append(f"{found.late:,} not in the lake yet")
    if found.absent:
        what.append(f"the lake has no column {', '.join(found.absent)}")
    if found.unlike:
        what.append(f"{', '.join(found.unlike)} can't be compared")
    rows = f"{found.source_rows:,} rows, {found.lake_rows:,} {there}"
    return f"{found.table}  differs  {', '.join(what)}  {rows}  {took}"


def _difference(one: Difference) -> str:
    key = ", ".join(f"{name} = {'NULL' if value is None else value}" for name, value in one.key.items())
    line = f"{'not in the lake yet' if one.kind == 'late' else one.kind}: {key}"
    if one.kind == "different":
        line += f" in {', '.join(one.columns) or 'how often it is there'}"
    return f"{line}; an event of it is in quarantine: {one.quarantined}" if one.quarantined else line


def write(path: Path, pipeline: str, found: Sequence[TableComparison]) -> None:
    """Write everything as JSON, atomically; `line`: a table's line on the page, the copy its lake or the outbox."""
    tables = [{**asdict(one), "equal": one.equal, "line": _line(one, "in the copy")} for one in found]
    document = {
        "pipeline": pipeline,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "equal": all(one.equal for one in found),
        "tables": tables,
    }
    write_private(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def reconcile_tables(
    console: Console,
    sides: Sides,
    *,
    timeout_s: float,
    pipeline: str,
    report: Path,
    repairs: Repairs | None = None,
    aside: Mapping[str, str] = MappingProxyType({}),
    derived: Sequence[str] = (),
    before: Sequence[TableComparison] = (),
) -> bool:
    """Compare tables, print each result as soon as it is known, write all to `report`; return whether all are equal.

    `aside`: tables whose data doesn't flow, with the reason; they aren't compared. `derived`: the lake's
    other tables, which can't be. `before`: further comparisons for the report.
    Raises LoadError when the source can't be reached.
    """
    found, started = [], time.monotonic()
    for name in derived:
        put(console, f"{name} is derived from the lake's tables, not from the source's: see docs/aws/analysts.md")
    order = [table.entry.name for table in sides.tables]
    with _bars(console) as on_progress:
        flowing = replace(sides, tables=[table for table in sides.tables if table.entry.name not in aside])
        compared = compare_tables(flowing, timeout_s=timeout_s, on_progress=on_progress, repairs=repairs)
        problems = ((name, f"it is set aside: {aside[name]}") for name in order if name in aside)
        not_compared = (TableComparison(table=name, problem=problem) for name, problem in problems)
        for one in itertools.chain(not_compared, compared):
            found.append(one)
            print_comparison(console, one)
    in_order = sorted(found, key=lambda one: order.index(one.table)) if order else found
    write(report, pipeline, [*before, *in_order])
    equal = sum(one.equal for one in found)
    seconds = time.monotonic() - started
    if len(found) > 1:
        put(console, f"{equal} of {len(found)} tables are equal, {seconds:.0f} s: {report}")
    return equal == len(found)


@contextlib.contextmanager
def _bars(console: Console) -> Iterator[OnProgress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[tuple[str, str], TaskID] = {}

        def on_progress(table: str, what: str, rows: int, of: int) -> None:
            if (table, what) not in tasks:
                for former in [task for (other, _), task in tasks.items() if other != table]:
                    bars.update(former, visible=False)
                tasks[table, what] = bars.add_task(f"{table}: {what}", total=of)
            bars.update(tasks[table, what], completed=rows, total=of)

        yield on_progress
