"""Sample rows in the shape of Northwind's and Pagila's: `northwind.sql` and `pagila.sql`, with names of our own."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

from db.tables import TABLES, Cell, Chunk, Row

FOLDER = Path(__file__).parent
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
