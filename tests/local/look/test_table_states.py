"""The states of the job's tables, as the platform reads them from the job's log."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.table_states import FAILING, RUNNING, STARTING
from local.look.status import TableStatus, table_problems, truncate_problems
from local.platform.job import TableState, TableStates
from local.services.processes import Command, Processes


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


def test_the_last_word_on_each_table_counts(processes: Processes) -> None:
    start(processes)
    say(processes, "table=l.a state=starting\ntable=l.b state=starting\ntable=l.a state=running\n")
    say(processes, "commit=1 rows=2 table=l.b\n")
    assert TableStates(processes).read() == {"l.a": TableState(state=RUNNING), "l.b": TableState(state=STARTING)}


def test_a_line_that_is_not_whole_yet_is_read_once_it_is(processes: Processes) -> None:
    start(processes)
    states = TableStates(processes)
    say(processes, "table=l.a state=failing reason=no such")
    assert states.read() == {}
    say(processes, " file\ntable=l.b state=running\n")
    assert states.read() == {
        "l.a": TableState(state=FAILING, reason="no such file"),
        "l.b": TableState(state=RUNNING),
    }


def test_the_reason_stays_while_the_next_attempt_fails_and_goes_when_it_works(processes: Processes) -> None:
    start(processes)
    states = TableStates(processes)
    say(processes, "table=l.a state=failing reason=no such file\ntable=l.a state=failing\n")
    assert states.read()["l.a"].reason == "no such file"
    say(processes, "table=l.a state=running\ntable=l.a state=failing\n")
    assert states.read() == {"l.a": TableState(state=FAILING)}


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


def test_the_status_names_each_table_that_fails_with_the_reason_and_what_to_do(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    found = (
        TableStatus(name="public.a", state=TableState(state=RUNNING)),
        TableStatus(name="public.b", state=TableState(state=FAILING, reason="b.avsc: no such file")),
        TableStatus(name="public.c", state=TableState(state=FAILING)),
        TableStatus(name="public.d"),
    )
    way_out = "its changes are kept, and docs/aws/alarms.md#table-failing says what to do"
    assert "## table-failing" in (Path(__file__).parents[3] / "docs" / "aws" / "alarms.md").read_text()
    assert table_problems(found, log) == [
        f"the job fails at table public.b and tries again: b.avsc: no such file (see {log}); {way_out}",
        f"the job fails at table public.c and tries again (see {log}); {way_out}",
    ]


def test_status_says_which_table_was_emptied_and_what_to_do() -> None:
    tables = [TableStatus(name="public.items", ignored_truncate=True), TableStatus(name="public.other")]
    [line] = truncate_problems(tables)
    assert "public.items was emptied by TRUNCATE" in line
    assert "`./lake resnapshot -t public.items`" in line
