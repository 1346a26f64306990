"""Every kind of change reaches the outbox, once per order and transaction."""

import json

import psycopg2
import pytest

from tests.db.conftest import WALK_THROUGH, Shop, role_of
from tests.db.pgoutput import Event

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("left_consistent")]


def changes(events: list[Event]) -> list[tuple[str, int]]:
    return sorted((event.op, event.order_id) for event in events)


def document(event: Event, column: str) -> object:
    assert event.after is not None
    text = event.after[column]
    return None if text is None else json.loads(text)


def test_a_load_leaves_829_orders_as_the_tables_say(any_shop: Shop) -> None:
    assert any_shop.value("SELECT count(*) FROM cdc_events") == 829
    any_shop.assert_consistent()
    counts = {
        "customers": 91,
        "products": 77,
        "employees": 9,
        "suppliers": 29,
        "categories": 8,
        "shippers": 6,
        "territories": 53,
        "region": 4,
        "us_states": 51,
        "employee_territories": 49,
        "orders": 829,
        "order_details": 2152,
        "customer_demographics": 0,
        "customer_customer_demo": 0,
    }
    assert {table: any_shop.value(f"SELECT count(*) FROM {table}") for table in counts} == counts
    assert any_shop.value("SELECT count(DISTINCT customer_id) FROM orders") == 89
    assert any_shop.value("SELECT count(*) FROM orders WHERE shipped_date IS NULL") == 20
    assert any_shop.values("SELECT DISTINCT employee_id FROM employee_territories ORDER BY 1") == list(range(1, 10))


def test_a_new_order_with_three_lines_is_one_event(any_shop: Shop) -> None:
    (event,) = any_shop.commit(*WALK_THROUGH)
    assert (event.op, event.order_id) == ("c", 11075)
    items = document(event, "order_items")
    assert isinstance(items, list)
    assert [item["product_id"] for item in items] == [2, 46, 76]


def test_shipping_an_order_is_one_event_with_the_whole_row_before_and_after(any_shop: Shop) -> None:
    (event,) = any_shop.commit("UPDATE orders SET shipped_date = '1998-06-15' WHERE order_id = 11077")
    assert event.op == "u"
    assert event.before is not None
    assert event.after is not None
    different = {column for column in event.after if event.after[column] != event.before[column]}
    assert different == {"shipped_date", "updated_at"}
    assert (event.before["shipped_date"], event.after["shipped_date"]) == (None, "1998-06-15")


def test_nothing_new_is_no_event(shop: Shop) -> None:
    for statement in (
        "UPDATE orders SET shipped_date = shipped_date",
        "UPDATE order_details SET quantity = quantity",
        "UPDATE customers SET company_name = company_name",
        "UPDATE orders SET freight = 1 WHERE order_id = 1",
        "INSERT INTO customers VALUES ('NEWCU', 'New')",
        "INSERT INTO shippers VALUES (7, 'New', NULL)",
        "UPDATE us_states SET state_name = 'x'",
    ):
        assert shop.commit(statement) == [], statement


