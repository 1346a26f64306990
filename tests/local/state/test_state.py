"""Positions, lags, rates, and the one word that sums them up; quarantined events."""

import io
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber
from confluent_kafka import KafkaException

from contract.states import Word
from local.errors import RefusedError
from local.look.json_lines import BUCKET, prefix
from local.platform.services import LocalDerived
from local.problem import Problem
from local.services.source_database import OutboxQueue, Slot
from local.sink.settings import SinkError, UnavailableError
from local.state import collect, services
from local.state.quarantine import MOST_BYTES, REASON_CHARACTERS, SHOWN, Quarantine, QuarantinedLine, entry
from local.state.stages import Stage, Stages, Trail, on_wall_clock, wal_bytes
from local.state.tables import QUERIED, DataStatus, TableStatus
from local.state.word import DOWN, UP, Alive, State, judge

TABLE = "datalake.cdc_events"


def test_a_service_that_hangs_during_a_look_is_asked_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "HANGS_S", 0.05)
    answering, resumed = collect.Answering({"postgres", "s3"}), threading.Event()
    assert answering.ask(resumed.wait, "postgres") is None
    resumed.set()
    assert answering.ask(lambda: 1, "postgres", "s3") is None
    assert answering.ask(lambda: 1, "s3") == 1
    for error in (UnavailableError("s3://landing: no connection"), SinkError("s3://landing: NoSuchBucket")):
        assert answering.ask(Mock(side_effect=error), "s3") is None
    with pytest.raises(ValueError, match="invalid literal"):
        answering.ask(lambda: int("x"), "s3")


def test_a_long_count_keeps_nothing_else_from_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "HANGS_S", 0.05)
    collector, counted = collect.Collector(Mock(), lambda _table: ("20261122112531744", {})), threading.Event()
    monkeypatch.setattr(collector._counts, "count", lambda *_: counted.wait())
    answering, table = collect.Answering({"s3"}), LocalDerived(lake=Mock(), lake_name="t", counted_column="id")
    assert collector._in_lake(table, TableStatus(name=TABLE), answering).lake_rows is None
    counted.set()
    assert answering == {"s3"}


def test_what_hangs_and_what_refuses_the_login_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "ANSWER_S", 0.2)
    ended = threading.Event()
    platform = Mock(**{"pid.return_value": None})
    ready: dict[str, Any] = {"s3": {"return_value": True}, "kafka": {"side_effect": RefusedError("another password")}}
    ready |= {"moto": {"side_effect": ended.wait}, "connect": {"side_effect": KafkaException("down")}}
    platform.services.listening = {name: Mock(ready=Mock(**answer)) for name, answer in ready.items()}
    found = services.unusable_services(platform, {*ready, "job"})
    ended.set()
    assert found == ({"moto", "connect"}, {"kafka": "another password"})


def data(end: int | None, landed: int | None, read_to: int | None = None, **changed: object) -> DataStatus:
    read = landed if read_to is None else read_to
    table = TableStatus(
        name=TABLE, topic_end=end, sink_offset=landed, read_to=read, lake_rows=829, last_commit="20261122112531744"
    )
    return DataStatus(tables=(table,), landing_objects=3, **changed)  # type: ignore[arg-type]


def read_all(*looks: tuple[float, DataStatus]) -> dict[str, Stage]:
    """The stages by name after the last of these looks, each at its time."""
    stages = Stages()
    for now, found in looks:
        last = stages.read(now, found)
    return {stage.name: stage for stage in last}


def test_every_stage_of_the_way_is_there_in_its_order_and_unknown_is_not_zero() -> None:
    found = read_all((0, DataStatus()))
    assert [*found] == ["source", "slot", "topic", "landing", "job", "lake", "catalogue"]
    for stage in found.values():
        assert (stage.position, stage.lag_s, stage.lag_events, stage.rate) == (None, None, None, None), stage.name


def wal(behind: int, *, end: str = "0/1000", active: bool = True, held: int | None = None) -> DataStatus:
    return data(1, 1, slot=Slot(active=active, behind_bytes=behind, held_bytes=held), wal=end)


def two(read_to: int | None) -> DataStatus:
    """Two tables, the second of which has been read up to there."""
    first = data(10, 10)
    return replace(first, tables=(*first.tables, replace(first.tables[0], name="t", read_to=read_to)))


