"""Positions, lags, rates, and the one word that sums them up; quarantined events."""

import io
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from contract.states import Word
from local.look.json_lines import BUCKET, prefix
from local.services.source_database import OutboxQueue, Slot
from local.state import collect
from local.state.problems import Problem
from local.state.quarantine import MOST_BYTES, REASON_CHARACTERS, SHOWN, Quarantine, QuarantinedLine, entry, newest
from local.state.stages import Stage, Stages, Trail, on_wall_clock, wal_bytes
from local.state.tables import QUERIED, DataStatus, TableStatus
from local.state.word import DOWN, UP, Alive, State, judge

TABLE = "datalake.cdc_events"


def test_a_service_that_hangs_during_a_look_is_asked_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "HANGS_S", 0.05)
    answering, resumed = {"postgres", "s3"}, threading.Event()
    assert collect.answer_of(answering, ["postgres"], resumed.wait) is None
    resumed.set()
    assert collect.answer_of(answering, ["postgres", "s3"], lambda: 1) is None
    assert collect.answer_of(answering, ["s3"], lambda: 1) == 1
    with pytest.raises(ValueError, match="invalid literal"):
        collect.answer_of(answering, ["s3"], partial(int, "x"))


def data(end: int | None, landed: int | None, read_to: int | None = None, **changed: object) -> DataStatus:
    read = landed if read_to is None else read_to
    table = TableStatus(
        name=TABLE, topic_end=end, sink_offset=landed, read_to=read, lake_rows=829, last_commit="20261122112531744"
    )
    return DataStatus(tables=(table,), landing_objects=3, **changed)  # type: ignore[arg-type]


def by_name(stages: list[Stage]) -> dict[str, Stage]:
    return {stage.name: stage for stage in stages}


def test_every_stage_of_the_way_is_there_in_its_order() -> None:
    names = [stage.name for stage in Stages().read(0, DataStatus())]
    assert names == ["source", "slot", "topic", "landing", "job", "lake", "catalogue"]


def test_a_stage_that_says_nothing_is_unknown_and_not_zero() -> None:
    for stage in Stages().read(0, DataStatus()):
        assert (stage.position, stage.lag_s, stage.lag_events, stage.rate) == (None, None, None, None), stage.name


def test_lag_is_counted_in_events_and_in_seconds_since_the_first_that_is_behind() -> None:
    stages = Stages()
    stages.read(100, data(10, 10))
    stages.read(102, data(12, 10))
    found = by_name(stages.read(107, data(15, 12, 10)))
    assert (found["landing"].lag_events, found["landing"].lag_s) == (3, 0.0)
    assert (found["job"].lag_events, found["job"].lag_s) == (2, 0.0)
    assert (found["lake"].lag_events, found["lake"].lag_s) == (5, 5.0)


def test_what_has_arrived_is_behind_no_more() -> None:
    stages = Stages()
    stages.read(100, data(12, 10))
    found = by_name(stages.read(103, data(12, 12)))
    assert [(found[name].lag_events, found[name].lag_s) for name in ("landing", "job", "lake")] == [(0, 0.0)] * 3


def test_the_wal_that_is_held_and_the_bytes_behind_are_the_slots() -> None:
    slot = Slot(active=False, behind_bytes=624, held_bytes=2_000_000)
    found = by_name(Stages().read(0, data(1, 1, slot=slot, wal="0/1000")))["slot"]
    assert (found.position, found.held_bytes, found.lag_s) == ("624 bytes behind, nobody reads it", 2_000_000, 0.0)


def test_a_slot_that_falls_behind_is_so_since_then() -> None:
    stages = Stages()
    stages.read(0, data(1, 1, slot=Slot(active=True, behind_bytes=0), wal="0/1000"))
    stages.read(4, data(1, 1, slot=Slot(active=True, behind_bytes=1 << 20), wal="0/101000"))
    found = stages.read(10, data(1, 1, slot=Slot(active=True, behind_bytes=1 << 20), wal="0/101000"))
    assert by_name(found)["slot"].lag_s == 6.0


