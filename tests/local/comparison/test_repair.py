"""Repairs request exactly the differing keys; the report has a line per table, and the reasons for quarantined rows."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from local.comparison import command
from local.comparison.command import reconcile_tables
from local.comparison.compare import Difference, Limits, TableComparison
from local.comparison.repair import LogRepair, OutboxRepair
from local.comparison.run import Sides, with_reasons
from local.look.lake import Lake
from local.resnapshot.log_tables import LogTable
from tests.local.query.lakes import Bucket


def test_the_outbox_is_written_anew_for_exactly_the_keys() -> None:
    asked: list[str] = []
    repair = OutboxRepair("order_id", asked.append)
    repair.read_again([("10248",), ("10250",)])
    repair.delete({("7",): {"order_id": 7}})
    repair.delete({})
    assert asked == ["order_id IN (10248, 10250)", "order_id IN (7)"]


def test_no_text_of_a_key_becomes_part_of_a_condition() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        OutboxRepair("order_id", print).read_again([("1) OR (1 = 1",)])


@pytest.mark.parametrize(("name", "whole"), [("items", False), ('it"ems', True)])
def test_a_table_is_read_whole_if_no_signal_can_name_it(name: str, whole: bool) -> None:
    table = LogTable(database="shop", name=("public", name), key=("id",), topic="shop.items", key_types={})
    nobody: Any = None
    repair = LogRepair(parameters={}, signals=nobody, table=table, reader=nobody, writer=nobody, timeout_s=1)
    assert repair.whole is whole


def test_each_table_has_its_line_and_all_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    equal = TableComparison(table="public.[a]", source_rows=2, lake_rows=2, seconds=1)
    broken = TableComparison(table="public.b", problem="no such table", seconds=1)
    monkeypatch.setattr(command, "compare_tables", lambda *_, **__: iter([equal, broken]))
    shown = io.StringIO()
    report = tmp_path / "reconcile.json"
    done = reconcile_tables(Console(file=shown), Sides({}, []), Limits(), pipeline="shop", report=report)
    assert not done
    assert shown.getvalue().splitlines() == [
        "public.[a]  equal  2 rows  1.0 s",
        "public.b  not compared: no such table",
        f"1 of 2 tables are equal, 0 s: {report}",
    ]
    assert report.exists()


def entry(reason: str, at: str, text: str) -> dict[str, Any]:
    return {"reason": reason, "origin": "t/0/1.json", "quarantined_at": at, "text": text}


def test_rows_are_known_by_their_keys() -> None:
    entries = [
        entry("type: qty (not int)", "2026-11-20T02:00:00Z", '{"id": 7, "of": "a", "qty": "x"}'),
        entry("value: price", "2026-11-20T01:00:00Z", '{"id": 7, "of": "a", "price": "x"}'),
        entry("type: qty (not int)", "2026-11-20T02:00:00Z", '{"id": 8, "of": "b"}'),
        entry("missing: id", "2026-11-20T02:00:00Z", '{"id": "NAN", "of": "a"}'),
        entry("not JSON", "2026-11-20T03:00:00Z", "{"),
    ]
    body = "\n".join(map(json.dumps, entries)).encode()
    client: Any = Bucket("lake", {"_quarantine/shop_t/1.json": body})
    rows: list[dict[str, str | None]] = [
        {"id": "7", "of": "a"},
        {"id": "8", "of": "a"},
        {"id": "9", "of": None},
        {"id": "NaN", "of": "a"},
    ]
    shown = tuple(Difference(key=key, kind="different") for key in rows)
    lake = Lake(base_uri="s3://lake/shop_t")
    found = with_reasons(client, lake, TableComparison(table="t", different=3, shown=shown))
    assert found.notes == (
        "events of it in quarantine: 1 by missing: id, 1 by not JSON, 2 by type: qty (not int), 1 by value: price",
    )
    assert [one.quarantined for one in found.shown] == ["type: qty (not int)", None, None, "missing: id"]
