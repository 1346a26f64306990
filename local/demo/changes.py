"""Changes of the walk-throughs: a transaction on the source each, and the lake rows that it affects."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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


def _changes(file: str) -> tuple[Change, ...]:
    """Read the changes of a walk-through; orders.sql says what its comments mean."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    return tuple(map(_change, text.split("-- change: ")[1:]))


def _change(text: str) -> Change:
    made, *rows = text.split("\n-- ")
    name, _, statements = made.partition("\n")
    reaches = []
    for shown, _, keys in (row.partition("\n") for row in rows):
        what, _, columns = shown.partition(": ")
        shows = tuple(columns.split(", "))
        reaches.append(AffectedRows(what=what, keys=keys.strip().removesuffix(";"), shows=shows))
    each = tuple(" ".join(statement.split()) for statement in statements.split(";")[:-1])
    return Change(name=name, statements=each, reaches=tuple(reaches))


ORDER_CHANGES, PLACE_CHANGES = _changes("orders.sql"), _changes("places.sql")