def test_a_little_wal_of_the_servers_own_is_no_lag() -> None:
    stages, slot = Stages(), Slot(active=True, behind_bytes=60_000)
    stages.read(0, data(1, 1, slot=slot, wal="0/10000"))
    assert by_name(stages.read(90, data(1, 1, slot=slot, wal="0/10000")))["slot"].lag_s == 0.0


def test_an_empty_outbox_queue_is_no_lag_however_long_ago_it_was_read() -> None:
    queue = OutboxQueue(entries=0, seconds=2.5, failing=0, error=None)
    assert by_name(Stages().read(0, data(1, 1, outbox_queue=queue, wal="0/1")))["source"].lag_s == 0.0


def test_the_outbox_queue_is_the_sources_lag() -> None:
    queue = OutboxQueue(entries=4, seconds=2.5, failing=0, error=None)
    found = by_name(Stages().read(0, data(1, 1, outbox_queue=queue, wal="0/1")))["source"]
    assert (found.lag_events, found.lag_s) == (4, 2.5)


def test_a_rate_is_taken_over_the_last_seconds() -> None:
    trail = Trail()
    for second in range(0, 100, 10):
        trail.note(second, second * 2)
    assert trail.rate(95) == pytest.approx((180 - 120) / 30)
    assert trail.rate(1_000) == 0


def test_a_position_that_shrinks_begins_anew() -> None:
    trail = Trail()
    trail.note(0, 500)
    trail.note(5, 3)
    assert trail.rate(10) == 0
    assert trail.behind_s(10, 2) == 5


def test_only_a_move_that_was_watched_is_an_activity() -> None:
    trail = Trail()
    trail.note(0, 500)
    assert trail.last is None
    trail.note(5, 501)
    trail.note(9, 501)
    assert trail.last == 5


def test_a_clock_that_is_set_moves_only_the_time_of_day() -> None:
    stages = Stages()
    stages.read(100, data(10, 10))
    found = stages.read(104, data(12, 12, 10))
    for now in (86_400.0, 5.0):
        shown = by_name(list(on_wall_clock(found, 106, now)))
        assert (shown["landing"].last, shown["lake"].last, shown["lake"].lag_s) == (now - 2, None, 0.0)


def test_a_log_position_is_a_number() -> None:
    assert wal_bytes("1/10") == (1 << 32) + 16


def test_a_pipeline_by_query_has_a_lake_and_a_catalogue_alone() -> None:
    table = TableStatus(name=TABLE, kind=QUERIED, lake_rows=829, last_commit="20261122112531744")
    found = Stages().read(0, DataStatus(tables=(table,), queried=True))
    assert [stage.name for stage in found] == ["lake", "catalogue"]
    assert found[0].position == "commit 20261122112531744, 829 rows"


DEAD = Problem(part="job", what="is dead", remedy="the supervisor starts it again", log=Path("job.log"))
ALL = frozenset({"job", "kafka", "s3"})
WELL = Alive(expected=ALL, running=ALL)


def stage(name: str = "landing", *, lag_s: float = 0.0, lag_events: int = 0) -> Stage:
    return Stage(name=name, lag_s=lag_s, lag_events=lag_events)


def state(
    alive: Alive | None = WELL, problems: tuple[Problem, ...] | None = (), *stages: Stage, unanswered_s: float = 0.0
) -> State:
    return judge(alive, problems, stages, unanswered_s=unanswered_s)


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (state(None, None), Word.STARTING),
        (state(WELL, None), Word.STARTING),
        (state(Alive(), None), Word.DOWN),
        (state(), Word.UP_TO_DATE),
        (state(WELL, (), stage(lag_s=1, lag_events=2)), Word.MOVING),
        (state(WELL, (), stage(lag_s=61, lag_events=2)), Word.LATE),
        (state(WELL, (DEAD,)), Word.FAILING),
        (state(Alive(expected=ALL, running=ALL - {"job"})), Word.FAILING),
        (state(Alive(expected=ALL, running=ALL, stopped=frozenset({"s3"}))), Word.FAILING),
        (state(Alive(expected=ALL, running=ALL, stopped=frozenset({"one that was not started"}))), Word.UP_TO_DATE),
        (state(unanswered_s=11), Word.NO_ANSWER),
    ],
)
def test_the_word_is_the_worst_that_is_true(found: State, word: Word) -> None:
    assert found.word == word
    assert found.reason


