"""The changes of `make demo`: two after the README's series and four of our own."""

from contract.source import SCHEMA
from local.demo.change import AffectedRows, Change, only

INSERTED_ORDER = 11075


def _orders(keys: str, shows: str) -> tuple[AffectedRows, ...]:
    return (AffectedRows(what="order", keys=keys, shows=(shows,)),)


CHANGES = (
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
