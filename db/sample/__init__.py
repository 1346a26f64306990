"""Generated stand-in for the Northwind data: same tables and cardinalities, names of our own, repeatable by seed."""

import random
from collections.abc import Iterator

from db.sample.customers import customers
from db.sample.products import categories, products, shippers, suppliers
from db.sample.sales import LINES_PER_BLOCK, ORDERS_PER_BLOCK, Sales
from db.sample.staff import employee_territories, employees, regions, territories
from db.sample.states import us_states
from db.tables import TABLES, Chunk, Row

DEFAULT_SEED = 10248


def generate(scale: int = 1, seed: int = DEFAULT_SEED) -> Iterator[Chunk]:
    """Yield all tables' rows, parents before children; orders come in blocks of 829, `scale` of them.

    The first block is the same whatever the scale.
    """
    fixed = _fixed_tables(seed)
    yield from fixed.items()
    sales = Sales(seed, scale, fixed["customers"], fixed["products"])
    for block in range(scale):
        orders, lines = sales.block(block)
        yield "orders", orders
        yield "order_details", lines


def row_counts(scale: int = 1) -> dict[str, int]:
    """Return how many rows `generate` yields of each table."""
    fixed = _fixed_tables(DEFAULT_SEED)
    counts = {table: len(fixed.get(table, ())) for table in TABLES}
    return {**counts, "orders": ORDERS_PER_BLOCK * scale, "order_details": LINES_PER_BLOCK * scale}


def _fixed_tables(seed: int) -> dict[str, list[Row]]:
    """Return the tables whose size doesn't depend on the scale; each has a generator of its own."""

    def source(table: str) -> random.Random:
        return random.Random(f"{seed}/{table}")  # noqa: S311 - sample data, no secret

    return {
        "us_states": us_states(),
        "region": regions(),
        "territories": territories(source("territories")),
        "employees": employees(source("employees")),
        "employee_territories": employee_territories(source("territories")),
        "customers": customers(source("customers")),
        "shippers": shippers(source("shippers")),
        "categories": categories(),
        "suppliers": suppliers(source("suppliers")),
        "products": products(source("products")),
    }
