"""A failing read of the lake raises one line, and one disturbed read is no failure."""

from pathlib import Path

import pyarrow
import pytest

from contract import added_columns
from contract.added_columns import AddedColumn
from local.look import lake as module
from local.look.lake import Lake, LakeError
from local.look.source_changes import WRITTEN_AT, added, older_rows
from spark_jobs.options.keys import ADDED_COLUMNS, PROGRESS


def test_a_table_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    lake = Lake(base_uri=tmp_path.as_uri())
    assert not lake.exists()
    with pytest.raises(LakeError) as error:
        lake.rows()
    assert str(error.value).startswith(tmp_path.as_uri())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("disturbed", "ends_well"), [(1, True), (module.ATTEMPTS, False)])
def test_a_disturbed_look_is_repeated_but_not_for_ever(
    disturbed: int, ends_well: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    class Table:
        def read(self, _options: object) -> list[pyarrow.RecordBatch]:
            looks.append(1)
            if len(looks) <= disturbed:
                raise RuntimeError("unfinished object")
            return [pyarrow.RecordBatch.from_pydict({"order_id": [10248]})]

    monkeypatch.setattr(Lake, "_table", lambda _self: Table())
    if ends_well:
        assert Lake(base_uri="s3://lake/t").rows().num_rows == 1
    else:
        with pytest.raises(LakeError, match="unfinished object"):
            Lake(base_uri="s3://lake/t").rows()
    assert len(looks) == min(disturbed + 1, module.ATTEMPTS)


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
