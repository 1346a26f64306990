"""Sample rows in the shape of Northwind's and Pagila's: `northwind.sql` and `pagila.sql`, with names of our own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

Cell = str | int | float | None
Row = tuple[Cell, ...]
# A table's name and some of its rows, columns in the order of TABLES.
Chunk = tuple[str, Sequence[Row]]

FOLDER = Path(__file__).parent


def columns_of(script: str) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table that a script of ours creates, in its order."""
    tables = re.findall(r"CREATE TABLE (?:\w+\.)?(\w+) \((.*?)^\);", script, re.MULTILINE | re.DOTALL)
    return {name: tuple(re.findall(r"^ {4}(\w+)", body, re.MULTILINE)) for name, body in tables}


TABLES = columns_of((FOLDER.parent / "sql" / "01_tables.sql").read_text(encoding="utf-8"))
# The walk-through inserts this order, so no data set includes it.
WALK_THROUGH_ORDER = 11075

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the rows in the text format of COPY, a line each."""
    for row in rows:
        yield "\t".join(r"\N" if cell is None else str(cell).translate(_ESCAPES) for cell in row) + "\n"


NORTHWIND = FOLDER / "northwind.sql"
ORDERS = 829
_FIRST_DAY, _LAST_DAY = date(1996, 7, 4), date(1998, 5, 6)
_LAST_ORDER = 11077
# Above this many days, more orders make the history's days busier, not longer.
_LONGEST_HISTORY_DAYS = 3650
_REPEATED = ("orders", "order_details")
_DATES = [TABLES["orders"].index(name) for name in ("order_date", "required_date", "shipped_date")]


def repeated(rows: Mapping[str, Sequence[Row]], scale: int) -> Iterator[Chunk]:
    """Yield all tables' rows; then the orders again until they came `scale` times, with their own ids and dates."""
    yield from rows.items()
    days = min((_LAST_DAY - _FIRST_DAY).days, _LONGEST_HISTORY_DAYS / max(1, scale - 1))
    for block in range(1, scale):
        first = _LAST_ORDER + 1 + (block - 1) * ORDERS
        ids = {row[0]: str(first + place) for place, row in enumerate(rows["orders"])}
        yield "orders", [(ids[row[0]], *_later(row, timedelta(days=round(block * days)))[1:]) for row in rows["orders"]]
        yield "order_details", [(ids[row[0]], *row[1:]) for row in rows["order_details"]]


def row_counts(rows: Mapping[str, Sequence[Row]], scale: int) -> dict[str, int]:
    """Return how many rows `repeated` yields of each table."""
    return {table: len(found) * (scale if table in _REPEATED else 1) for table, found in rows.items()}


def _later(order: Row, shift: timedelta) -> list[Cell]:
    cells = list(order)
    for column in _DATES:
        if cells[column] is not None:
            cells[column] = (date.fromisoformat(str(cells[column])) + shift).isoformat()
    return cells
