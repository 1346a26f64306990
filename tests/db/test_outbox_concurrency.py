"""Overlapping transactions: in any order of their steps, the outbox ends consistent with the tables."""

import itertools
import random

import pytest

from tests import cases
from tests.db.conftest import WALK_THROUGH, Sessions, Shop, writers_at_work
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("left_consistent")]

# Runs the commit's pass now, with all its locks, while the transaction stays open: the latest moment at which another
# transaction can come in between.
FLUSH = "SET CONSTRAINTS ALL IMMEDIATE"


def assert_the_second_waits(sessions: Sessions, first: str, second: str) -> None:
    """Run each in a session of its own, the second one while the first one's commit has all its locks."""
    one, other = sessions(), sessions()
    one.run(first, FLUSH)
    waiting = other.start_and_block(second, "COMMIT")
    one.run("COMMIT")
    waiting.result(PATIENCE_S)


HEAD = "UPDATE orders SET shipped_date = '1998-06-15' WHERE order_id = 11077"
LINE = "UPDATE order_details SET quantity = 99 WHERE order_id = 11077"
WAITS = {
    "two first lines": (
        "INSERT INTO order_details VALUES (1, 1, 1, 1, 0)",
        "INSERT INTO order_details VALUES (1, 2, 1, 1, 0)",
    ),
    "two lines go": (
        "DELETE FROM order_details WHERE order_id = 10248 AND product_id = 11",
        "DELETE FROM order_details WHERE order_id = 10248 AND product_id = 42",
    ),
    "head, then line": (HEAD, LINE),
    "line, then head": (LINE, HEAD),
    "order goes, then its customer is renamed": (
        "DELETE FROM order_details WHERE order_id = 11077; DELETE FROM orders WHERE order_id = 11077",
        "UPDATE customers SET company_name = 'Renamed' WHERE customer_id = 'RATTC'",
    ),
}


@pytest.mark.parametrize(("first", "second"), WAITS.values(), ids=WAITS)
def test_the_second_change_of_an_order_waits(shop: Shop, sessions: Sessions, first: str, second: str) -> None:
    shop.run("INSERT INTO orders (order_id) VALUES (1)")
    assert_the_second_waits(sessions, first, second)


@pytest.mark.parametrize("statement", ["UPDATE orders SET freight = 1", "UPDATE order_details SET quantity = 99"])
def test_an_old_snapshot_doesnt_write_over_another_part(shop: Shop, sessions: Sessions, statement: str) -> None:
    old, new = sessions("REPEATABLE READ"), sessions()
    old.run("SELECT 1 FROM region")
    new.run("UPDATE customers SET company_name = 'Renamed' WHERE customer_id = 'VINET'", "COMMIT")
    old.run(f"{statement} WHERE order_id = 10248", "COMMIT")
    shop.drain()


# An edit of a row that orders embed, and a transaction that makes another order embed it.
NEW_PLACE = (
    "INSERT INTO employee_territories SELECT 5, min(territory_id) FROM territories"
    " WHERE territory_id NOT IN (SELECT territory_id FROM employee_territories)"
)
RACES = {
    "customer and new order": (
        "UPDATE customers SET company_name = 'Renamed' WHERE customer_id = 'RICSU'",
        WALK_THROUGH,
    ),
    "customer and order that changes hands": (
        "UPDATE customers SET company_name = 'Renamed' WHERE customer_id = 'RICSU'",
        ("UPDATE orders SET customer_id = 'RICSU' WHERE order_id = 10248",),
    ),
    "employee and new order": ("UPDATE employees SET last_name = 'Renamed' WHERE employee_id = 8", WALK_THROUGH),
    "shipper and new order": ("UPDATE shippers SET company_name = 'Renamed' WHERE shipper_id = 2", WALK_THROUGH),
    "product and new line": (
        "UPDATE products SET product_name = 'Renamed' WHERE product_id = 1",
        ("INSERT INTO order_details VALUES (10248, 1, 1, 1, 0)",),
    ),
    "product and line that changes": (
        "UPDATE products SET product_name = 'Renamed' WHERE product_id = 1",
        ("UPDATE order_details SET product_id = 1 WHERE order_id = 10248 AND product_id = 42",),
    ),
    "supplier and product that changes supplier": (
        "UPDATE suppliers SET company_name = 'Renamed' WHERE supplier_id = 1",
        ("UPDATE products SET supplier_id = 1 WHERE product_id = 11",),
    ),
    "category and product that changes category": (
        "UPDATE categories SET category_name = 'Renamed' WHERE category_id = 8",
        ("UPDATE products SET category_id = 8 WHERE product_id = 11",),
    ),
    "territory and employee who gets it": ("UPDATE territories SET territory_description = 'Renamed'", (NEW_PLACE,)),
    "region and employee who gets a place in it": ("UPDATE region SET region_description = 'Renamed'", (NEW_PLACE,)),
}


