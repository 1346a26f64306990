"""What must not get into the outbox, and how it is rewritten during other writes."""

import json
import threading

import psycopg2
import pytest
from psycopg2.extensions import cursor as Cursor

from contract.sizes import LARGEST_EVENT_BYTES, MIB
from db import rewriting
from db.connecting import LoadError
from tests.db.conftest import Sessions, Shop, writers_at_work
from tests.db.test_outbox_concurrency import FLUSH, assert_the_second_waits
from tests.db.test_outbox_transaction import changes
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration


# 3,000 lines of one order, each with a distinct product whose name needs escapes in JSON.
MANY_LINES = (
    "INSERT INTO products (product_id, product_name, discontinued)"
    " SELECT 1000 + n, repeat('\"', 40), 0 FROM generate_series(1, 3000) AS n",
    "INSERT INTO orders (order_id) VALUES (1)",
    "INSERT INTO order_details SELECT 1, 1000 + n, 1, 1, 0 FROM generate_series(1, 3000) AS n",
)


def test_an_order_whose_event_would_be_too_large_is_refused(shop: Shop) -> None:
    # A row with compressed documents may exceed the guard by its changed part: less than 1 MiB.
    assert shop.value("SELECT max_event_bytes FROM outbox_settings") <= LARGEST_EVENT_BYTES - 2 * MIB
    shop.run(f"UPDATE outbox_settings SET max_event_bytes = {MIB}")
    with pytest.raises(psycopg2.errors.ProgramLimitExceeded, match=r"the event of order 1 would have 2\d{6} bytes"):
        shop.commit(*MANY_LINES)
    assert shop.events() == []
    shop.assert_consistent()
    shop.run(f"UPDATE outbox_settings SET max_event_bytes = {8 * MIB}")
    assert shop.commit(*MANY_LINES)[-1].order_id == 1


def test_a_queued_order_that_is_too_large_holds_up_no_other_and_is_shown_until_it_may_be_as_large(shop: Shop) -> None:
    shop.commit(*MANY_LINES)
    shop.run(f"UPDATE outbox_settings SET max_event_bytes = {MIB}, inline_orders = 0")
    shop.commit("INSERT INTO order_details SELECT 10248, 1001, 1, 1, 0")
    # It waits for order 1, which has become too large, and for order 10248.
    shop.commit("UPDATE products SET product_name = 'Renamed' WHERE product_id = 1001")
    assert changes(shop.drain()) == [("u", 10248)]
    assert shop.value("SELECT ROW(entries, failing, orders)::text FROM outbox_lag") == "(1,1,1)"
    assert "the event of order 1 would have" in shop.value("SELECT error FROM outbox_lag")
    shop.run("UPDATE outbox_settings SET max_event_bytes = DEFAULT; UPDATE outbox_queue SET due_at = now()")
    assert changes(shop.drain()) == [("u", 1)]
    assert shop.value("SELECT entries FROM outbox_lag") == 0


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_the_outbox_isnt_written_again_from_an_old_snapshot(shop: Shop, isolation: str) -> None:
    with pytest.raises(psycopg2.errors.InvalidTransactionState, match="can't be written at this isolation level"):
        shop.commit(f"SET TRANSACTION ISOLATION LEVEL {isolation}", "CALL usp_init_order_events()")


def test_the_outbox_is_written_again_while_others_write(shop: Shop) -> None:
    def statements(number: int, turn: int) -> list[str]:
        order_id = 10248 + (turn * 7 + number) % 60
        new = f"INSERT INTO orders (order_id) VALUES ({number * 10_000 + 20_000 + turn})"
        return [
            *([new] if turn % 3 == 0 else []),
            f"UPDATE orders SET freight = {turn} WHERE order_id = {order_id}",
            f"UPDATE order_details SET quantity = {turn} WHERE order_id = {order_id}",
            *([f"UPDATE customers SET fax = '{turn}' WHERE customer_id = 'VINET'"] if turn % 7 == 0 else []),
        ]

    # Two of these writers alternate on the same order and customer.
    with writers_at_work(shop, statements, deadlocks=True, pause_s=0) as writers:
        for _ in range(6):
            shop.run("DELETE FROM cdc_events WHERE order_id < 10300")
            shop.run("CALL usp_init_order_events()")
    assert writers.failures == []
    shop.assert_consistent()


