"""A request that the job reads tables again: it is kept for the job, and waited for."""

from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from contract.table_states import FAILING, LOADING
from local.errors import PlatformError
from local.look.lake import LakeError
from local.platform.arriving import PATIENCE_S
from local.platform.job import READ_AGAIN, TableState, ask, table_jobs
from local.platform.record import Unfinished
from local.platform.services import PLACES
from local.resnapshot import command
from local.resnapshot.command import wait_until_read
from local.resnapshot.pipelines import Channel
from local.resnapshot.run import Wanted
from settings.load import load_pipeline
from spark_jobs.options import keys

READS, COMPARES = (
    TableState(state=LOADING, detail=detail) for detail in ("7 rows read", "9 rows read, comparing them")
)
FAILS = TableState(state=FAILING, detail="no such file")
TIMEOUT_S = 100


def test_a_request_reaches_its_tables_alone_and_stays_beside_others(tmp_path: Path) -> None:
    def wanted() -> dict[str, str | None]:
        jobs = table_jobs(load_pipeline("pagila"), PLACES, tmp_path)
        return {job.table: job.configuration.get(keys.READ_AGAIN) for job in jobs}

    ask(tmp_path, {"pagila_city": "first", "pagila_address": "first"})
    ask(tmp_path, {"pagila_city": "second"})
    assert (wanted()["pagila_city"], wanted()["pagila_address"]) == ("second", "first")
    assert set(wanted().values()) == {"first", "second", None}
    # One that can't be read is none.
    (tmp_path / READ_AGAIN).write_text("{")
    assert not any(wanted().values())


@pytest.mark.parametrize(
    ("looks", "said", "problem"),
    [
        # At each look: the time, the job's state for the table, and the request that its newest commit names.
        pytest.param(
            [(0, None, None), (1, READS, "former"), (2, READS, "former"), (3, COMPARES, "former"), (4, None, "wanted")],
            ["t: 7 rows read", "t: 9 rows read, comparing them"],
            None,
            id="until it is met",
        ),
        pytest.param(
            [(0, READS, "former"), (2, None, "another's")],
            ["t: 7 rows read"],
            None,
            id="another command has replaced it",
        ),
        pytest.param(
            [(0, None, None), (90, READS, None), (150, READS, None), (190.1, READS, None)],
            ["t: 7 rows read"],
            "t: the job's reading doesn't move for 100 s: `./lake status`",
            id="nothing moves",
        ),
        pytest.param(
            [(0, FAILS, None), (9, READS, None), (10, FAILS, None), (11 + PATIENCE_S, FAILS, None)],
            ["t: 7 rows read"],
            "table t fails in the job: no such file",
            id="it fails for a while",
        ),
    ],
)
def test_a_request_is_waited_for_as_long_as_the_job_reads(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    looks: list[tuple[float, TableState | None, str | None]],
    said: list[str],
    problem: str | None,
) -> None:
    left = list(looks)

    def newest() -> tuple[str, dict[str, str]]:
        if (request := left[0][2]) is None:
            raise LakeError("no table")
        ask(tmp_path, {"lake_t": "wanted" if request == "former" else request})
        return "20261127000000000", {keys.IGNORED: request}

    table: Any = Mock(job_name="lake.t", lake_name="lake_t", lake=Mock(newest_of_job=newest))
    table.name = "t"
    pipeline: Any = Mock(job_folder=tmp_path)
    pipeline.table_states = lambda: {"lake.t": left[0][1]} if left[0][1] else {}
    monkeypatch.setattr("local.resnapshot.command.time.sleep", lambda _seconds: left.pop(0))
    monkeypatch.setattr("local.resnapshot.command.time.monotonic", lambda: left[0][0])
    heard: list[str] = []
    try:
        wait_until_read(pipeline, [table], timeout_s=TIMEOUT_S, say=heard.append)
        found = None
    except PlatformError as error:
        found = str(error)
    assert (heard, len(left)) == (said, 1)
    assert found == problem or (problem is not None and str(found).startswith(problem))


WAY_OUT = "the slot is gone: run `./lake resnapshot -p shop`"
TOLD = ("stop", "settle", "set_landing_aside", "flowing", "start_job", "read_again", "read_directly")


