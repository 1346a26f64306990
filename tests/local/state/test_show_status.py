"""Each problem with its part, reason and remedy; and what `./lake status` prints."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from contract.states import Word
from contract.table_states import FAILING, LOADING, RUNNING, STARTING
from local.files import LEAST_FREE_BYTES
from local.platform.job import TableState
from local.platform.services import HISTORY
from local.platform.startup import SUPERVISOR
from local.platform.supervisor import Restarts
from local.problem import Problem, set_aside
from local.services.source_database import OutboxQueue, Slot
from local.state import problems, rows
from local.state.collect import PipelineState, _has_not_begun, _unproven
from local.state.history import instant_time
from local.state.quarantine import Quarantined, QuarantinedLine
from local.state.rows import print_status
from local.state.services import SETS_PASSWORD, ServiceStatus
from local.state.stages import Stage, Stages
from local.state.tables import QUERIED, DataStatus, TableStatus
from local.state.word import State
from tests.local.platform.built import services

LOGS = Path("logs")
ROOT = Path(__file__).parents[3]
DIED = Restarts(total=3, tries=2, last_at=1_000.0, reason="out of memory")
NEW = QuarantinedLine(table="public.b", reason="not JSON", origin="a.json, line 3", at="2026-11-22T11:26:00", text="{")


def service(name: str, *, running: bool = True, silent: bool = False, refusal: str = "") -> ServiceStatus:
    return ServiceStatus(name=name, running=running, silent=silent, refusal=refusal, pid=7)


def of_services(*services: ServiceStatus, unproven: str = "", **restarts: Restarts) -> list[str]:
    return [str(one) for one in problems.of_services(services, restarts, {unproven}, LOGS, 1_001.0)]


SUPERVISED = service(SUPERVISOR)
DEAD, ALIVE, SILENT = service("job", running=False), service("job"), service("job", silent=True)
AGAIN = "restarted 2 times, last at 00:16:40 UTC, the next try in 3 s"


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (of_services(DEAD), "the platform doesn't run, though `./lake down` didn't stop it"),
        (of_services(DEAD, service("s3"), job=DIED), "job is dead; `./lake up` starts it again (see logs/job.log)"),
        (of_services(DEAD, SUPERVISED), "job is dead; the supervisor starts it again (see logs/job.log)"),
        (of_services(DEAD, SUPERVISED, job=DIED), f"job is dead: out of memory; {AGAIN} (see logs/job.log)"),
        (
            of_services(DEAD, SUPERVISED, job=replace(DIED, given_up=True)),
            "job is dead: out of memory; restarted 2 times, last at 00:16:40 UTC, then given up: `./lake up`",
        ),
        (of_services(SILENT), "job runs but doesn't answer; wait, or end process 7 (see logs/job.log)"),
        (
            of_services(ALIVE, SUPERVISED, unproven="job", job=DIED),
            f"job has died: out of memory; {AGAIN} (see logs/job.log)",
        ),
        (of_services(ALIVE, SUPERVISED, job=DIED), None),
        (of_services(ALIVE, SUPERVISED), None),
        (of_services(service("kafka", refusal="no")), "kafka refuses the login: no; `./lake up` sets a new password"),
    ],
)
def test_a_service_is_named_with_the_reason_and_what_is_done(found: list[str], line: str | None) -> None:
    assert [one[: len(line or "")] for one in found] == ([] if line is None else [line])


def of_connectors(failed: dict[str, str] | None, **restarts: Restarts) -> Iterator[Problem]:
    unproven = {name for name, entry in restarts.items() if entry.unproven(1_001.0)}
    return problems.of_connectors(failed, restarts, unproven, LOGS / "connect.log", 1_001.0)


QUEUE = OutboxQueue(entries=3, seconds=12.4, failing=1, error="the event of order 1 would have 13000000 bytes")
LOG = "(see logs/connect.log)"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            problems.of_secrets([Path("s/connector")], Path("s/salt")),
            [
                f"password connector is lost: nothing is in s/connector; {SETS_PASSWORD}",
                "the salt of hashed columns is lost: nothing is in s/salt; `./lake up` takes it from the worker's"
                " copy, or says what to do",
            ],
        ),
        (of_connectors(None), [f"connect doesn't say how its connectors are {LOG}"]),
        (of_connectors({"a": "no slot"}), [f"connector a has failed: no slot; `./lake up` starts it again {LOG}"]),
        (of_connectors({"a": "no slot"}, a=DIED), [f"connector a has failed: no slot; {AGAIN} {LOG}"]),
        (of_connectors({}, a=DIED), [f"connector a has failed and was restarted: out of memory; {AGAIN} {LOG}"]),
        # Its restart has run for a while.
        (of_connectors({}, a=replace(DIED, last_at=900.0)), []),
        (problems.of_disk(Path("/lake"), LEAST_FREE_BYTES), []),
        (
            problems.of_disk(Path("/lake"), 1_200_000),
            ["disk is full: 1.2 MB are free in /lake; make room, and everything goes on"],
        ),
        (
            problems.of_outbox(QUEUE),
            [
                f"outbox can't take some changes: 1 of 3 queued ones fail: {QUEUE.error}; they are tried again; the"
                " table datalake.outbox_queue says which"
            ],
        ),
        (problems.of_outbox(replace(QUEUE, failing=0)), []),
        (problems.of_outbox(None), []),
    ],
)
def test_what_is_wrong_is_told_with_its_reason_and_what_to_do(found: Iterator[Problem], told: list[str]) -> None:
    assert [str(problem) for problem in found] == told


ALARMS = "docs/aws/alarms.md"
FAILS = TableState(state=FAILING, detail="b.avsc: no such file")
KEPT = f"the job tries again and its changes are kept; {ALARMS}#table-failing says what to do (see logs/job.log)"


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (TableStatus(name="public.b", state=TableState(state=RUNNING)), None),
        (TableStatus(name="public.b"), None),
        (TableStatus(name="public.b", state=FAILS), f"fails in the job: b.avsc: no such file; {KEPT}"),
        (TableStatus(name="public.b", state=TableState(state=FAILING)), f"fails in the job; {KEPT}"),
        (TableStatus(name="public.b", quarantined=Quarantined(events=3, newest=(NEW,))), None),
        (
            TableStatus(name="public.b", quarantined=Quarantined(events=3, lately=1, newest=(NEW,))),
            f"had events quarantined in the last 10 minutes: not JSON; {ALARMS}#quarantined-events says what to do",
        ),
        (
            TableStatus(name="public.b", ignored_truncate=True),
            "was emptied by TRUNCATE, which was ignored; the lake keeps the rows until `./lake resnapshot -t public.b`",
        ),
    ],
)
def test_a_table_is_named_with_what_to_do(table: TableStatus, line: str | None) -> None:
    found = [str(problem) for problem in problems.of_table(table, LOGS / "job.log")]
    assert found == ([] if line is None else [f"table public.b {line}"])
    alarms = (ROOT / "docs" / "aws" / "alarms.md").read_text()
    assert {"## table-failing", "## quarantined-events"} <= {*alarms.splitlines()}


@pytest.mark.parametrize(
    ("states", "unproven"),
    [((), {"job"}), ((STARTING, LOADING), {"job"}), ((STARTING, RUNNING), set()), ((FAILING,), set())],
)
def test_a_restarted_job_has_proven_itself_once_a_table_works_or_says_why_not(
    states: tuple[str, ...], unproven: set[str]
) -> None:
    """Anything else has once it has run for as long as the pause before its start."""
    data = DataStatus(tables=tuple(TableStatus(name=state, state=TableState(state=state)) for state in states))
    restarts = {"job": DIED, "sink": replace(DIED, last_at=900.0)}
    assert _unproven(restarts, data, 1_010.0) == unproven
    assert _unproven({"sink": DIED}, data, 1_001.0) == {"sink"}


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("the slot cdc of db is gone: and more", "run `./lake resnapshot`"),
        ("can't be read (ERROR: x)", "see to that, then run `./lake resnapshot -p a -t b`; found in n: 1 row"),
        ("a record of no kind that is known: 3", ""),
    ],
)
def test_what_to_do_is_told_from_the_reason_by_its_command(reason: str, remedy: str) -> None:
    found = set_aside("b", f"{reason}: {remedy}" if remedy else reason)
    assert (found.reason, found.remedy) == (reason, remedy)


def printed(data: DataStatus, *services: ServiceStatus, wrong: tuple[Problem, ...] = ()) -> list[str]:
    console = Console(record=True, width=160)
    state = (
        State(word=Word.FAILING, reason=str(wrong[-1])) if wrong else State(word=Word.UP_TO_DATE, reason="all is there")
    )
    stages = tuple(Stages().read(0, data))
    print_status(console, PipelineState(state=state, services=services, stages=stages, data=data, problems=wrong))
    return console.export_text().splitlines()


def test_the_status_begins_with_the_word_and_leaves_out_what_is_unknown() -> None:
    kafka = ServiceStatus(name="kafka", running=True, pid=77, port=20_001, rss_bytes=260_400_000, restarts=2)
    table = TableStatus(name="datalake.cdc_events", topic_end=831, sink_offset=830, read_to=829)
    data = DataStatus(
        tables=(table,), outbox_rows=829, wal="0/10", slot=Slot(active=True, behind_bytes=7), outbox_queue=QUEUE
    )
    wrong = Problem(part="outbox", what="fails"), Problem(part="job", what="is dead", log=LOGS / "job.log")
    lines = printed(data, kafka, DEAD, wrong=wrong)
    cells = [line.split() for line in lines]
    assert lines[0] == "failing: job is dead (see logs/job.log)"
    assert cells[-1] == ["outbox", "fails"]
    assert sum("is dead" in line for line in lines) == 1
    assert ["service", "state", "pid", "port", "memory", "restarts"] in cells
    assert ["kafka", "running", "77", "20001", "260", "MB", "2"] in cells
    assert ["job", "dead", "7", "-", "-", "-"] in cells
    assert ["source", "0/10,", "829", "rows", "12.4", "s", "3"] in cells
    assert ["landing", "next", "offset", "830", "0.0", "s", "1"] in cells
    assert ["table", "kind", "topic", "landed"] in cells


def test_a_status_has_a_line_for_each_table_that_is_being_loaded() -> None:
    waits, reads = "waits for its turn to be read", "1,200 of about 3,000 rows read"
    tables = [TableStatus(name=n, state=TableState(state=LOADING, detail=d)) for n, d in (("a", waits), ("b", reads))]
    data = DataStatus(tables=(*tables, TableStatus(name="c", state=TableState(state=RUNNING))))
    assert data.loads == [f"b: {reads}", f"a: {waits}"]
    assert printed(data)[-2:] == data.loads


@pytest.mark.parametrize(
    ("first_load", "said", "told"),
    [("direct", None, True), ("direct", STARTING, True), ("direct", FAILING, False), ("connector", STARTING, False)],
)
def test_a_load_that_has_not_begun_is_told(first_load: str, said: str | None, *, told: bool, tmp_path: Path) -> None:
    table = services(tmp_path, "pagila").tables[0]
    table = replace(table, entry=table.entry.model_copy(update={"first_load": first_load}))
    assert _has_not_begun(table, TableState(state=said) if said else None) is told


def test_a_status_shows_whole_names_and_the_tables_that_are_made_of_others() -> None:
    captured = TableStatus(name="[red]" + "x" * 120), TableStatus(name="[red]" + "x" * 119 + "y")
    quarantined = Quarantined(events=7, all_counted=False)
    made = TableStatus(name="shop_names", kind="derived", lake_rows=1_007, state=FAILS, quarantined=quarantined)
    history = TableStatus(name="shop_items_history", kind=HISTORY)
    lines = printed(DataStatus(tables=(*captured, made, history)))
    text = "\n".join(lines)
    assert text.count("[red]xxx") == 2
    assert text.count("x") - text.count("next") == 239
    cells = [line.split() for line in lines]
    assert ["shop_names", "derived", FAILING, "1,007", "7", "or", "more"] in cells
    assert ["shop_items_history", "history", "-", "-", "-"] in cells


def test_zero_is_a_number_and_unknown_a_dash() -> None:
    stages = (Stage(name="lake", lag_s=0.0, lag_events=0, rate=0.0, held_bytes=0), Stage(name="job"))
    zero, unknown = rows.stage_rows(stages)
    assert zero == ("lake", "-", "0.0 s", "0", "0.0 events/s", "-", "0.0 MB")
    assert unknown == ("job", *("-",) * 6)


def test_a_table_without_a_commit_is_there_with_dashes() -> None:
    tables = (
        TableStatus(
            name="t", kind=QUERIED, lake_rows=0, last_commit="20261122112505000", state=TableState(state=RUNNING)
        ),
        TableStatus(name="t_history", kind=HISTORY),
    )
    assert rows.table_rows(tables, instant_time("20261122112525000")) == [
        ("t", "queried", "running", "-", "-", "0", "2026-11-22 11:25:05", "20 s", "-"),
        ("t_history", "history", *("-",) * 7),
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (59.4, "59 s"), (60, "1 min"), (3_599, "59 min"), (86_399, "23 h"), (1e6, "11 d")],
)
def test_an_age_is_in_its_largest_unit(seconds: float, text: str) -> None:
    assert rows.age(seconds) == text


def test_a_service_that_is_dead_hangs_or_fails_is_said_so() -> None:
    services = (DEAD, service("kafka", silent=True), service("sink"), service("s3"))
    found = rows.service_rows(services, {"sink", "job"})
    assert [row[:2] for row in found] == [("job", "dead"), ("kafka", "hangs"), ("sink", "failing"), ("s3", "running")]
    assert [one.name for one in (*services, service("postgres", refusal="no")) if one.usable] == ["sink", "s3"]
