"""Mode `statement`: every statement writes the orders that it touched."""

import json

import pytest

from tests.db.conftest import WALK_THROUGH, Shop
from tests.db.pgoutput import Event
from tests.db.test_outbox_transaction import assert_edits_touch_exactly_the_embedding_orders, changes

pytestmark = pytest.mark.integration


def product_ids(event: Event) -> list[int] | None:
    assert event.after is not None
    items = event.after["order_items"]
    return None if items is None else [item["product_id"] for item in json.loads(items)]


def test_a_new_order_with_three_lines_grows_in_four_events(statement_shop: Shop) -> None:
    events = statement_shop.commit(*WALK_THROUGH)
    assert [event.op for event in events] == ["c", "u", "u", "u"]
    assert {event.order_id for event in events} == {11075}
    assert [product_ids(event) for event in events] == [None, [2], [2, 46], [2, 46, 76]]
    assert len({event.xid for event in events}) == 1
    statement_shop.assert_consistent()


def test_every_statement_counts_even_when_nothing_changes(statement_shop: Shop) -> None:
    events = statement_shop.commit(
        "UPDATE orders SET freight = freight WHERE order_id IN (10248, 10249)",
        "UPDATE order_details SET quantity = quantity WHERE order_id = 10248",
    )
    assert [(event.op, event.order_id) for event in events] == [("u", 10248), ("u", 10249), ("u", 10248)]
    statement_shop.assert_consistent()


def test_an_edit_of_what_orders_embed_touches_exactly_those_orders(statement_shop: Shop) -> None:
    assert_edits_touch_exactly_the_embedding_orders(statement_shop)


def test_a_deleted_order_is_a_delete_event(statement_shop: Shop) -> None:
    events = statement_shop.commit(
        "DELETE FROM order_details WHERE order_id = 10248", "DELETE FROM orders WHERE order_id = 10248"
    )
    assert [(event.op, event.order_id) for event in events] == [("u", 10248), ("d", 10248)]
    statement_shop.assert_consistent()


def test_what_a_savepoint_takes_back_is_not_written(statement_shop: Shop) -> None:
    events = statement_shop.commit(
        "SAVEPOINT here",
        "UPDATE orders SET freight = 2 WHERE order_id = 10248",
        "ROLLBACK TO here",
        "UPDATE orders SET freight = 3 WHERE order_id = 10250",
    )
    assert changes(events) == [("u", 10250)]
    statement_shop.assert_consistent()


def test_truncating_orders_deletes_them(statement_shop: Shop) -> None:
    events = statement_shop.commit("TRUNCATE orders CASCADE") + statement_shop.drain()
    assert [event.op for event in events] == ["d"] * 829
    statement_shop.assert_consistent()