@pytest.fixture
def robbed(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """A platform whose job has yet to load two tables, the second without a key; it has lost nothing so far."""
    found = MagicMock(**{"expected.return_value": {"job", "sink"}})
    found.services.configure_mock(**{"pipeline.is_queried": False, "pipeline.outbox": None})
    found.services.tables = [Mock(entry=Mock(append_only=each, first_load="direct")) for each in (False, True)]
    for table, name in zip(found.services.tables, ("t", "log"), strict=True):
        table.name = table.entry.name = name
    found.services.chosen.return_value = found.services.tables
    for method in ("lost_changes", "connectors.failure", "former_topic_problem"):
        found.pipeline.configure_mock(**{f"{method}.return_value": None})
    found.pipeline.tables_aside.return_value = {}
    for name, other in {
        "_locked": nullcontext,
        "platform_sides": lambda *_: Mock(tables=found.services.tables),
        "channel_of": lambda *_, **__: found.channel,
        "wait_until_read": Mock(),
        "reconcile_tables": lambda *_, **__: True,
    }.items():
        monkeypatch.setattr(command, name, other)
    return found


@pytest.mark.parametrize(
    ("told_by", "asked"),
    [
        (["lost_changes"], "stop flowing start_job read_directly"),
        (["connectors.failure"], "stop flowing start_job read_directly"),
        # Without the objects nothing tells that a repair is due: what may fail comes before they are moved.
        (
            ["lost_changes", "former_topic_problem"],
            "stop settle set_landing_aside flowing start_job stop start_job read_directly",
        ),
    ],
)
def test_the_job_loads_nothing_before_lost_changes_flow_again(
    robbed: MagicMock, told_by: list[str], asked: str
) -> None:
    robbed.pipeline.configure_mock(**{f"{method}.return_value": WAY_OUT for method in told_by})
    assert command.resnapshot_tables(robbed, (), Wanted())
    names = [call[0].rpartition(".")[2] for call in robbed.mock_calls]
    assert [name for name in names if name in TOLD] == asked.split()
    # What has no key is loaded once, and never read again.
    assert robbed.pipeline.read_directly.call_args.args == (robbed.services.tables[:1],)


@pytest.mark.parametrize("aside", [{}, {"log": "the value isn't JSON"}])
def test_a_table_of_events_does_not_keep_the_others_from_being_read(robbed: MagicMock, aside: dict[str, str]) -> None:
    for table in robbed.services.tables:
        table.is_loaded_first = False
    robbed.pipeline.configure_mock(**{"tables_aside.return_value": aside, "take_back.return_value": []})
    robbed.channel.read_again = partial(Channel.read_again, robbed.channel)
    assert command.resnapshot_tables(robbed, (), Wanted())
    assert robbed.pipeline.read_directly.call_args.args == (robbed.services.tables[:1],)


@pytest.mark.parametrize(
    ("failure", "names", "told"),
    [
        (WAY_OUT, ("t",), "leave --table and --where out"),
        ("a wrong password", (), "t, log: the job hasn't read all rows"),
    ],
)
def test_a_job_that_has_yet_to_load_tables_goes_on_where_all_of_it_isnt_repaired(
    robbed: MagicMock, failure: str, names: tuple[str, ...], told: str
) -> None:
    robbed.pipeline.connectors.failure.return_value = failure
    with pytest.raises(PlatformError, match=told):
        command.resnapshot_tables(robbed, names, Wanted())
    robbed.processes.stop.assert_not_called()


@pytest.mark.parametrize(
    ("before", "ends", "left"),
    [
        (None, [PlatformError("killed")], "t"),
        (None, [[]], "t"),
        (None, [["t"]], None),
        (None, [PlatformError("killed"), ["t"]], None),
        (["u"], [["t"]], "t\nu"),
        ([], [["t"]], ""),
    ],
)
def test_what_a_set_aside_table_missed_is_told_until_both_sides_are_equal(
    robbed: MagicMock, tmp_path: Path, before: list[str] | None, ends: list[Any], left: str | None
) -> None:
    for table in robbed.services.tables:
        table.is_loaded_first = False
    robbed.services.tables = robbed.services.tables[:1]
    robbed.unfinished = Unfinished(tmp_path / "unfinished")
    robbed.pipeline.tables_aside.return_value = {"t": "a value too large"}
    robbed.pipeline.take_back.side_effect = ends
    robbed.channel.read_again.side_effect = PlatformError("killed")
    if before is not None:
        robbed.unfinished.begin(before)
    for _ in ends:
        with suppress(PlatformError):
            command.resnapshot_tables(robbed, ("t",), Wanted())
    mark = robbed.unfinished.path
    assert (mark.read_text() if mark.exists() else None) == left


@pytest.mark.parametrize(
    ("names", "ends", "left"),
    [((), True, False), ((), False, True), ((), PlatformError("a column can't be read"), True), (("t",), False, False)],
)
def test_a_repair_of_all_leaves_a_mark_until_both_sides_are_equal(
    robbed: MagicMock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    ends: bool | PlatformError,
    left: bool,
) -> None:
    for table in robbed.services.tables:
        table.is_loaded_first = not names
    robbed.unfinished = Unfinished(tmp_path / "unfinished")
    robbed.pipeline.lost_changes.return_value = WAY_OUT
    monkeypatch.setattr(command, "reconcile_tables", Mock(side_effect=[ends]))
    with suppress(PlatformError):
        command.resnapshot_tables(robbed, names, Wanted())
    assert robbed.unfinished.path.exists() is left
