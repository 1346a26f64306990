"""Shows a benchmark's tables, and records them where `./lake dev bench all` asks for it."""

import itertools
import json
import math
import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from contract.errors import UserError

# The file that gets a line of JSON for each table; unset where a benchmark runs by itself.
RECORD = "BENCH_RECORD"
WIDTH = 120
# Several numbers are what the runs of one thing took.
Value = str | int | float | None | Sequence[float]


def check_names(option: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise UserError if a name isn't known."""
    known = [*known]
    if wrong := [name for name in given if name not in known]:
        raise UserError(f"{option} {', '.join(wrong)}: no such name; there are {', '.join(known)}")


def show(name: str, title: str, heads: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
    """Print a table, and record it under its name: a later one of the same name takes its place."""
    rows = [[*row] for row in rows]
    table = Table(*heads, title=title)
    for row in rows:
        table.add_row(*map(text, row))
    Console(width=WIDTH).print(table)
    if path := os.environ.get(RECORD):
        rows = json.loads(json.dumps(rows), parse_float=lambda digits: float(f"{float(digits):.5g}"))
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, "title": title, "heads": [*heads], "rows": rows}) + "\n")


def bounds(count: int, parts: int) -> list[tuple[int, int]]:
    """Return the bounds of a sequence's parts, as slices take them, without empty ones."""
    ends = itertools.pairwise(count * part // parts for part in range(parts + 1))
    return [(first, last) for first, last in ends if first < last]


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile of one or more values: the smallest that 95 % of them don't exceed."""
    return sorted(values)[math.ceil(len(values) * 95 / 100) - 1]


def text(value: Value) -> str:
    """Write a cell; of several runs the median, with the least and the most."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int | float):
        return number(value, value)
    middle = statistics.median(value)
    if len(value) == 1:
        return number(middle, middle)
    return f"{number(middle, middle)} ({number(min(value), middle)}-{number(max(value), middle)})"


def number(value: float, like: float) -> str:
    """Write a number with the digits that `like` needs."""
    whole = isinstance(value, int) or abs(like) >= 100
    digits = 0 if whole else 1 if abs(like) >= 10 else 2
    return f"{value:,.{digits}f}"