def test_a_row_that_somebody_brings_back_at_the_same_time_is_waited_for(shop: Shop, sessions: Sessions) -> None:
    shop.run("DELETE FROM cdc_events WHERE order_id = 10248")
    sale = "UPDATE order_details SET quantity = 99 WHERE order_id = 10248"
    assert_the_second_waits(sessions, sale, "CALL usp_init_order_events()")
    shop.assert_consistent()


FROZEN = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; UPDATE orders SET freight = -1"


@pytest.mark.parametrize(
    "statements",
    [
        # Of the first 501 lines that embed a product, orders have several.
        ("UPDATE products SET product_name = product_name || '!'",),
        (FROZEN,),
        (f"{FROZEN} WHERE order_id < 10662", f"{FROZEN} WHERE order_id >= 10662"),
    ],
    ids=["an edit", "one transaction", "two transactions"],
)
def test_many_events_are_sent_piece_by_piece(shop: Shop, statements: tuple[str, ...]) -> None:
    for statement in statements:
        assert shop.commit(statement) == []
    events = shop.drain()
    assert changes(events) == [("u", order_id) for order_id in shop.values("SELECT order_id FROM orders ORDER BY 1")]
    assert len({event.xid for event in events}) == 2
    shop.assert_consistent()


def test_no_column_of_the_outbox_is_a_number_that_a_reader_could_change(shop: Shop) -> None:
    """Numbers beyond a double or a long are safe only in documents, which travel as text."""
    types = shop.values(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'cdc_events'::regclass AND attnum > 0 AND NOT attisdropped"
    )
    assert set(types) == {"integer", "bpchar", "date", "jsonb", "timestamp with time zone"}


def test_a_writer_that_holds_its_order_holds_up_neither_the_queue_nor_who_drains_it(shop: Shop) -> None:
    shop.run("UPDATE outbox_settings SET inline_orders = 0")
    holder = shop.connect()
    with holder, holder.cursor() as cursor:
        cursor.execute("UPDATE orders SET freight = 1 WHERE order_id = 10248")
        cursor.execute(FLUSH)
        assert shop.commit("UPDATE customers SET company_name = 'Renamed' WHERE customer_id = 'VINET'") == []
        shop.drain()
    left = shop.values("SELECT unnest(keys) FROM outbox_queue")
    assert "10248" in left
    shop.run("UPDATE outbox_queue SET due_at = now()")
    assert sorted(int(key) for key in left) == sorted({event.order_id for event in shop.drain()})
    shop.assert_consistent()


@pytest.fixture
def cursor(shop: Shop) -> Cursor:
    connection = shop.connect()
    connection.autocommit = True
    return connection.cursor()


def test_each_row_makes_one_event_that_says_the_same(shop: Shop, cursor: Cursor) -> None:
    before = shop.values("SELECT to_jsonb(e)::text FROM cdc_events e ORDER BY order_id")
    keys = rewriting.select_keys(cursor, None)
    rewriting.rewrite_rows(cursor, keys)
    events = shop.events()
    assert [event.op for event in events] == ["u"] * len(keys)
    assert [event.order_id for event in events] == keys
    assert shop.values("SELECT to_jsonb(e)::text FROM cdc_events e ORDER BY order_id") == before
    assert all(event.after == event.before for event in events)


