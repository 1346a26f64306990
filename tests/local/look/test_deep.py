"""A stale outbox is seen, row and column, and one that is right isn't called stale."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from local.cli import app
from local.demo import command
from local.look.deep import compare_outbox
from local.look.lake import Lake
from local.look.reconcile import Comparison
from local.platform.platform import Platform
from local.services.postgres import Postgres
from settings.load_pipeline import load_pipeline
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
    assert (found.missing, found.extra) == (["10252"], ["10250"])
    shipped = {str(key) for key in shop.values("SELECT order_id FROM orders WHERE ship_via = 1")} - {"10252"}
    assert found.different.keys() == shipped | {"10248"}
    assert set(found.different["10248"]) >= {"order_date", "shipment"}
    assert all("shipper" in found.different[key] for key in shipped)


def test_what_arrives_while_it_looks_is_no_difference(shop: Shop) -> None:
    without_triggers(shop, "UPDATE orders SET freight = 4711 WHERE order_id = 10248")
    rounds: list[Comparison] = []

    def repair(comparison: Comparison) -> None:
        rounds.append(comparison)
        if len(rounds) == 1:
            shop.run("CALL usp_init_order_events()")

    found = compare_outbox(shop.parameters, timeout_s=20, on_round=repair)
    assert [comparison.equal for comparison in rounds] == [False, True]
    assert (found.source_rows, found.lake_rows, found.lsn) == (829, 829, rounds[0].lsn)


def test_the_command_shows_both_comparisons_and_fails_for_a_stale_outbox(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endpoints:
        source = shop.parameters

    monkeypatch.setattr(Platform, "endpoints", Endpoints())
    monkeypatch.setattr(Platform, "services", SimpleNamespace(pipeline=load_pipeline("orders")))
    monkeypatch.setattr(command, "_refuse_to_wait_in_vain", lambda _platform: None)
    monkeypatch.setattr(Platform, "lake", Lake(base_uri="unused"))
    equal = Comparison(lsn="0/1", columns=12, source_rows=829, lake_rows=829, missing=[], extra=[], different={})
    monkeypatch.setattr(command, "compare_source_and_lake", lambda *_args, **_options: equal)
    run = CliRunner().invoke(app, ["reconcile", "--deep", "--timeout", "0"])
    assert run.exit_code == 0, run.output
    assert "tables and outbox at LSN" in run.output
    assert "reconcile at LSN 0/1" in run.output
    without_triggers(shop, "UPDATE orders SET freight = 4711 WHERE order_id = 10248")
    run = CliRunner().invoke(app, ["reconcile", "--deep", "--timeout", "0"])
    assert run.exit_code == 1
    assert "different: 10248 in shipment" in run.output
    assert CliRunner().invoke(app, ["reconcile", "--timeout", "0"]).exit_code == 0
