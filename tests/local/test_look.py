"""Reads of the lake that fail, and the tables' states in the job's log."""

import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pyarrow
import pytest

from contract import added_columns
from contract.added_columns import AddedColumn
from contract.table_states import FAILING, RUNNING, STARTING
from local.look import lake as module
from local.look.lake import Lake, LakeError
from local.platform.job import TableState, TableStates
from local.services.processes import Command, Processes
from local.state.source_changes import WRITTEN_AT, added, older_rows
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
    row = pyarrow.RecordBatch.from_pydict({"order_id": [10248]})
    table = MagicMock(**{"read.side_effect": [*[RuntimeError("unfinished object")] * disturbed, [row]]})
    builder = MagicMock()
    builder.from_base_uri.return_value.with_options.return_value.build.return_value = table
    monkeypatch.setattr(module, "HudiTableBuilder", builder)
    if ends_well:
        assert Lake(base_uri="s3://lake/t").rows().num_rows == 1
    else:
        with pytest.raises(LakeError, match="unfinished object"):
            Lake(base_uri="s3://lake/t").rows()
    assert table.read.call_count == min(disturbed + 1, module.ATTEMPTS)


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


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    found = Processes(tmp_path, tmp_path / "logs")
    yield found
    found.stop("job", grace_s=0)


def start(processes: Processes) -> None:
    """Start a job that logs nothing; a test writes its log."""
    processes.start("job", Command(argv=[sys.executable, "-c", "import time; time.sleep(60)"], folder=processes.folder))


def say(processes: Processes, text: str) -> None:
    with processes.log_file("job").open("a") as log:
        log.write(text)


def test_the_last_whole_line_on_each_table_counts(processes: Processes) -> None:
    start(processes)
    states, starting = TableStates(processes), TableState(state=STARTING)
    say(processes, "table=l.a state=starting\ntable=l.b state=starting\ncommit=1 rows=2 table=l.b\n")
    say(processes, "table=l.a state=failing reason=no such")
    assert states.read() == {"l.a": starting, "l.b": starting}
    say(processes, " file\ntable=l.b state=running\n")
    failing = TableState(state=FAILING, detail="no such file")
    assert states.read() == {"l.a": failing, "l.b": TableState(state=RUNNING)}


def test_what_an_earlier_run_said_counts_no_more(processes: Processes) -> None:
    start(processes)
    states = TableStates(processes)
    say(processes, "table=l.a state=failing reason=no such file\n")
    assert states.read()["l.a"].fails
    processes.stop("job", grace_s=0)
    assert states.read() == {}
    start(processes)
    assert states.read() == TableStates(processes).read() == {}
    say(processes, "table=l.a state=starting\n")
    assert states.read() == TableStates(processes).read() == {"l.a": TableState(state=STARTING)}
