"""Events as Debezium's connector sends them: of the orders' outbox, and of a table with 30 columns of plain types."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from contract import events, source
from contract.events import CREATE, DELETE, DELETED, LSN, OPERATION, SOURCE_TIME_MS, UPDATE

# A row's columns, given its key, its customer's number and what changes with each event.
Columns = Callable[[int, int], dict[str, Any]]
KEY, CUSTOMERS = "order_id", 100


def first(count: int, columns: Columns) -> Iterator[str]:
    """Write events of orders, most of them new."""
    orders = max(count * 4 // 5, 1)
    return (_line(at % orders, at, CREATE if at < orders else UPDATE, columns) for at in range(count))


def later(count: int, after: int, columns: Columns) -> Iterator[str]:
    """Write changes of these orders, a tenth of them deletes."""
    orders = max(after * 4 // 5, 1)
    return (_line(at * 37 % orders, after + at, DELETE if at % 10 == 0 else UPDATE, columns) for at in range(count))


def _line(order: int, lsn: int, operation: str, columns: Columns) -> str:
    event = {
        KEY: order,
        **columns(order, lsn),
        "updated_at": _time(lsn),
        DELETED: str(operation == DELETE).lower(),
        OPERATION: operation,
        events.DATABASE: source.DATABASE,
        events.TABLE: source.OUTBOX_TABLE,
        events.SCHEMA: source.SCHEMA,
        LSN: 1000 + lsn,
        SOURCE_TIME_MS: 1_795_216_992_726 + lsn,
    }
    return as_sent(event)


def as_sent(event: Mapping[str, Any]) -> str:
    """Return an event's text as Debezium writes it: the job needs longer for any other form."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _time(number: int) -> str:
    return f"2026-11-20T23:{number % 60:02}:11.{number % 1_000_000:06}Z"


def outbox(order: int, lsn: int) -> dict[str, Any]:
    """Return an order's columns; it stays with its customer."""
    products = [(order + place) % 77 + 1 for place in range(1 + order % 3)]
    name = f"C{order % CUSTOMERS}"
    customer = {"customer_id": name, "company_name": "Müller & Söhne", "city": "Köln", "phone": "0221-9629"}
    return {
        "customer_id": name,
        "order_date": 20_000 + order % 700,
        "required_date": 20_030 + order % 700,
        "shipped_date": None if order % 5 == 0 else 20_010 + order % 700,
        "order_items": _document([{"product_id": one, "quantity": lsn % 50, "unit_price": 14.5} for one in products]),
        "products": _document([{"product_id": one, "product_name": f"Product {one}"} for one in products]),
        "customer": _document(customer),
        "employee": _document({"employee_id": order % 9, "last_name": "Buchanan", "title": "Sales Manager"}),
        "shipper": _document({"shipper_id": order % 3, "company_name": "Speedy Express"}),
        "shipment": _document({"freight": order % 9000 / 100, "ship_city": "Reims", "ship_country": "France"}),
    }


def _document(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _typed(type_: str, meaning: str) -> dict[str, str]:
    return {"type": type_, "connect.name": f"io.debezium.time.{meaning}"}


# With the key and the time of the last change a row has 30.
_KINDS: tuple[tuple[Any, Callable[[int], Any]], ...] = (
    ("int", lambda number: number % 1_000_003),
    ("long", lambda number: number * 7919),
    ("double", lambda number: number % 9973 / 8),
    ("boolean", lambda number: number % 3 == 0),
    ("string", lambda number: f"text {number % 9973} é"),
    (_typed("int", "Date"), lambda number: number % 30_000),
    (_typed("string", "ZonedTimestamp"), _time),
)
_WIDE = {f"c{place:02}": _KINDS[place % len(_KINDS)] for place in range(28)}


def wide(order: int, lsn: int) -> dict[str, Any]:
    """Return 28 columns; an eleventh of them is null, and a quarter changes with each event."""
    numbers = [order + place * 31 + (lsn if place % 4 == 0 else 0) for place in range(len(_WIDE))]
    return {
        name: value(number) if number % 11 else None
        for (name, (_, value)), number in zip(_WIDE.items(), numbers, strict=True)
    }


def wide_schema(outbox_schema: str) -> str:
    """Return the Avro schema of events with `wide` columns: the outbox's but for these."""
    record: Mapping[str, Any] = json.loads(outbox_schema)
    added = [{"name": name, "type": ["null", kind], "default": None} for name, (kind, _) in _WIDE.items()]
    kept = [field for field in record["fields"] if field["name"] in (KEY, "updated_at") or field["name"][:2] == "__"]
    return json.dumps({**record, "fields": [kept[0], *added, *kept[1:]]})
