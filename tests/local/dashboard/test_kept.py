"""The tables that the job maintains."""

from dataclasses import dataclass, field

import pyarrow

from local.dashboard.kept import RowCounts, TableRow, kept_tables
from local.look.lake import Lake
from local.look.status import DataStatus, DerivedStatus, TableStatus
from local.platform.job import TableState
from local.platform.services import HISTORY


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
