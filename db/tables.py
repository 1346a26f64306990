"""The source tables' names, columns and load order, and rows to be loaded."""

from collections.abc import Iterator, Mapping, Sequence

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
