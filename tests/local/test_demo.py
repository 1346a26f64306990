"""What the demo shows of a row, and what its summary calls equal."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.demo.change import show
from local.demo.order_changes import CHANGES
from local.demo.orders import OrdersProof
from local.demo.summary import StepResult, Summary

ITEMS = [{"product_id": 11, "quantity": 12}, {"product_id": 42, "quantity": 10}]


@pytest.mark.parametrize("items", [ITEMS, json.dumps(ITEMS)], ids=["from the source", "from topic or lake"])
def test_items_are_shown_as_quantity_and_product(items: Any) -> None:
    assert show({"order_items": items}, "order_items") == "items: 12 x #11, 10 x #42"


def test_a_path_leads_into_a_json_column() -> None:
    row = {"customer": '{"company_name": "Vins Chevalier SA"}'}
    assert show(row, "customer.company_name") == "company_name: Vins Chevalier SA"


@pytest.mark.parametrize(
    ("row", "what", "shown"),
    [
        (None, "order_items", "no row"),
        ({"order_items": None}, "order_items", "items: none"),
        ({"customer": None}, "customer.company_name", "company_name: None"),
        ({"shipped_date": 10392}, "shipped_date", "shipped_date: 10392"),
    ],
)
def test_what_is_not_there_is_shown_as_such(row: dict[str, Any] | None, what: str, shown: str) -> None:
    assert show(row, what) == shown


def test_the_walk_through_has_inserts_updates_and_deletes() -> None:
    verbs = {statement.split()[0] for change in CHANGES for statement in change.statements}
    assert verbs == {"INSERT", "UPDATE", "DELETE"}


def proof(**differences: int) -> OrdersProof:
    counts = {"missing": 0, "extra": 0, "different": 0, "quarantined": 0} | differences
    return OrdersProof(source_rows=829, lake_rows=829, events=847, **counts)


def test_any_difference_and_any_quarantined_event_is_not_equal() -> None:
    assert proof().equal
    for name in ("missing", "extra", "different", "quarantined"):
        assert not proof(**{name: 1}).equal


def test_the_summary_is_written_as_json(tmp_path: Path) -> None:
    steps = [StepResult(name="initial load", seconds_to_lake=9.5)]
    Summary(proof=proof(), seconds_total=80.0, steps=steps).write(tmp_path / "new" / "summary.json")
    written = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert written["steps"] == [{"name": "initial load", "seconds_to_lake": 9.5}]
    assert written["source_rows"] == 829
    assert (written["events"], written["seconds_total"]) == (847, 80.0)
