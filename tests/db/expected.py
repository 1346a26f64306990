"""The expected outbox, built in Python from the plain tables: it shares no SQL with the outbox."""

import functools
import json
from typing import Any

from psycopg2.extensions import connection as Connection

Document = dict[str, Any]
_SHIPMENT = ("freight", "ship_name", "ship_address", "ship_city", "ship_region", "ship_postal_code", "ship_country")
_KEYS = {
    "products": "product_id",
    "suppliers": "supplier_id",
    "categories": "category_id",
    "customers": "customer_id",
    "shippers": "shipper_id",
    "region": "region_id",
    "territories": "territory_id",
}
# Columns that no event shows.
HIDDEN = {
    "products": ("units_in_stock", "units_on_order", "reorder_level"),
    "categories": ("picture",),
    "employees": ("photo",),
}
_HEAD = ("order_id", "customer_id", "order_date", "required_date", "shipped_date")


def expected_outbox(connection: Connection) -> dict[int, Document]:
    """Return, for every order, the outbox row that follows from the tables."""
    tables = {
        name: _rows(connection, name)
        for name in (*_KEYS, "orders", "order_details", "employees", "employee_territories")
    }
    by_key = {name: {row[key]: row for row in tables[name]} for name, key in _KEYS.items()}
    products = {
        key: {**_supplied_by(by_key["suppliers"], row), **by_key["categories"][row["category_id"]]}
        for key, row in by_key["products"].items()
    }
    employees = {row["employee_id"]: {**row, "territories": []} for row in tables["employees"]}
    for link in sorted(tables["employee_territories"], key=lambda row: str(row["territory_id"])):
        territory = by_key["territories"][link["territory_id"]]
        employees[link["employee_id"]]["territories"].append({**territory, **by_key["region"][territory["region_id"]]})
    lines: dict[int, list[Document]] = {}
    for line in sorted(tables["order_details"], key=lambda row: int(row["product_id"])):
        item = {column: value for column, value in line.items() if column != "order_id"}
        lines.setdefault(line["order_id"], []).append(item)
    return {
        order["order_id"]: {
            **{column: order[column] for column in _HEAD},
            "order_items": lines.get(order["order_id"]),
            "products": [products[line["product_id"]] for line in lines.get(order["order_id"], [])] or None,
            "customer": by_key["customers"].get(order["customer_id"]),
            "employee": employees.get(order["employee_id"]),
            "shipper": by_key["shippers"].get(order["ship_via"]),
            "shipment": {column: order[column] for column in _SHIPMENT},
        }
        for order in tables["orders"]
    }


def _supplied_by(suppliers: dict[Any, Document], product: Document) -> Document:
    """A product without a supplier still has the supplier's columns, empty."""
    nobody = dict.fromkeys(next(iter(suppliers.values())))
    return {**suppliers.get(product["supplier_id"], nobody), **product}


def actual_outbox(connection: Connection) -> dict[int, Document]:
    """Return the outbox's rows without `updated_at`."""
    return {row["order_id"]: row for row in _rows(connection, "cdc_events")}


def _rows(connection: Connection, table: str) -> list[Document]:
    with connection.cursor() as cursor:
        hidden = list(HIDDEN.get(table, ("updated_at",)))
        cursor.execute(f"SELECT (to_jsonb(t) - %s)::text FROM datalake.{table} t", (hidden,))
        return [_parsed(text) for (text,) in cursor.fetchall()]


@functools.lru_cache(maxsize=50_000)
def _parsed(text: str) -> Document:
    """Parse a row; most rows are the same in all tests. The result is shared: don't change it."""
    row: Document = json.loads(text)
    return row
