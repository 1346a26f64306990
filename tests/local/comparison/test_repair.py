"""What asks for repairs asks for exactly the keys, and lets nothing else into a condition."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from local.comparison import command
from local.comparison.command import reconcile_tables
from local.comparison.compare import Limits, TableComparison
from local.comparison.repair import OutboxRepair


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


def test_each_table_has_its_line_and_all_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    equal = TableComparison(table="public.[a]", source_rows=2, lake_rows=2, seconds=1)
    broken = TableComparison(table="public.b", problem="no such table", seconds=1)
    monkeypatch.setattr(command, "compare_tables", lambda *_, **__: iter([equal, broken]))
    shown = io.StringIO()
    report = tmp_path / "reconcile.json"
    done = reconcile_tables(Console(file=shown), {}, [], Limits(), pipeline="shop", report=report)
    assert not done
    assert shown.getvalue().splitlines() == [
        "public.[a]  equal  2 rows  1.0 s",
        "public.b  not compared: no such table",
        f"1 of 2 tables are equal, 0 s: {report}",
    ]
    assert report.exists()
