"""What `./lake reconcile` does with the tables of a pipeline: compares, shows how far it is, repairs, and reports."""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from local.comparison.compare import Limits, Progress, TableComparison
from local.comparison.describe import Compared
from local.comparison.report import lines, write
from local.comparison.run import ArrivalsOf, Repairs, compare_tables

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

REPORT = "reconcile.json"
Show = Callable[[str], None]


def reconcile_tables(
    console: Console,
    parameters: Mapping[str, Any],
    tables: Sequence[Compared],
    limits: Limits,
    *,
    pipeline: str,
    report: Path,
    salt: str = "",
    repairs: Repairs | None = None,
    arrivals: ArrivalsOf | None = None,
    s3: "S3Client | None" = None,
    aside: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Compare tables, print a line for each as soon as it is known, write all to `report`; tell whether all are equal.

    `aside`: tables that nothing comes of, with the reason; they aren't compared.
    Raises LoadError when the source can't be reached.
    """
    found, started = [], time.monotonic()
    with _bars(console) as on_progress:
        flowing = [table for table in tables if table.entry.name not in aside]
        compared = compare_tables(
            parameters, flowing, limits, salt=salt, on_progress=on_progress, repairs=repairs, arrivals=arrivals, s3=s3
        )
        for one in itertools.chain(_not_compared(tables, aside), compared):
            found.append(one)
            for line in lines(one):
                style = None if one.equal else "red"
                console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)
    order = [table.entry.name for table in tables]
    write(report, pipeline, sorted(found, key=lambda one: order.index(one.table)) if order else found)
    equal = sum(one.equal for one in found)
    seconds = time.monotonic() - started
    if len(found) > 1:
        console.print(
            f"{equal} of {len(found)} tables are equal, {seconds:.0f} s: {report}", highlight=False, soft_wrap=True
        )
    return equal == len(found)


def _not_compared(tables: Sequence[Compared], aside: Mapping[str, str]) -> Iterator[TableComparison]:
    for name in (table.entry.name for table in tables):
        if name in aside:
            yield TableComparison(table=name, problem=f"it is set aside: {aside[name]}")


@contextlib.contextmanager
def _bars(console: Console) -> Iterator[Callable[[Progress], None]]:
    """Show a bar for each side of the table that is being compared; nothing where nobody watches."""
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
