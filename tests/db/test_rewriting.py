"""Rewritten rows create events newer than all before; keys without a row get a delete event."""

import json
import threading

import pytest
from psycopg2.extensions import cursor as Cursor

from db import rewriting
from db.connecting import LoadError
from tests.db.conftest import Shop
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration


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


def test_a_row_that_is_gone_meanwhile_needs_no_event(shop: Shop, cursor: Cursor) -> None:
    rewriting.rewrite_rows(cursor, [10248, 99_999])
    assert [event.order_id for event in shop.events()] == [10248]


def test_a_key_without_a_row_gets_a_delete_and_one_with_a_row_stays(shop: Shop, cursor: Cursor) -> None:
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


@pytest.mark.parametrize(
    "where", ["no_such_column = 1", "order_id = ", "TRUE); DELETE FROM datalake.cdc_events; SELECT (1"]
)
def test_a_wrong_condition_is_one_line_and_changes_nothing(shop: Shop, cursor: Cursor, where: str) -> None:
    rows = shop.value("SELECT count(*) FROM cdc_events")
    with pytest.raises(LoadError) as refused:
        rewriting.select_keys(cursor, where)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("--where ")
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