def queue(entries: int) -> DataStatus:
    return data(1, 1, outbox_queue=OutboxQueue(entries=entries, seconds=2.5, failing=0, error=None), wal="0/1")


@pytest.mark.parametrize(
    ("looks", "lags"),
    [
        # In events, and in seconds since the first one that is behind.
        (
            [(100, data(10, 10)), (102, data(12, 10)), (107, data(15, 12, 10))],
            {"landing": (3, 0.0), "job": (2, 0.0), "lake": (5, 5.0)},
        ),
        (
            [(100, data(12, 10)), (103, data(12, 12))],
            dict.fromkeys(("landing", "job", "lake"), (0, 0.0)),
        ),
        ([(0, wal(0)), (4, wal(1 << 20, end="0/101000")), (10, wal(1 << 20, end="0/101000"))], {"slot": (None, 6.0)}),
        # The server's own.
        ([(0, wal(60_000, end="0/10000")), (90, wal(60_000, end="0/10000"))], {"slot": (None, 0.0)}),
        ([(0, queue(0))], {"source": (0, 0.0)}),
        ([(0, queue(4))], {"source": (4, 2.5)}),
        # S3 has answered for one of two tables alone.
        ([(0, two(10)), (9, two(None))], {"job": (0, 0.0), "lake": (0, 0.0)}),
    ],
    ids=["behind", "arrived", "slot", "a little WAL", "empty outbox queue", "outbox queue", "unknown"],
)
def test_lag_is_in_events_and_seconds(
    looks: list[tuple[float, DataStatus]], lags: dict[str, tuple[int | None, float]]
) -> None:
    found = read_all(*looks)
    assert {name: (found[name].lag_events, found[name].lag_s) for name in lags} == lags


def test_the_wal_that_is_held_and_the_bytes_behind_are_the_slots() -> None:
    found = read_all((0, wal(624, active=False, held=2_000_000)))["slot"]
    assert (found.position, found.held_bytes, found.lag_s) == ("624 bytes behind, nobody reads it", 2_000_000, 0.0)


def test_a_rate_is_taken_over_the_last_seconds() -> None:
    trail = Trail()
    for second in range(0, 100, 10):
        trail.note(second, second * 2)
    assert trail.rate(95) == pytest.approx((180 - 120) / 30)
    assert trail.rate(1_000) == 0


def test_a_position_that_shrinks_begins_again_and_only_a_move_that_was_watched_is_an_activity() -> None:
    trail, moved = Trail(), list[float | None]()
    for at, position in ((0, 500), (5, 501), (9, 501)):
        trail.note(at, position)
        moved.append(trail.last)
    assert moved == [None, 5, 5]
    trail.note(10, 3)
    assert trail.rate(15) == 0
    assert trail.behind_s(15, 2) == 5


def test_a_clock_that_is_set_moves_only_the_time_of_day() -> None:
    found = read_all((100, data(10, 10)), (104, data(12, 12, 10)))
    for now in (86_400.0, 5.0):
        landing, lake = on_wall_clock((found["landing"], found["lake"]), 106, now)
        assert (landing.last, lake.last, lake.lag_s) == (now - 2, None, 0.0)


def test_a_log_position_is_a_number() -> None:
    assert wal_bytes("1/10") == (1 << 32) + 16


def test_a_pipeline_by_query_has_a_lake_and_a_catalogue_alone() -> None:
    table = TableStatus(name=TABLE, kind=QUERIED, lake_rows=829, last_commit="20261122112531744")
    found = read_all((0, DataStatus(tables=(table,), queried=True)))
    assert [(stage.name, stage.position) for stage in found.values()] == [
        ("lake", "commit 20261122112531744, 829 rows"),
        ("catalogue", None),
    ]


DEAD = Problem(part="job", what="is dead", remedy="the supervisor starts it again", log=Path("job.log"))
ALL = frozenset({"job", "kafka", "s3"})
WELL = Alive(expected=ALL, running=ALL)
WITHOUT_JOB = Alive(expected=ALL, running=ALL - {"job"})
PARTLY = Alive(expected=ALL, running=ALL - {"job", "s3"})
IN_JOB = Problem(part="table public.kafka", what="fails", log=Path("logs/job.log"))
FULL = Problem(part="outbox", what="fails")


def halted(name: str) -> Alive:
    return Alive(expected=ALL, running=ALL, stopped=frozenset({name}))


