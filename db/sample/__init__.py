"""Sample rows in the shape of Northwind's and Pagila's: `northwind.sql` and `pagila.sql`, with names of our own."""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from db.dump import read_dump
from db.tables import TABLES, Cell, Chunk, Row

FOLDER = Path(__file__).parent
ORDERS = 829
_FIRST_DAY, _LAST_DAY = date(1996, 7, 4), date(1998, 5, 6)
_LAST_ORDER = 11077
# More orders than this history holds make its days busier, not longer.
_LONGEST_HISTORY_DAYS = 3650
_DATES = [TABLES["orders"].index(name) for name in ("order_date", "required_date", "shipped_date")]


def generate(scale: int = 1) -> Iterator[Chunk]:
    """Yield all tables' rows, parents before children; the orders come `scale` times, with ids and dates of their own.

    The first block is the same whatever the scale.
    """
    rows = read_dump(FOLDER / "northwind.sql")
    yield from rows.items()
    days = min((_LAST_DAY - _FIRST_DAY).days, _LONGEST_HISTORY_DAYS / max(1, scale - 1))
    for block in range(1, scale):
        first = _LAST_ORDER + 1 + (block - 1) * ORDERS
        ids = {row[0]: str(first + place) for place, row in enumerate(rows["orders"])}
        yield "orders", [(ids[row[0]], *_later(row, timedelta(days=round(block * days)))[1:]) for row in rows["orders"]]
        yield "order_details", [(ids[row[0]], *row[1:]) for row in rows["order_details"]]


def row_counts(scale: int = 1) -> dict[str, int]:
    """Return how many rows `generate` yields of each table."""
    counts = {table: len(rows) for table, rows in read_dump(FOLDER / "northwind.sql").items()}
    return counts | {table: counts[table] * scale for table in ("orders", "order_details")}


def _later(order: Row, shift: timedelta) -> list[Cell]:
    cells = list(order)
    for column in _DATES:
        if cells[column] is not None:
            cells[column] = (date.fromisoformat(str(cells[column])) + shift).isoformat()
    return cells
