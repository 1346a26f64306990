"""Changes of a walk-through: a transaction on the source each, and the lake rows that it affects."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class AffectedRows:
    """Rows of one lake table that a change affects.

    `what`: a name for one of them, or with several tables the table's name. `keys`: a query for their keys that runs in
    the same transaction, after the statements. `shows`: columns, or paths into JSON columns.
    """

    what: str
    keys: str
    shows: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One transaction on the source: its statements, and the rows that it affects."""

    name: str
    statements: tuple[str, ...]
    reaches: tuple[AffectedRows, ...]


def only(key: int) -> str:
    """Write the query for one key."""
    return f"SELECT {key}"


def show(row: Mapping[str, Any] | None, *shown: str) -> str:
    """Format a row's columns that a change shows, by name; an order's items as `quantity x #product`."""
    return "no row" if row is None else ", ".join(_show(row, what) for what in shown)


def _show(row: Mapping[str, Any], what: str) -> str:
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