def test_a_dead_service_comes_before_everything_else() -> None:
    found = state(Alive(expected=ALL, running=ALL - {"job"}), None, unanswered_s=99)
    assert (found.word, found.reason, found.parts) == (Word.FAILING, "job is dead", ("job",))


def test_a_service_that_is_held_up_is_named() -> None:
    found = state(Alive(expected=ALL, running=ALL, stopped=frozenset({"kafka"})))
    assert found.reason == "kafka is stopped by a signal"


def test_what_status_says_of_a_dead_service_is_the_reason() -> None:
    other = Problem(part="job-2", what="is dead")
    found = state(Alive(expected=ALL, running=ALL - {"job"}), (other, DEAD))
    assert found.reason == str(DEAD) == "job is dead; the supervisor starts it again (see job.log)"


def test_several_problems_are_counted_and_their_services_named() -> None:
    named = Problem(part="table public.kafka", what="fails", log=Path("logs/job.log"))
    found = state(WELL, (named, Problem(part="outbox", what="fails"), DEAD))
    assert found.reason == "table public.kafka fails (see logs/job.log) (and 2 more)"
    assert found.parts == ("job",)


def test_what_is_on_its_way_is_counted() -> None:
    assert state(WELL, (), stage(lag_events=2), stage("lake", lag_s=3, lag_events=5)).reason == "5 events on their way"


def test_the_slowest_stage_is_named_when_it_is_late() -> None:
    found = state(WELL, (), stage(lag_s=2, lag_events=1), stage("lake", lag_s=75, lag_events=5))
    assert found.reason == "lake is 75 s behind, 5 events on their way"


def test_what_a_start_hasnt_started_yet_is_no_failure() -> None:
    partly = Alive(expected=ALL, running=ALL - {"job", "s3"})
    found = judge(partly, None, (), unanswered_s=0, command=UP)
    assert (found.word, found.reason) == (Word.STARTING, "`./lake up` is at work: job, s3")
    assert judge(WELL, [DEAD], (), unanswered_s=0, command=UP).word == Word.STARTING
    assert judge(WELL, [], (), unanswered_s=0, command=UP).word == Word.UP_TO_DATE


def test_what_a_stop_has_stopped_already_is_no_failure() -> None:
    found = judge(Alive(expected=ALL, running=ALL - {"job"}), None, (), unanswered_s=0, command=DOWN)
    assert (found.word, found.parts) == (Word.DOWN, ())


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


def test_no_more_than_the_newest_are_shown_of_all_tables() -> None:
    found = [entry(table, line(number)) for table in ("a", "b") for number in range(SHOWN)]
    shown = newest(found)
    assert len(shown) == SHOWN
    assert [one.at for one in shown[:3]] == [at(SHOWN - 1), at(SHOWN - 1), at(SHOWN - 2)]


@pytest.mark.parametrize(
    ("place", "origin"), [({}, "a.json, line 3"), ({"line": None, "offset": 7}, "a.json, offset 7")]
)
def test_a_line_says_where_it_was(place: dict[str, object], origin: str) -> None:
    said = {key: value for key, value in json.loads(line(3, **place)).items() if value is not None}
    assert entry(QUARANTINED, json.dumps(said)) == QuarantinedLine(
        table=QUARANTINED, reason="not JSON", origin=origin, at=at(3), text="{"
    )


@pytest.mark.parametrize("rubbish", ["rubbish", "[1]"])
def test_what_is_no_such_line_is_shown_as_it_is(rubbish: str) -> None:
    assert entry(QUARANTINED, rubbish) == QuarantinedLine(
        table=QUARANTINED, reason="unreadable", origin="", at="", text=rubbish
    )


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


def test_a_long_reason_is_cut() -> None:
    assert len(entry(QUARANTINED, line(3, reason="x" * 10_000)).reason) == REASON_CHARACTERS
