"""Which rows are from before a column, by what the job's commits say."""

import pyarrow
import pytest

from contract import added_columns
from contract.added_columns import AddedColumn
from local.look.added_columns import WRITTEN_AT, added, older_rows
from local.look.lake import Lake
from spark_jobs.options.keys import ADDED_COLUMNS, PROGRESS

LAKE = Lake(base_uri="s3://lake/items")


def test_the_newest_commit_says_which_columns_came_and_when(monkeypatch: pytest.MonkeyPatch) -> None:
    register = added_columns.encode({"old": AddedColumn("Old", "001", guessed=True), "new": AddedColumn("new")})
    commits = [("002", {PROGRESS: "x", ADDED_COLUMNS: register}), ("001", {PROGRESS: "x"})]
    monkeypatch.setattr(Lake, "newest_of_job", lambda _self: commits[0])
    assert added(LAKE) == {"old": AddedColumn("Old", "001", guessed=True), "new": AddedColumn("new", "002")}
    # A commit of an earlier version.
    commits.pop(0)
    assert added(LAKE) == {}


def test_rows_that_were_written_since_count_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pyarrow.table({WRITTEN_AT: ["001", "002", "002", "003"], "size": [None, 1, None, None]})
    monkeypatch.setattr(Lake, "rows", lambda _self, columns: rows.select(columns))
    assert older_rows(LAKE, {"size": AddedColumn("size", "002")}) == {"size": 2}
    assert older_rows(LAKE, {"size": AddedColumn("size", "000")}) == {}
    assert older_rows(LAKE, {}) == {}
