"""Changes of the walk-throughs: a transaction on the source each, and the lake rows that it affects."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contract.source import SCHEMA

INSERTED_ORDER = 11075
COUNTRY, CITY = "Wakanda", "Birnin Zana"
_NEW_CITY = f"SELECT city_id FROM public.city WHERE city = '{CITY}'"
# Each of them has address 104, and keeps it from being deleted.
PEOPLE = ("customer", "staff", "store")
_CITY_OF_100 = "SELECT city_id FROM public.address WHERE address_id = 100"


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


def _orders(keys: str, shows: str) -> tuple[AffectedRows, ...]:
    return (AffectedRows(what="order", keys=keys, shows=(shows,)),)


ORDER_CHANGES = (
    Change(
        name="ship order 11077",
        statements=(f"UPDATE {SCHEMA}.orders SET shipped_date = '1998-06-15' WHERE order_id = 11077",),
        reaches=_orders(only(11077), "shipped_date"),
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
        reaches=_orders(only(INSERTED_ORDER), "order_items"),
    ),
    Change(
        name="edit a line of order 10248",
        statements=(f"UPDATE {SCHEMA}.order_details SET quantity = 15 WHERE order_id = 10248 AND product_id = 11",),
        reaches=_orders(only(10248), "order_items"),
    ),
    Change(
        name="delete a line of order 10248",
        statements=(f"DELETE FROM {SCHEMA}.order_details WHERE order_id = 10248 AND product_id = 72",),
        reaches=_orders(only(10248), "order_items"),
    ),
    Change(
        name="rename customer VINET",
        statements=(f"UPDATE {SCHEMA}.customers SET company_name = 'Vins Chevalier SA' WHERE customer_id = 'VINET'",),
        reaches=_orders(
            f"SELECT order_id FROM {SCHEMA}.orders WHERE customer_id = 'VINET' ORDER BY order_id",
            "customer.company_name",
        ),
    ),
    Change(
        name="delete order 11075",
        statements=(
            f"DELETE FROM {SCHEMA}.order_details WHERE order_id = 11075",
            f"DELETE FROM {SCHEMA}.orders WHERE order_id = 11075",
        ),
        reaches=_orders(only(INSERTED_ORDER), "order_items"),
    ),
)


def _address(number: int, *shows: str) -> AffectedRows:
    return AffectedRows(what="address", keys=only(number), shows=shows)


def _place(number: int, *shows: str) -> AffectedRows:
    """Return a row of the join."""
    return AffectedRows(what="address_place", keys=only(number), shows=shows)


PLACE_CHANGES = (
    Change(
        name="another street for address 100",
        statements=("UPDATE public.address SET address = '123 CDC Test Lane' WHERE address_id = 100",),
        reaches=(_address(100, "address"), _place(100, "address", "city")),
    ),
    Change(
        name="an apartment for address 101",
        statements=("UPDATE public.address SET address2 = 'Apartment #2201' WHERE address_id = 101",),
        reaches=(_address(101, "address2"),),
    ),
    Change(
        name="another apartment for address 101",
        statements=("UPDATE public.address SET address2 = 'Apartment #2202' WHERE address_id = 101",),
        reaches=(_address(101, "address2"),),
    ),
    Change(
        name=f"insert {COUNTRY} and {CITY}",
        statements=(
            f"INSERT INTO public.country (country) VALUES ('{COUNTRY}')",
            f"INSERT INTO public.city (city, country_id) SELECT '{CITY}', country_id FROM public.country"
            f" WHERE country = '{COUNTRY}'",
        ),
        reaches=(
            AffectedRows(
                what="country",
                keys=f"SELECT country_id FROM public.country WHERE country = '{COUNTRY}'",
                shows=("country",),
            ),
            AffectedRows(what="city", keys=_NEW_CITY, shows=("city", "country_id")),
        ),
    ),
    Change(
        name=f"move address 102 to {CITY}",
        statements=(
            f"UPDATE public.address SET city_id = ({_NEW_CITY}), phone = '110601102', district = 'Lake Turkana'"
            " WHERE address_id = 102",
        ),
        reaches=(_address(102, "city_id", "phone", "district"), _place(102, "district", "city", "country")),
    ),
    Change(
        name="move all from 104, delete it",
        statements=(
            *(f"UPDATE public.{table} SET address_id = 200 WHERE address_id = 104" for table in PEOPLE),
            "DELETE FROM public.address WHERE address_id = 104",
        ),
        reaches=(_address(104, "address"), _place(104, "address")),
    ),
    Change(
        name="rename the city of address 100",
        statements=(f"UPDATE public.city SET city = 'Augusta' WHERE city_id = ({_CITY_OF_100})",),
        reaches=(
            AffectedRows(what="city", keys=_CITY_OF_100, shows=("city",)),
            _place(100, "address", "city"),
        ),
    ),
)
