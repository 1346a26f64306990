"""Commits with their rows, errors with their times, the maintained tables, and the charts."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow
import pytest

from analytics import dashboard
from local.dashboard.charts import OTHERS, Orders, options, read_orders
from local.dashboard.history import Commits, Failures, instant_time, read_commit, restarted, rows
from local.dashboard.kept import RowCounts, TableRow, kept_tables
from local.look.lake import Lake
from local.look.status import DataStatus, DerivedStatus, TableStatus
from local.platform.job import TableState
from local.platform.services import HISTORY
from local.platform.supervisor import Restarts
from spark_jobs.options.keys import PROGRESS

INSTANT = "20261122112531744"


def metadata(*stats: tuple[int, int, int], progress: str | None = "p") -> dict[str, Any]:
    names = ("numInserts", "numUpdateWrites", "numDeletes")
    extra = {} if progress is None else {PROGRESS: progress}
    written = [dict(zip(names, one, strict=True)) for one in stats]
    return {"extraMetadata": extra, "partitionToWriteStats": {"a": written[:1], "b": written[1:]}}


@dataclass(frozen=True, kw_only=True)
class Timeline(Lake):
    """A lake of commit metadata, which records what was requested."""

    found: dict[str, dict[str, Any]]
    base_uri: str = ""
    asked: list[str] = field(default_factory=list)

    def commit_metadata(self, known: Collection[str] = ()) -> dict[str, Mapping[str, Any]]:
        new = {instant: found for instant, found in self.found.items() if instant not in known}
        self.asked.extend(new)
        return {**new}


def test_a_commits_rows_are_those_of_all_its_files() -> None:
    found = read_commit("t", INSTANT, metadata((5, 1, 0), (2, 3, 4)))
    assert found is not None
    assert (found.inserted, found.updated, found.deleted) == (7, 4, 4)
    assert found.at == instant_time(INSTANT) == 1795346731.744


def test_a_commit_that_only_moves_rows_counts_for_nothing() -> None:
    assert read_commit("t", INSTANT, metadata((5, 0, 0), progress=None)) is None


def test_a_commits_metadata_is_read_once_and_kept_when_the_timeline_forgets_it() -> None:
    lake = Timeline(found={"20261122112531744": metadata((829, 0, 0))})
    commits = Commits("t")
    commits.read(lake)
    lake.found.clear()
    lake.found["20261122112945201"] = metadata((0, 1, 0))
    assert [commit.instant for commit in commits.read(lake)] == ["20261122112531744", "20261122112945201"]
    commits.read(lake)
    assert lake.asked == ["20261122112531744", "20261122112945201"]


def test_rows_are_added_up_by_table() -> None:
    commits = Commits("t")
    found = commits.read(Timeline(found={INSTANT: metadata((829, 0, 0)), "20261122112945201": metadata((0, 1, 2))}))
    (of_table,) = rows(found)
    assert (of_table.table, of_table.commits) == ("t", 2)
    assert (of_table.inserted, of_table.updated, of_table.deleted) == (829, 1, 2)
    assert of_table.since == instant_time(INSTANT)


def test_an_error_begins_and_ends_and_keeps_its_beginning_while_its_words_change() -> None:
    failures = Failures()
    failures.note(["job is dead, restarted once, last at 11:00:00: see job.log"], 10)
    failures.note(["job is dead, restarted 2 times, last at 11:00:04: see job.log"], 14)
    (lasting,) = failures.all()
    assert (lasting.at, lasting.ended) == (10, None)
    assert "2 times" in lasting.text
    failures.note([], 20)
    (past,) = failures.all()
    assert (past.at, past.ended) == (10, 20)


def test_an_error_goes_on_while_its_counts_grow() -> None:
    failures = Failures()
    failures.note(["999 lines in quarantine: see the table"], 10)
    failures.note(["1,004 lines in quarantine: see the table"], 14)
    assert [(failure.at, failure.ended) for failure in failures.all()] == [(10, None)]


@pytest.mark.parametrize(
    "line",
    [
        "table {} is set aside: an event of {} has 17 bytes",
        "the job fails at table {} and tries again: {} (see job.log)",
    ],
)
@pytest.mark.parametrize("names", [("public.t1", "public.t2"), ("public.a,b", "public.a,c"), ("x.a: 1", "x.a: 2")])
def test_each_table_has_errors_of_its_own(line: str, names: tuple[str, str]) -> None:
    failures = Failures()
    wrong = [line.format(name, name) for name in names]
    failures.note(wrong, 10)
    assert [failure.text for failure in failures.all()] == wrong


def test_a_table_whose_line_begins_with_its_name_has_an_error_of_its_own() -> None:
    failures = Failures()
    failures.note(["public.t1: the publication lacks a", "public.t2: the publication lacks a"], 10)
    assert len(failures.all()) == 2


def test_of_what_lasts_the_newest_comes_first() -> None:
    failures = Failures()
    failures.note(["kafka hangs"], 10)
    failures.note(["kafka hangs", "job is dead"], 12)
    assert [failure.text for failure in failures.all()] == ["job is dead", "kafka hangs"]


def test_what_lasts_comes_before_what_has_ended() -> None:
    failures = Failures()
    failures.note(["kafka hangs"], 10)
    failures.note(["job is dead"], 12)
    failures.note(["job is dead"], 14)
    assert [failure.text for failure in failures.all()] == ["job is dead", "kafka hangs"]


def test_a_restart_is_an_error_that_has_ended() -> None:
    (found,) = restarted({"job": Restarts(total=2, tries=1, last_at=7.0, reason="died")})
    assert (found.text, found.at, found.ended) == ("job was restarted (2 times): died", 7.0, 7.0)


def test_tables_are_told_apart_by_where_their_rows_come_from() -> None:
    tables = (TableStatus(name="public.city", lake_rows=600, last_commit="1", state=TableState(state="running")),)
    derived = (DerivedStatus(name="places"), DerivedStatus(name="city_history", kind=HISTORY, lake_rows=0))
    queried = kept_tables(DataStatus(tables=tables, derived=derived, queried=True))
    assert queried == (
        TableRow(table="public.city", kind="queried", rows=600, last_commit="1", state="running"),
        TableRow(table="places", kind="derived"),
        TableRow(table="city_history", kind="history", rows=0),
    )
    assert [table.kind for table in kept_tables(DataStatus(tables=tables))] == ["captured"]


@dataclass(frozen=True, kw_only=True)
class Growing(Lake):
    """A table that has one row more with each commit, and records when they are counted."""

    commits: list[str] = field(default_factory=list)
    counted: list[list[str] | None] = field(default_factory=list)

    def last_commit(self) -> str | None:
        return self.commits[-1] if self.commits else None

    def rows(self, columns: list[str] | None = None) -> pyarrow.Table:  # type: ignore[override]
        self.counted.append(columns)
        return pyarrow.table({"id": self.commits})


def test_rows_are_counted_again_only_after_another_commit() -> None:
    lake, count = Growing(base_uri="s3://lake/t"), RowCounts()
    assert count(lake, "id") is None
    for number in range(1, 3):
        lake.commits.append(f"{number}")
        assert [count(lake, "id") for _ in range(3)] == [number] * 3
    assert lake.counted == [["id"]] * 2
    count.clear()
    assert count(lake, "id") == 2
    assert len(lake.counted) == 3


def outbox(*orders: tuple[str, int, list[tuple[float, float, float]]]) -> pyarrow.Table:
    """Rows of customer, order and items, each of quantity, price and discount."""
    names = ("quantity", "unit_price", "discount")
    return pyarrow.table(
        {
            "customer_id": [customer for customer, _, _ in orders],
            "order_id": [order for _, order, _ in orders],
            "order_items": [
                json.dumps([dict(zip(names, item, strict=True)) for item in items]) for *_, items in orders
            ],
        }
    )


@pytest.fixture(scope="module")
def orders() -> Orders:
    return read_orders(outbox(("A", 1, [(2, 10, 0), (4, 5, 0.5)]), ("A", 2, [(6, 1, 0)]), ("B", 3, [(1, 100, 0)])))


def test_the_charts_are_those_of_the_definition(orders: Orders) -> None:
    [sheet] = dashboard.definition("")["Sheets"]
    titles = [given["Title"]["FormatText"]["PlainText"] for visual in sheet["Visuals"] for given in visual.values()]
    assert [chart.title for chart in orders.charts] == titles
    assert [chart.kind for chart in orders.charts] == ["pie", "scatter"]


def test_the_pie_is_revenue_by_customer_largest_first(orders: Orders) -> None:
    assert orders.charts[0].rows == (("B", 100.0), ("A", 36.0))


def test_the_scatter_is_averages_of_items_sized_by_orders(orders: Orders) -> None:
    assert set(orders.charts[1].rows) == {("A", 4.0, 12.0, 2.0), ("B", 1.0, 100.0, 1.0)}


def test_customers_beyond_the_definitions_limit_are_one_slice() -> None:
    many = read_orders(outbox(*((f"C{number:02}", number, [(float(number), 1.0, 0.0)]) for number in range(1, 31))))
    pie = many.charts[0].rows
    assert len(pie) == 21
    assert pie[-1] == (OTHERS, sum(range(1, 11)))


def test_the_newest_orders_items_are_text(orders: Orders) -> None:
    assert orders.columns == ("customer_id", "order_id", "discount", "quantity", "unit_price")
    assert orders.items[0] == ("B", "3", "0.00", "1.00", "100.00")


def test_a_lake_without_orders_has_empty_charts() -> None:
    empty = read_orders(outbox(("A", 1, [])))
    assert [chart.rows for chart in empty.charts] == [(), ()]
    assert options(empty.charts[1])["series"][0]["data"] == []


def test_echarts_gets_names_and_numbers(orders: Orders) -> None:
    pie, scatter = (options(chart)["series"][0] for chart in orders.charts)
    assert (pie["type"], pie["data"][0]) == ("pie", {"name": "B", "value": 100.0})
    assert scatter["type"] == "scatter"
    sizes = {point["name"]: point["symbolSize"] for point in scatter["data"]}
    assert sizes["A"] > sizes["B"]