# Each race runs; these in each order of their steps, when many orders embed the row, and from an old snapshot.
REPRESENTATIVE = {"customer and new order", "product and new line", "region and employee who gets a place in it"}
# The commit writes an edit if few orders embed the row; otherwise it is written later.
INLINE = {"few": 10_000, "many": 0}


@pytest.mark.parametrize(
    ("orders", "first", "race"),
    [
        (orders, first, race)
        if race in REPRESENTATIVE or (orders, first) == ("few", "edit")
        else cases.long(orders, first, race)
        for orders, first, race in itertools.product(INLINE, ["edit", "link"], RACES)
    ],
)
def test_an_edit_and_a_new_reference_meet(shop: Shop, sessions: Sessions, race: str, first: str, orders: str) -> None:
    edit, link = RACES[race]
    shop.run(f"UPDATE outbox_settings SET inline_orders = {INLINE[orders]}, piece_orders = 200")
    one, other = sessions(), sessions()
    early, late = ((edit,), link) if first == "edit" else (link, (edit,))
    # Both have changed their rows before either commits; neither sees the other's.
    other.run(*late)
    one.run(*early, FLUSH)
    waiting = other.start_and_block("COMMIT")
    one.run("COMMIT")
    waiting.result(PATIENCE_S)
    if orders == "many":
        shop.drain()


@pytest.mark.parametrize("late", ["edit", "link"])
@pytest.mark.parametrize(
    ("isolation", "race"),
    [
        *(
            ("REPEATABLE READ", race) if race in REPRESENTATIVE else cases.long("REPEATABLE READ", race)
            for race in RACES
        ),
        ("SERIALIZABLE", "customer and new order"),
    ],
)
def test_an_old_snapshot_is_caught_up(shop: Shop, sessions: Sessions, isolation: str, race: str, late: str) -> None:
    edit, link = RACES[race]
    last, between = ((edit,), link) if late == "edit" else (link, (edit,))
    old, new = sessions(isolation), sessions()
    old.run("SELECT 1 FROM region")
    new.run(*between, "COMMIT")
    # It can't see what has been committed meanwhile, and writes nothing itself.
    old.run(*last, "COMMIT")
    shop.drain()


def test_an_order_written_between_a_frozen_edit_and_the_drain_is_found(shop: Shop, sessions: Sessions) -> None:
    old, sale, worker = sessions("REPEATABLE READ"), sessions(), sessions()
    old.run("UPDATE customers SET company_name = 'Renamed' WHERE customer_id = 'RICSU'")
    # Its document is assembled before the edit is committed; the transaction ends only after it.
    sale.run(*WALK_THROUGH, FLUSH)
    old.run("COMMIT")
    waiting = worker.start_and_block("SELECT outbox_drain_step()")
    sale.run("COMMIT")
    waiting.result(PATIENCE_S)
    worker.run("COMMIT")
    shop.drain()


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_frozen_snapshot_alone_works(shop: Shop, sessions: Sessions, isolation: str) -> None:
    session = sessions(isolation)
    session.run(*WALK_THROUGH, "UPDATE products SET unit_price = 1 WHERE product_id IN (2, 46)", "COMMIT")
    session.run(
        "DELETE FROM order_details WHERE order_id = 11075", "DELETE FROM orders WHERE order_id = 11075", "COMMIT"
    )
    shop.drain()


def test_sessions_that_only_change_orders_dont_wait_for_one_another(sessions: Sessions) -> None:
    one, other = sessions(), sessions()
    one.run(*WALK_THROUGH, "UPDATE orders SET freight = 1 WHERE order_id = 10248", FLUSH)
    other.run("UPDATE orders SET ship_via = 1 WHERE order_id = 10249", "COMMIT")
    one.run("COMMIT")


