"""Sample rows in the shape of Northwind's and Pagila's: `northwind.sql` and `pagila.sql`, with names of our own."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

Cell = str | int | float | None
Row = tuple[Cell, ...]
# A table's name and some of its rows, columns in the order of TABLES.
Chunk = tuple[str, Sequence[Row]]

_CONTACT = "company_name contact_name contact_title address city region postal_code country phone fax"

# As in 01_tables.sql, parents before children.
TABLES: Mapping[str, tuple[str, ...]] = {
    name: tuple(columns.split())
    for name, columns in {
        "us_states": "state_id state_name state_abbr state_region",
        "region": "region_id region_description",
        "territories": "territory_id territory_description region_id",
        "employees": "employee_id last_name first_name title title_of_courtesy birth_date hire_date address city region"
        " postal_code country home_phone extension photo notes reports_to photo_path",
        "employee_territories": "employee_id territory_id",
        "customer_demographics": "customer_type_id customer_desc",
        "customers": f"customer_id {_CONTACT}",
        "customer_customer_demo": "customer_id customer_type_id",
        "shippers": "shipper_id company_name phone",
        "categories": "category_id category_name description picture",
        "suppliers": f"supplier_id {_CONTACT} homepage",
        "products": "product_id product_name supplier_id category_id quantity_per_unit unit_price units_in_stock"
        " units_on_order reorder_level discontinued",
        "orders": "order_id customer_id employee_id order_date required_date shipped_date ship_via freight ship_name"
        " ship_address ship_city ship_region ship_postal_code ship_country",
        "order_details": "order_id product_id unit_price quantity discount",
    }.items()
}

# The walk-through inserts this order, so no data set includes it.
WALK_THROUGH_ORDER = 11075

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the rows in the text format of COPY, a line each."""
    for row in rows:
        yield "\t".join(_copy_field(cell) for cell in row) + "\n"


def _copy_field(cell: Cell) -> str:
    if cell is None:
        return r"\N"
    return cell.translate(_ESCAPES) if isinstance(cell, str) else str(cell)


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