def test_a_row_that_a_writer_holds_is_waited_for_with_no_other_row_held(shop: Shop, cursor: Cursor) -> None:
    writer = shop.connect()
    holder = writer.cursor()
    holder.execute("SELECT FROM cdc_events WHERE order_id = 10250 FOR UPDATE")
    keys = list(range(10248, 10260))
    toucher = threading.Thread(target=rewriting.rewrite_rows, args=(cursor, keys))
    toucher.start()
    wait_until(lambda: shop.value("SELECT count(*) FROM pg_locks WHERE NOT granted"))
    # If it held one of the others, this would wait for it, and it for us.
    holder.execute("SET lock_timeout = '2s'")
    holder.execute("SELECT FROM cdc_events WHERE order_id = ANY(%s) FOR UPDATE", (keys,))
    writer.rollback()
    toucher.join(PATIENCE_S)
    assert [event.order_id for event in shop.events()] == [key for key in keys if key != 10250] + [10250]


def test_a_key_without_a_row_gets_a_delete_or_no_event_and_one_with_a_row_stays(shop: Shop, cursor: Cursor) -> None:
    rewriting.rewrite_rows(cursor, [10248, 99_999])
    assert changes(shop.events()) == [("u", 10248)]
    rewriting.emit_deletes(cursor, [10248, 99_998, 99_999])
    assert [(event.op, event.order_id) for event in shop.events()] == [
        ("c", 99_998), ("d", 99_998), ("c", 99_999), ("d", 99_999)
    ]  # fmt: skip
    shop.assert_consistent()


def test_a_key_that_somebody_inserts_meanwhile_is_never_deleted(shop: Shop, cursor: Cursor) -> None:
    writer = shop.connect()
    writer.cursor().execute("INSERT INTO cdc_events (order_id) VALUES (99_999)")
    burier = threading.Thread(target=rewriting.emit_deletes, args=(cursor, [99_999]))
    burier.start()
    wait_until(lambda: shop.value("SELECT count(*) FROM pg_locks WHERE NOT granted"))
    writer.commit()
    burier.join(PATIENCE_S)
    assert [(event.op, event.order_id) for event in shop.events()] == [("c", 99_999)]


def test_a_condition_chooses_rows_of_the_outbox_and_rows_that_only_the_lake_has(cursor: Cursor) -> None:
    assert rewriting.select_keys(cursor, "order_id BETWEEN 10248 AND 10249 -- the first") == [10248, 10249]
    rows = json.dumps([{"order_id": 1, "customer": {"city": "100% {here}"}}, {"order_id": 2}])
    assert rewriting.select_matching(cursor, rows, "customer->>'city' LIKE '100% {%}'") == [1]


def test_a_wrong_condition_is_one_line_and_changes_nothing(shop: Shop, cursor: Cursor) -> None:
    rows = shop.value("SELECT count(*) FROM cdc_events")
    for where in ("", "no_such_column = 1", "order_id = ", "TRUE); COMMIT; DELETE FROM cdc_events; SELECT (1"):
        with pytest.raises(LoadError) as refused:
            rewriting.select_keys(cursor, where)
        assert "\n" not in str(refused.value)
        assert str(refused.value).startswith(f"--where {where}: PostgreSQL refused: ")
        assert shop.value("SELECT count(*) FROM cdc_events") == rows


def test_a_row_whose_event_would_be_too_large_is_found_with_its_size(shop: Shop, cursor: Cursor) -> None:
    shop.run("UPDATE cdc_events SET shipper = jsonb_build_object('x', repeat('\"', 100000)) WHERE order_id = 10249")
    found = rewriting.too_large(cursor, [10248, 10249], 150_000)
    assert list(found) == [10249]
    # A quote is escaped in the document, and both characters again in the event's text.
    assert found[10249] > 300_000


def test_the_log_is_advanced_to_a_position_and_its_readers_see_nothing(shop: Shop, cursor: Cursor) -> None:
    wanted = rewriting.wal_position(cursor) + 30_000_000
    rewriting.advance_wal(cursor, wanted)
    assert wanted <= rewriting.wal_position(cursor) < wanted + 5_000_000
    assert shop.events() == []
