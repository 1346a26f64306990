"""A stale outbox is found, by row and column; a correct one isn't reported."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from local.comparison import reconcile
from local.comparison.compare import TableComparison
from local.comparison.reconcile import compare_outbox
from local.platform.platform import Platform
from local.services.postgres import Postgres
from tests.db.conftest import Shop, Template, shop_copy, template  # noqa: F401  (a fixture)

pytestmark = pytest.mark.integration


@pytest.fixture
def shop(postgres: Postgres, template: Template) -> Iterator[Shop]:  # noqa: F811  (the fixture)
    with shop_copy(postgres, template("generated")) as copy:
        yield copy


def without_triggers(shop: Shop, *statements: str) -> None:
    for statement in ("SET session_replication_role = replica", *statements, "SET session_replication_role = origin"):
        shop.run(statement)


def test_an_outbox_that_is_right_is_equal(shop: Shop) -> None:
    found = compare_outbox(shop.parameters, timeout_s=0)
    assert found.equal
    assert (found.source_rows, found.lake_rows, found.columns) == (829, 829, 11)


def test_what_changed_with_triggers_off_is_found_by_order_and_column(shop: Shop) -> None:
    without_triggers(
        shop,
        "UPDATE shippers SET phone = 'stale' WHERE shipper_id = 1",
        "UPDATE orders SET freight = 4711, order_date = 'infinity' WHERE order_id = 10248",
        "DELETE FROM order_details WHERE order_id = 10250",
        "DELETE FROM orders WHERE order_id = 10250",
        "DELETE FROM cdc_events WHERE order_id = 10252",
    )
    found = compare_outbox(shop.parameters, timeout_s=0)
    assert not found.equal
    shown = {(one.kind, one.key["order_id"]): one.columns for one in found.shown}
    assert {key for kind, key in shown if kind == "missing"} == {"10252"}
    assert {key for kind, key in shown if kind == "extra"} == {"10250"}
    shipped = {str(key) for key in shop.values("SELECT order_id FROM orders WHERE ship_via = 1")} - {"10252"}
    assert (found.missing, found.extra, found.different) == (1, 1, len(shipped | {"10248"}))
    assert set(shown["different", "10248"]) >= {"order_date", "shipment"}
    others = {key: columns for (kind, key), columns in shown.items() if kind == "different" and key != "10248"}
    assert others.keys() <= shipped
    assert all("shipper" in columns for columns in others.values())


def test_what_arrives_while_it_looks_is_no_difference(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    without_triggers(shop, "UPDATE orders SET freight = 4711 WHERE order_id = 10248")
    rounds: list[TableComparison] = []
    look = reconcile._look

    def look_and_repair(parameters: Any, keys: Sequence[str] | None) -> tuple[TableComparison, list[str]]:
        comparison, differing = look(parameters, keys)
        rounds.append(comparison)
        if len(rounds) == 1:
            shop.run("CALL usp_init_order_events()")
        return comparison, differing

    monkeypatch.setattr(reconcile, "_look", look_and_repair)
    found = compare_outbox(shop.parameters, timeout_s=20)
    assert [comparison.equal for comparison in rounds] == [False, True]
    assert (found.source_rows, found.lake_rows, found.position) == (829, 829, rounds[0].position)


def test_the_command_shows_both_comparisons_and_fails_for_a_stale_outbox(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Platform, "source", shop.parameters)
    monkeypatch.setattr(reconcile, "_refuse_to_wait_in_vain", lambda _platform: None)
    monkeypatch.setattr(reconcile, "reconcile_platform", lambda *_args, **_options: True)
    run = CliRunner().invoke(app, ["reconcile", "--deep", "--timeout", "0"])
    assert run.exit_code == 0, run.output
    assert "tables and outbox  equal  829 rows" in run.output
    without_triggers(shop, "UPDATE orders SET freight = 4711 WHERE order_id = 10248")
    run = CliRunner().invoke(app, ["reconcile", "--deep", "--timeout", "0"])
    assert run.exit_code == 1
    assert "different: order_id = 10248 in shipment" in run.output
    assert "829 in the outbox" in run.output
    assert CliRunner().invoke(app, ["reconcile", "--timeout", "0"]).exit_code == 0
