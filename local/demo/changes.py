"""The changes that the demo walks through: two after the README's series and four of our own, each one transaction."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contract.source import SCHEMA

INSERTED_ORDER = 11075


@dataclass(frozen=True, kw_only=True)
class Change:
    """One transaction on the source: its statements, the orders whose lake rows it touches, what to show of them.

    `orders` is a query for order ids that runs in the same transaction, after the statements. `shows` is a column of
    the outbox, or a path into one of its JSON columns.
    """

    name: str
    statements: tuple[str, ...]
    orders: str
    shows: str


def only(order_id: int) -> str:
    """Write the query for one order."""
    return f"SELECT {order_id}"


CHANGES = (
    Change(
        name="ship order 11077",
        statements=(f"UPDATE {SCHEMA}.orders SET shipped_date = '1998-06-15' WHERE order_id = 11077",),
        orders=only(11077),
        shows="shipped_date",
    ),
    Change(
        name="insert order 11075 with three lines",
        statements=(
            f"INSERT INTO {SCHEMA}.orders VALUES (11075, 'RICSU', 8, '1998-05-06', '1998-06-03', NULL, 2, 6.19,"
            " 'Richter Supermarkt', 'Starenweg 5', 'Genève', NULL, '1204', 'Switzerland')",
            f"INSERT INTO {SCHEMA}.order_details VALUES (11075, 2, 19, 10, 0.15)",
            f"INSERT INTO {SCHEMA}.order_details VALUES (11075, 46, 12, 30, 0.15)",
            f"INSERT INTO {SCHEMA}.order_details VALUES (11075, 76, 18, 2, 0.15)",
        ),
        orders=only(INSERTED_ORDER),
        shows="order_items",
    ),
    Change(
        name="edit a line of order 10248",
        statements=(f"UPDATE {SCHEMA}.order_details SET quantity = 15 WHERE order_id = 10248 AND product_id = 11",),
        orders=only(10248),
        shows="order_items",
    ),
    Change(
        name="delete a line of order 10248",
        statements=(f"DELETE FROM {SCHEMA}.order_details WHERE order_id = 10248 AND product_id = 72",),
        orders=only(10248),
        shows="order_items",
    ),
    Change(
        name="rename customer VINET",
        statements=(f"UPDATE {SCHEMA}.customers SET company_name = 'Vins Chevalier SA' WHERE customer_id = 'VINET'",),
        orders=f"SELECT order_id FROM {SCHEMA}.orders WHERE customer_id = 'VINET' ORDER BY order_id",
        shows="customer.company_name",
    ),
    Change(
        name="delete order 11075",
        statements=(
            f"DELETE FROM {SCHEMA}.order_details WHERE order_id = 11075",
            f"DELETE FROM {SCHEMA}.orders WHERE order_id = 11075",
        ),
        orders=only(INSERTED_ORDER),
        shows="order_items",
    ),
)


def show(row: Mapping[str, Any] | None, what: str) -> str:
    """Write what a change shows of a row: `quantity x #product` for the order's items, else the value at the path."""
    if row is None:
        return "no row"
    column, *path = what.split(".")
    value = row.get(column)
    if isinstance(value, str) and (path or column == "order_items"):
        value = json.loads(value)
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if column == "order_items":
        items = ", ".join(f"{item['quantity']} x #{item['product_id']}" for item in value or [])
        return f"items: {items or 'none'}"
    return f"{path[-1] if path else column}: {value}"
