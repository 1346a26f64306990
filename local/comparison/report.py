"""Reports a comparison: a line per table with the first differing rows, and a file for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from local.comparison.compare import Difference, TableComparison

IN_THE_LAKE = "in the lake"


def print_comparison(console: Console, found: TableComparison, *, there: str = IN_THE_LAKE) -> None:
    for line in lines(found, there=there):
        console.print(line, style=None if found.equal else "red", highlight=False, markup=False, soft_wrap=True)


def lines(found: TableComparison, *, there: str = IN_THE_LAKE) -> list[str]:
    """Return a table's line, then its differing rows (keys and columns, no values) and what wasn't compared."""
    below = [*map(_difference, found.shown), *found.notes]
    return [_line(found, there), *(f"  {line}" for line in below)]


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
    return f"{_row(one)}; an event of it is in quarantine: {one.quarantined}" if one.quarantined else _row(one)


def _row(one: Difference) -> str:
    key = ", ".join(f"{name} = {'NULL' if value is None else value}" for name, value in one.key.items())
    if one.kind == "late":
        return f"not in the lake yet: {key}"
    if one.kind != "different":
        return f"{one.kind}: {key}"
    return f"different: {key} in {', '.join(one.columns) or 'how often it is there'}"


def write(path: Path, pipeline: str, found: Sequence[TableComparison]) -> None:
    """Write everything as JSON, atomically."""
    tables = [{**asdict(one), "equal": one.equal} for one in found]
    document = {
        "pipeline": pipeline,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "equal": all(one.equal for one in found),
        "tables": tables,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.rename(path)