def test_all_that_a_commit_reads_is_locked_before(shop: Shop) -> None:
    watched = shop.values("SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'outbox_truncate'")
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT datalake.outbox_readable()")
        assert cursor.fetchone() == (True,)
        cursor.execute("SELECT relation::regclass::text FROM pg_locks WHERE pid = pg_backend_pid() AND granted")
        locked = {name.removeprefix("datalake.") for (name,) in cursor.fetchall() if name}
    assert len(watched) == 11
    assert locked >= {name.removeprefix("datalake.") for name in watched}


DDL = {
    "a sale": ("suppliers", WALK_THROUGH, "products"),
    "an edit": ("categories", ("UPDATE products SET product_name = 'Renamed' WHERE product_id = 1",), "products"),
    "a new row": (
        "orders",
        ("INSERT INTO customers (customer_id, company_name) VALUES ('NEWCO', 'New')",),
        "customers",
    ),
}


@pytest.mark.parametrize("work", DDL)
def test_ddl_of_two_tables_never_ends_work_that_it_made_wait(shop: Shop, sessions: Sessions, work: str) -> None:
    first, statements, second = DDL[work]
    ddl, application = sessions(), sessions()
    ddl.run(f"ALTER TABLE {first} NO FORCE ROW LEVEL SECURITY")
    # The application waits for the first table, if it ever does; the second one is the application's.
    waiting = application.start_and_settle(*statements, "COMMIT")
    altered = ddl.start(f"ALTER TABLE {second} NO FORCE ROW LEVEL SECURITY", "COMMIT")
    waiting.result(PATIENCE_S)
    altered.result(PATIENCE_S)
    shop.drain()


def _sale(chance: random.Random, order_id: int) -> list[str]:
    products = sorted(chance.sample(range(1, 78), 2))
    return [
        f"INSERT INTO orders (order_id, customer_id, employee_id, ship_via) VALUES ({order_id}, 'RICSU', 8, 2)",
        *(f"INSERT INTO order_details VALUES ({order_id}, {product}, 1, 1, 0)" for product in products),
        *(f"UPDATE products SET unit_price = {chance.randint(1, 99)} WHERE product_id = {key}" for key in products),
    ]


def _shipment(chance: random.Random, _: int) -> list[str]:
    orders = sorted(chance.sample(range(10248, 10260), 2))
    return [f"UPDATE orders SET freight = {chance.randint(1, 99)} WHERE order_id = {order_id}" for order_id in orders]


def _rename(chance: random.Random, _: int) -> list[str]:
    return [f"UPDATE customers SET company_name = '{chance.random()}' WHERE customer_id = 'RICSU'"]


def _line(chance: random.Random, _: int) -> list[str]:
    order_id = chance.randint(10248, 10260)
    return [f"UPDATE order_details SET quantity = {chance.randint(1, 99)} WHERE order_id = {order_id}"]


def test_ordinary_work_of_four_sessions_has_no_deadlock_and_leaves_nothing_stale(shop: Shop) -> None:
    seed = cases.chance().randrange(10**9)
    chances = [random.Random(seed + number) for number in range(4)]

    def statements(number: int, turn: int) -> list[str]:
        kind = chances[number].choice((_sale, _shipment, _rename, _line))
        return kind(chances[number], 20_000 + 10_000 * number + turn)

    with writers_at_work(shop, statements, count=4, pause_s=0) as writers:
        writers.wait_for_more(150)
    assert writers.failures == []


def test_a_head_that_goes_back_is_not_overtaken_by_the_queue(shop: Shop, sessions: Sessions) -> None:
    before = shop.value("SELECT freight FROM orders WHERE order_id = 10248")
    change = "UPDATE orders SET freight = {} WHERE order_id = 10248"
    old, back, worker = sessions("REPEATABLE READ"), sessions(), sessions()
    old.run(change.format(4711), "COMMIT")
    # The outbox doesn't say 4711 yet, so this seems to change nothing there.
    back.run(change.format(before), FLUSH)
    waiting = worker.start_and_block("SELECT outbox_drain_step()")
    back.run("COMMIT")
    waiting.result(PATIENCE_S)
    worker.run("COMMIT")
    shop.drain()
