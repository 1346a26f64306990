"""The platform's files: the last comparison, and a log's end."""

from pathlib import Path

from local.comparison.command import write
from local.comparison.compare import TableComparison
from local.dashboard.files import last_lines, read_reconciled


def test_the_report_of_a_comparison_is_read(tmp_path: Path) -> None:
    report = tmp_path / "reconcile.json"
    differs = TableComparison(table="b", source_rows=2, missing=1, late=3)
    write(report, "orders", [TableComparison(table="a", source_rows=2, lake_rows=2), differs])
    found = read_reconciled(report)
    assert found is not None
    assert found.equal is False
    assert found.tables == ("a: equal, 2 rows", "b: differs, 1 missing, 3 late")


def test_no_report_and_half_a_report_are_none(tmp_path: Path) -> None:
    assert read_reconciled(tmp_path / "none.json") is None
    (tmp_path / "half.json").write_text('{"at": "2026')
    assert read_reconciled(tmp_path / "half.json") is None


def test_a_table_that_couldnt_be_compared_says_why(tmp_path: Path) -> None:
    write(tmp_path / "r.json", "orders", [TableComparison(table="a", problem="no table")])
    found = read_reconciled(tmp_path / "r.json")
    assert found is not None
    assert found.tables == ("a: not compared: no table",)


def test_a_logs_last_lines_are_read_however_long_it_is(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("".join(f"line {number}\n" for number in range(100_000)))
    assert last_lines(log, 2) == ["line 99998", "line 99999"]
    assert last_lines(tmp_path / "none.log") == []