def stage(name: str = "landing", *, lag_s: float = 0.0, lag_events: int = 0) -> Stage:
    return Stage(name=name, lag_s=lag_s, lag_events=lag_events)


def state(alive: Alive | None = WELL, problems: tuple[Problem, ...] | None = (), *stages: Stage, **more: Any) -> State:
    return judge(alive, problems, stages, **{"unanswered_s": 0, **more})


@pytest.mark.parametrize(
    ("found", "word", "reason"),
    [
        (state(None, None), Word.STARTING, "the first look isn't done yet"),
        (state(WELL, None), Word.STARTING, "the first look isn't done yet"),
        (state(Alive(), None), Word.DOWN, "the platform is down: `./lake up` starts it"),
        (state(), Word.UP_TO_DATE, "all that was committed is in the lake"),
        (state(WELL, (), stage(lag_s=1, lag_events=2)), Word.MOVING, "2 events on their way"),
        (state(loads=["a: 7 rows read"]), Word.MOVING, "a: 7 rows read"),
        (
            state(WELL, (), stage(lag_events=2), loads=["a: 7 rows read", "b", "c"]),
            Word.MOVING,
            "a: 7 rows read (and 2 more)",
        ),
        (state(WELL, (DEAD,), loads=["a: 7 rows read"]), Word.FAILING, str(DEAD)),
        (
            state(WELL, (), stage(lag_events=2), stage("lake", lag_s=3, lag_events=5)),
            Word.MOVING,
            "5 events on their way",
        ),
        # Without stages in between, no more is claimed than is known.
        (
            state(WELL, (), stage("lake"), stage("catalogue")),
            Word.UP_TO_DATE,
            "the job runs, and each look brings what changed before it",
        ),
        # The slowest stage is named.
        (
            state(WELL, (), stage(lag_s=2, lag_events=1), stage("lake", lag_s=75, lag_events=5)),
            Word.LATE,
            "lake is 75 s behind, 5 events on their way",
        ),
        # What `./lake status` says of a dead service is the reason.
        (state(WELL, (DEAD,)), Word.FAILING, str(DEAD)),
        (state(WITHOUT_JOB, (Problem(part="job-2", what="is dead"), DEAD)), Word.FAILING, str(DEAD)),
        # It comes before everything else.
        (state(WITHOUT_JOB, None, unanswered_s=99), Word.FAILING, "job is dead"),
        (state(halted("kafka")), Word.FAILING, "kafka is stopped by a signal"),
        (state(halted("one that was not started")), Word.UP_TO_DATE, "all that was committed is in the lake"),
        (state(unanswered_s=11), Word.NO_ANSWER, "no look has ended for 11 s: a service may hang"),
        # What a start hasn't started yet and what a stop has stopped already is no failure.
        (state(PARTLY, None, command=UP), Word.STARTING, "`./lake up` is at work: job, s3"),
        (state(WELL, (DEAD,), command=UP), Word.STARTING, f"`./lake up` is at work: {DEAD}"),
        (state(command=UP), Word.UP_TO_DATE, "all that was committed is in the lake"),
        (state(WITHOUT_JOB, None, command=DOWN), Word.DOWN, "`./lake down` stops the platform"),
        (state(WELL, (IN_JOB, FULL, DEAD)), Word.FAILING, f"{IN_JOB} (and 2 more)"),
    ],
)
def test_the_word_is_the_worst_that_is_true(found: State, word: Word, reason: str) -> None:
    assert (found.word, found.reason) == (word, reason)


def test_the_services_concerned_are_named() -> None:
    assert state(WITHOUT_JOB, None).parts == state(WELL, (IN_JOB, FULL, DEAD)).parts == ("job",)
    assert state(WITHOUT_JOB, None, command=DOWN).parts == ()


if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

QUARANTINED, LAKE_NAME = "datalake.cdc_events", "cdc_events"
FOLDER = prefix(LAKE_NAME)


@pytest.fixture
def client() -> "S3Client":
    return boto3.client("s3", region_name="ap-southeast-2", aws_access_key_id="x", aws_secret_access_key="x")


@pytest.fixture
def answers(client: "S3Client") -> Iterator[Any]:
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def line(number: int, **changed: object) -> str:
    said = {"reason": "not JSON", "origin": "a.json", "line": number, "quarantined_at": at(number), "text": "{"}
    return json.dumps({**said, **changed})