FIRST = "WHERE order_id = 10248"
LINE = f"{FIRST} AND product_id = 42"
CHANGES = {
    "line edited": ([f"UPDATE order_details SET quantity = 99 {LINE}"], [("u", 10248)]),
    "line deleted": ([f"DELETE FROM order_details {LINE}"], [("u", 10248)]),
    "all lines deleted": ([f"DELETE FROM order_details {FIRST}"], [("u", 10248)]),
    "lines moved": (
        ["UPDATE order_details SET order_id = 10248 WHERE order_id = 11077 AND product_id NOT IN (11, 42, 72)"],
        [("u", 10248), ("u", 11077)],
    ),
    "line's product changed": ([f"UPDATE order_details SET product_id = 1 {LINE}"], [("u", 10248)]),
    "customer changed": ([f"UPDATE orders SET customer_id = 'RICSU' {FIRST}"], [("u", 10248)]),
    "customer removed": ([f"UPDATE orders SET customer_id = NULL {FIRST}"], [("u", 10248)]),
    "employee and shipper changed": ([f"UPDATE orders SET employee_id = 1, ship_via = NULL {FIRST}"], [("u", 10248)]),
    "two shipments edited": (
        ["UPDATE orders SET freight = 1, ship_name = NULL WHERE order_id IN (10248, 11077)"],
        [("u", 10248), ("u", 11077)],
    ),
    "two shipments edited, one of them given to another shipper": (
        [
            "UPDATE orders SET freight = 1, ship_via = CASE order_id WHEN 10248 THEN 1 ELSE ship_via END"
            " WHERE order_id IN (10248, 11077)"
        ],
        [("u", 10248), ("u", 11077)],
    ),
    "orders without anything": (["INSERT INTO orders (order_id) VALUES (1), (2)"], [("c", 1), ("c", 2)]),
    "come and gone": (["INSERT INTO orders (order_id) VALUES (1)", "DELETE FROM orders WHERE order_id = 1"], []),
    "gone and come": (
        [
            f"CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM orders {FIRST}",
            f"DELETE FROM order_details {FIRST}",
            f"DELETE FROM orders {FIRST}",
            "INSERT INTO orders SELECT * FROM kept",
        ],
        [("u", 10248)],
    ),
    "come under another id": (
        ["INSERT INTO orders (order_id) VALUES (1)", "UPDATE orders SET order_id = 2 WHERE order_id = 1"],
        [("c", 2)],
    ),
    "edited twice": (
        [f"UPDATE orders SET freight = 1 {FIRST}", f"UPDATE orders SET freight = 2 {FIRST}"],
        [("u", 10248)],
    ),
    "edited all over": (
        [
            f"UPDATE order_details SET quantity = 1 {FIRST}",
            f"UPDATE orders SET freight = 0.5 {FIRST}",
            f"UPDATE orders SET ship_via = 1 {FIRST}",
        ],
        [("u", 10248)],
    ),
    "upsert": (
        [
            "INSERT INTO orders (order_id, freight) VALUES (10248, 7)"
            " ON CONFLICT (order_id) DO UPDATE SET freight = excluded.freight"
        ],
        [("u", 10248)],
    ),
    "merge": (
        [
            "MERGE INTO orders o USING (VALUES (10248), (3)) AS v(id) ON o.order_id = v.id"
            " WHEN MATCHED THEN UPDATE SET freight = 8 WHEN NOT MATCHED THEN INSERT (order_id) VALUES (v.id)"
        ],
        [("c", 3), ("u", 10248)],
    ),
    "two tables in one statement": (
        [
            f"WITH gone AS (DELETE FROM order_details {FIRST} RETURNING product_id)"
            " UPDATE order_details SET quantity = 77 WHERE order_id = 11077"
        ],
        [("u", 10248), ("u", 11077)],
    ),
    "taken back by a savepoint": (
        [
            f"UPDATE orders SET freight = 1 {FIRST}",
            "SAVEPOINT here",
            "UPDATE orders SET freight = 2 WHERE order_id IN (10248, 10249)",
            "UPDATE customers SET company_name = 'x'",
            "ROLLBACK TO here",
            "UPDATE orders SET freight = 3 WHERE order_id = 10250",
        ],
        [("u", 10248), ("u", 10250)],
    ),
}


@pytest.mark.parametrize(("statements", "expected"), CHANGES.values(), ids=CHANGES)
def test_each_changed_order_is_one_event(shop: Shop, statements: list[str], expected: list[tuple[str, int]]) -> None:
    assert changes(shop.commit(*statements)) == expected


def test_an_order_may_change_its_id(shop: Shop) -> None:
    shop.commit("INSERT INTO orders (order_id, freight) VALUES (1, 5)")
    assert changes(shop.commit("UPDATE orders SET order_id = 2 WHERE order_id = 1")) == [("c", 2), ("d", 1)]


def test_a_deleted_order_leaves_with_its_whole_row(any_shop: Shop) -> None:
    (event,) = any_shop.commit(
        "DELETE FROM order_details WHERE order_id = 10248", "DELETE FROM orders WHERE order_id = 10248"
    )
    assert event.op == "d"
    assert event.before is not None
    assert event.before["customer_id"] == "VINET"
    assert event.before["order_items"] is not None
    assert any_shop.commit(*WALK_THROUGH)[0].op == "c"


EDITS = {
    "customer": ("UPDATE customers SET company_name = 'Renamed' WHERE customer_id = 'RATTC'", "customer_id = 'RATTC'"),
    "employee": ("UPDATE employees SET last_name = 'Renamed' WHERE employee_id = 5", "employee_id = 5"),
    "shipper": ("UPDATE shippers SET phone = 'Renamed' WHERE shipper_id = 3", "ship_via = 3"),
    "territory": (
        "UPDATE territories SET territory_description = 'Renamed' WHERE territory_id ="
        " (SELECT min(territory_id) FROM employee_territories WHERE employee_id = 5)",
        "employee_id IN (SELECT employee_id FROM employee_territories WHERE territory_id ="
        " (SELECT min(territory_id) FROM employee_territories WHERE employee_id = 5))",
    ),
    "region": (
        "UPDATE region SET region_description = 'Renamed' WHERE region_id = 1",
        "employee_id IN (SELECT employee_id FROM employee_territories JOIN territories USING (territory_id)"
        " WHERE region_id = 1)",
    ),
    "territory taken": (
        "DELETE FROM employee_territories WHERE employee_id = 5 AND territory_id ="
        " (SELECT min(territory_id) FROM employee_territories WHERE employee_id = 5)",
        "employee_id = 5",
    ),
    "territory given": (
        "INSERT INTO employee_territories SELECT 5, min(territory_id) FROM territories WHERE territory_id NOT IN"
        " (SELECT territory_id FROM employee_territories WHERE employee_id = 5)",
        "employee_id = 5",
    ),
    "territory passed on": (
        "UPDATE employee_territories SET employee_id = 6 WHERE employee_id = 5",
        "employee_id IN (5, 6)",
    ),
    "product": (
        "UPDATE products SET product_name = 'Renamed' WHERE product_id = 11",
        "order_id IN (SELECT order_id FROM order_details WHERE product_id = 11)",
    ),
    "supplier": (
        "UPDATE suppliers SET city = 'Renamed' WHERE supplier_id = 5",
        "order_id IN (SELECT order_id FROM order_details JOIN products USING (product_id) WHERE supplier_id = 5)",
    ),
    "category": (
        "UPDATE categories SET description = 'Renamed' WHERE category_id = 4",
        "order_id IN (SELECT order_id FROM order_details JOIN products USING (product_id) WHERE category_id = 4)",
    ),
    "supplier of a product": (
        "UPDATE products SET supplier_id = NULL WHERE product_id = 11",
        "order_id IN (SELECT order_id FROM order_details WHERE product_id = 11)",
    ),
}


