"""Compares and repairs a pipeline's tables for `./lake reconcile`: shows progress and reports the result."""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from local.comparison.compare import Limits, Progress, TableComparison
from local.comparison.report import print_comparison, write
from local.comparison.run import Repairs, Sides, compare_tables

REPORT = "reconcile.json"


def reconcile_tables(
    console: Console,
    sides: Sides,
    limits: Limits,
    *,
    pipeline: str,
    report: Path,
    repairs: Repairs | None = None,
    aside: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Compare tables, print each result as soon as it is known, write all to `report`; return whether all are equal.

    `aside`: tables whose data doesn't flow, with the reason; they aren't compared.
    Raises LoadError when the source can't be reached.
    """
    found, started = [], time.monotonic()
    order = [table.entry.name for table in sides.tables]
    with _bars(console) as on_progress:
        flowing = replace(sides, tables=[table for table in sides.tables if table.entry.name not in aside])
        compared = compare_tables(flowing, limits, on_progress=on_progress, repairs=repairs)
        problems = ((name, f"it is set aside: {aside[name]}") for name in order if name in aside)
        not_compared = (TableComparison(table=name, problem=problem) for name, problem in problems)
        for one in itertools.chain(not_compared, compared):
            found.append(one)
            print_comparison(console, one)
    write(report, pipeline, sorted(found, key=lambda one: order.index(one.table)) if order else found)
    equal = sum(one.equal for one in found)
    seconds = time.monotonic() - started
    if len(found) > 1:
        console.print(
            f"{equal} of {len(found)} tables are equal, {seconds:.0f} s: {report}", highlight=False, soft_wrap=True
        )
    return equal == len(found)


@contextlib.contextmanager
def _bars(console: Console) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar per side of the table being compared; nothing without a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[tuple[str, str], TaskID] = {}

        def on_progress(step: Progress) -> None:
            key = (step.table, step.what)
            if key not in tasks:
                for former in [task for (table, _), task in tasks.items() if table != step.table]:
                    bars.update(former, visible=False)
                tasks[key] = bars.add_task(f"{step.table}: {step.what}", total=step.of)
            bars.update(tasks[key], completed=step.rows, total=step.of)

        yield on_progress