def at(number: int) -> str:
    return f"2026-11-22T11:{number:02d}:00"


def listed(answers: Any, *names: str, size: int = 100) -> None:
    """The listing of these objects, each a day younger than the one before; the last one is new."""
    now, days = datetime.now(UTC), reversed(range(len(names)))
    found = [
        {"Key": FOLDER + name, "ETag": '"1"', "Size": size, "LastModified": now - timedelta(days=day)}
        for name, day in zip(names, days, strict=True)
    ]
    answers.add_response("list_objects_v2", {"Contents": found}, {"Bucket": BUCKET, "Prefix": FOLDER})


def read(answers: Any, name: str, *lines: str, **asked: str) -> None:
    content = "\n".join(lines).encode()
    body = StreamingBody(io.BytesIO(content), len(content))  # type: ignore[no-untyped-call, unused-ignore]
    answers.add_response("get_object", {"Body": body}, {"Bucket": BUCKET, "Key": FOLDER + name, **asked})


def test_the_newest_lines_come_first_and_each_object_is_read_once(client: "S3Client", answers: Any) -> None:
    quarantine = Quarantine(QUARANTINED, LAKE_NAME)
    listed(answers, "a")
    read(answers, "a", line(1), line(3))
    listed(answers, "a", "b")
    read(answers, "b", line(2))
    assert [one.at for one in quarantine.read(client).newest] == [at(3), at(1)]
    found = quarantine.read(client)
    assert [one.at for one in found.newest] == [at(3), at(2), at(1)]
    assert (found.events, found.lately, str(found)) == (3, 1, "3")


def test_a_file_that_is_there_as_it_was_is_told_by_its_reason_alone(client: "S3Client", answers: Any) -> None:
    listed(answers, "a", "a.reason.json")
    read(answers, "a.reason.json", json.dumps({"reason": "unreadable", "origin": "x", "file": "s3://a"}))
    (found,) = Quarantine(QUARANTINED, LAKE_NAME).read(client).newest
    assert (found.reason, found.text) == ("unreadable", "s3://a")


def test_no_more_than_the_newest_are_shown_of_all_objects(client: "S3Client", answers: Any) -> None:
    listed(answers, "a", "b")
    for name in ("b", "a"):
        read(answers, name, *map(line, range(SHOWN)))
    found = Quarantine(QUARANTINED, LAKE_NAME).read(client)
    assert (found.events, len(found.newest)) == (2 * SHOWN, SHOWN)
    assert [one.at for one in found.newest[:3]] == [at(SHOWN - 1), at(SHOWN - 1), at(SHOWN - 2)]


THIRD = QuarantinedLine(table=QUARANTINED, reason="not JSON", origin="a.json, line 3", at=at(3), text="{")
CUT = "x" * (REASON_CHARACTERS - 1) + "…"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (line(3), THIRD),
        (line(3).replace('"line"', '"offset"'), replace(THIRD, origin="a.json, offset 3")),
        (line(3, reason="x" * 10_000), replace(THIRD, reason=CUT)),
        *((odd, replace(THIRD, reason="unreadable", origin="", at="", text=odd)) for odd in ("rubbish", "[1]")),
    ],
)
def test_a_line_says_why_and_where_it_was_and_any_other_is_shown_as_it_is(text: str, shown: QuarantinedLine) -> None:
    assert entry(QUARANTINED, text) == shown


def test_of_a_large_file_the_end_is_read_without_the_line_whose_beginning_is_missing(
    client: "S3Client", answers: Any
) -> None:
    listed(answers, "a", size=MOST_BYTES + 7)
    read(answers, "a", "half a line", line(3), Range="bytes=7-")
    found = Quarantine(QUARANTINED, LAKE_NAME).read(client)
    assert ([one.at for one in found.newest], str(found)) == ([at(3)], "1 or more")


def test_a_line_with_other_line_breaks_stays_one(client: "S3Client", answers: Any) -> None:
    text = "a\u2028b\u0085c"
    listed(answers, "a")
    read(answers, "a", json.dumps({**json.loads(line(3)), "text": text}, ensure_ascii=False))
    assert [one.text for one in Quarantine(QUARANTINED, LAKE_NAME).read(client).newest] == [text]


def test_a_service_that_hangs_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "ANSWER_S", 0.05)
    with pytest.raises(TimeoutError):
        services._refusal(lambda: False)