def test_an_edit_of_what_orders_embed_touches_exactly_those_orders(any_shop: Shop) -> None:
    for edit, (statement, condition) in EDITS.items():
        embedding = any_shop.values(f"SELECT order_id FROM orders WHERE {condition} ORDER BY order_id")
        assert 0 < len(embedding) < 829, edit
        events = any_shop.commit(statement) + any_shop.drain()
        assert changes(events) == [("u", order_id) for order_id in embedding], edit
        any_shop.assert_consistent()


def test_an_edit_and_a_new_order_that_embeds_it_make_one_event_for_the_order(shop: Shop) -> None:
    events = shop.commit(*WALK_THROUGH, "UPDATE products SET unit_price = unit_price + 1 WHERE product_id IN (2, 46)")
    assert len({event.order_id for event in events}) == len(events) > 1
    assert [event.op for event in events if event.order_id == 11075] == ["c"]


def test_truncating_lines_empties_all_orders_and_truncating_orders_deletes_them(any_shop: Shop) -> None:
    events = any_shop.commit("TRUNCATE order_details") + any_shop.drain()
    assert [event.op for event in events] == ["u"] * 829
    assert all(event.after is not None and event.after["order_items"] is None for event in events)
    events = any_shop.commit("TRUNCATE orders CASCADE") + any_shop.drain()
    assert [event.op for event in events] == ["d"] * 829


def test_constraints_set_immediate_write_per_statement_and_stay_right(shop: Shop) -> None:
    events = shop.commit("SET CONSTRAINTS ALL IMMEDIATE", *WALK_THROUGH)
    assert [event.op for event in events] == ["c", "u", "u", "u"]


def test_updated_at_rises_with_each_event_of_an_order(shop: Shop) -> None:
    times = []
    for day in range(1, 4):
        (event,) = shop.commit(f"UPDATE orders SET shipped_date = '1998-07-0{day}' WHERE order_id = 11077")
        assert event.after is not None
        times.append(event.after["updated_at"] or "")
    assert times == sorted(set(times))


def test_a_user_of_the_tables_needs_no_right_on_the_outbox(shop: Shop) -> None:
    with role_of(shop.parameters, "clerk") as login:
        shop.run(
            "GRANT USAGE ON SCHEMA datalake TO clerk; GRANT SELECT, INSERT, UPDATE ON orders, order_details TO clerk"
        )
        clerk = shop.connect(**login)
        with clerk, clerk.cursor() as cursor:
            # A temporary table of the same name must not be mistaken for ours.
            cursor.execute("CREATE TEMP TABLE orders AS SELECT 1 AS order_id")
            cursor.execute("UPDATE datalake.orders SET shipped_date = '1998-06-15' WHERE order_id = 11077")
        assert changes(shop.events()) == [("u", 11077)]
        for statement in (
            "SELECT 1 FROM datalake.cdc_events",
            "INSERT INTO datalake.outbox_pending VALUES (pg_current_xact_id(), 'everything', '{}', 15)",
            "CALL datalake.usp_init_order_events()",
            "SELECT datalake.outbox_write('{10248}', '{15}')",
        ):
            with pytest.raises(psycopg2.errors.InsufficientPrivilege), clerk, clerk.cursor() as cursor:
                cursor.execute(statement)
        clerk.close()


def test_init_repairs_what_was_changed_without_triggers_and_nothing_else(shop: Shop) -> None:
    shop.commit(
        "SET session_replication_role = replica",
        "UPDATE orders SET freight = 1 WHERE order_id = 10248",
        "DELETE FROM order_details WHERE order_id = 10249",
        "DELETE FROM orders WHERE order_id = 10249",
        "INSERT INTO orders (order_id) VALUES (1)",
        "DELETE FROM cdc_events WHERE order_id = 10250",
    )
    assert changes(shop.commit("CALL usp_init_order_events()")) == [("c", 1), ("c", 10250), ("d", 10249), ("u", 10248)]


def test_a_lost_outbox_row_comes_back_whole_with_the_next_change_of_its_order(shop: Shop) -> None:
    shop.commit("DELETE FROM cdc_events WHERE order_id = 10248")
    assert changes(shop.commit("UPDATE orders SET freight = 1 WHERE order_id = 10248")) == [("c", 10248)]
