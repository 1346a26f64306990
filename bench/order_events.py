"""Events of the orders' outbox, as Debezium's connector sends them."""

import json
from collections.abc import Iterator
from typing import Any

from contract import events, source
from contract.events import CREATE, DELETE, DELETED, LSN, OPERATION, SOURCE_TIME_MS, UPDATE


def first(count: int) -> Iterator[str]:
    """Write events of orders, most of them new."""
    orders = max(count * 4 // 5, 1)
    return (_line(at % orders, at, CREATE if at < orders else UPDATE) for at in range(count))


def later(count: int, after: int) -> Iterator[str]:
    orders = max(after * 4 // 5, 1)
    return (_line(at * 37 % orders, after + at, DELETE if at % 10 == 0 else UPDATE) for at in range(count))


def _line(order: int, lsn: int, operation: str) -> str:
    products = [(order + place) % 77 + 1 for place in range(1 + order % 3)]
    customer = {"customer_id": f"C{order % 89}", "company_name": "Müller & Söhne", "city": "Köln", "phone": "0221-9629"}
    event = {
        "order_id": order,
        "customer_id": customer["customer_id"],
        "order_date": 20_000 + order % 700,
        "required_date": 20_030 + order % 700,
        "shipped_date": None if order % 5 == 0 else 20_010 + order % 700,
        "order_items": _document([{"product_id": one, "quantity": lsn % 50, "unit_price": 14.5} for one in products]),
        "products": _document([{"product_id": one, "product_name": f"Product {one}"} for one in products]),
        "customer": _document(customer),
        "employee": _document({"employee_id": order % 9, "last_name": "Buchanan", "title": "Sales Manager"}),
        "shipper": _document({"shipper_id": order % 3, "company_name": "Speedy Express"}),
        "shipment": _document({"freight": order % 9000 / 100, "ship_city": "Reims", "ship_country": "France"}),
        "updated_at": f"2026-11-20T23:{lsn % 60:02}:11.{lsn % 1_000_000:06}Z",
        DELETED: str(operation == DELETE).lower(),
        OPERATION: operation,
        events.DATABASE: source.DATABASE,
        events.TABLE: source.OUTBOX_TABLE,
        events.SCHEMA: source.SCHEMA,
        LSN: 1000 + lsn,
        SOURCE_TIME_MS: 1_795_216_992_726 + lsn,
    }
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _document(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
