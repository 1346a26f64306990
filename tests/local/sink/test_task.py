"""The sink's task, on one topic and on many."""

import logging
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError, KafkaException

from local.sink.consumer import Committed, GroupConsumer
from local.sink.settings import Partition, SinkError, UnavailableError
from local.sink.task import SinkTask
from tests.local.sink.fakes import TOPIC, FakeConsumer, FakeTopic, World, events, lines, task_settings


def changed_settings(world: World) -> None:
    world.settings = task_settings(flush_count=2)


def lost_offsets(world: World) -> None:
    world.topic.committed = None
    changed_settings(world)


# In addition to partition 0 of `orders`: two more partitions of it, and two other topics.
OTHERS = {Partition(TOPIC, 1): events(5), Partition("lines", 0): events(20), Partition("customers", 0): events(4)}


@pytest.mark.parametrize(
    ("count", "others", "meanwhile"),
    [
        (20, {}, lambda _: None),
        (20, {}, changed_settings),
        (20, {}, lost_offsets),
        (3, OTHERS, lambda _: None),
    ],
)
def test_a_sink_that_is_killed_at_any_step_lands_everything_exactly_once(
    count: int, others: dict[Partition, list[bytes | None]], meanwhile: Callable[[World], None]
) -> None:
    intact = World(events(count), others=others)
    points = intact.run().steps.point
    assert points > 20
    for point in range(points):
        world = World(events(count), others=others)
        assert world.run(crash_at=point).crashed
        meanwhile(world)
        world.run()
        assert sorted(world.landed()) == sorted(intact.landed()), f"killed at {point}"
        assert others or world.landed() == lines(20)


def test_a_sink_that_is_killed_again_and_again_lands_everything_exactly_once() -> None:
    world = World(events(20))
    lives = 0
    # One life gets past the note of the topic's id, its first commit, an object and a commit; the next step kills it.
    while world.run(crash_at=7).crashed:
        lives += 1
        assert lives < 100
    assert lives > 2
    assert world.landed() == lines(20)


def test_a_start_lists_the_last_object_alone() -> None:
    world = World(events(20))
    world.run()
    world.s3.listed.clear()
    world.run()
    assert world.s3.listed == [list(world.landed_objects())[-1]]


def test_a_malformed_value_holds_up_its_partition_alone_across_restarts() -> None:
    good, others = b'{"customer_id": 1}', {Partition(TOPIC, 1): [b"1", b"2", b"3", b"4"]}
    world = World([good] * 4 + [b"{", good], others=others)
    for _ in range(2):
        world.run()
        assert sorted(world.landed()) == sorted([good] * 4 + [b"1", b"2", b"3", b"4"])
        assert world.offsets() == [4, 4]
        [held] = world.held
        assert (held.place, held.offset) == (Partition(TOPIC, 0), 4)
        assert held.reason == "orders[0] offset 4: the value isn't JSON"
    world.run(passed_over=world.held)
    assert world.landed().count(good) == 5
    assert (world.gaps(), world.held) == ([(4, 5)], [])


def test_a_partition_is_read_on_once_the_log_has_the_malformed_value_no_more() -> None:
    world = World([b"1", b"{", b"2"], others={Partition(TOPIC, 1): [b"3"]}, flush_interval_seconds=1)

    def lose_it(task: SinkTask) -> None:
        if world.held:
            world.topic.delete_before(2)
        elif b"2" in world.landed():
            task.stop()
        assert world.clock.now < 60

    world.run(when_idle=lose_it)
    assert world.gaps() == [(1, 2)]


@pytest.mark.parametrize("late", [False, True], ids=["before a look", "during a look"])
def test_a_malformed_value_is_forgotten_with_its_topic(monkeypatch: pytest.MonkeyPatch, *, late: bool) -> None:
    others = Partition("lines", 0)
    world = World([b"{"], others={others: [b"1"]}, flush_interval_seconds=1)
    bounds = FakeConsumer.log_bounds

    def delete_and_ask(consumer: FakeConsumer, partition: Partition) -> tuple[int, int]:
        if world.held:
            del world.topics[Partition(TOPIC, 0)]
            raise UnavailableError("no such topic")
        return bounds(consumer, partition)

    if late:
        monkeypatch.setattr(FakeConsumer, "log_bounds", delete_and_ask)

    def delete_it(task: SinkTask) -> None:
        if world.held:
            if not late:
                world.topics.pop(Partition(TOPIC, 0), None)
        elif Partition(TOPIC, 0) not in world.topics:
            world.topics[others].append(b"2")
            task.stop()
        assert world.clock.now < 60

    world.run(when_idle=delete_it)
    world.run()
    assert world.landed() == [b"1", b"2"]


def test_an_outage_of_an_hour_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sink")
    world = World(events(20))
    world.s3.failures = 10**9
    world.topic.failures = 3

    def come_back(_: SinkTask) -> None:
        if world.clock.now >= 3_600:
            world.s3.failures = 0

    world.run(while_waiting=come_back)
    assert world.landed() == lines(20)
    assert world.clock.now >= 3_600
    assert "it works again" in caplog.text


def test_a_stop_while_s3_is_away_gives_up_after_a_while_and_commits_nothing() -> None:
    world = World(events(1))

    def s3_goes_away(task: SinkTask) -> None:
        world.s3.failures = 10**9
        task.stop()

    with pytest.raises(SinkError, match="stopped with records not landed"):
        world.run(when_idle=s3_goes_away)
    assert 20 < world.clock.now < 30
    assert world.topic.committed == Committed(offset=0)
    world.s3.failures = 0
    world.run()
    assert world.landed() == lines(1)


@pytest.mark.parametrize(
    ("read", "first_left", "while_reading"),
    [
        (3, 5, False),
        (3, 5, True),
        # They were read, and fill no object yet.
        (2, 4, True),
    ],
)
def test_records_that_kafka_deletes_before_they_are_read_are_noted_and_all_others_landed(
    read: int, first_left: int, *, while_reading: bool
) -> None:
    world = World(events(read), flush_interval_seconds=30)

    def go_on(task: SinkTask) -> None:
        if world.topic.high > read:
            task.stop()
        else:
            world.topic.append(*events(5, start=read))
            world.topic.delete_before(first_left)
            if not while_reading:
                task.stop()

    world.run(when_idle=go_on)
    world.run()
    assert world.gaps() == [(read, first_left)]
    left = events(read) + events(read + 5 - first_left, start=first_left)
    assert world.landed() == [event for event in left if event is not None]


def test_offsets_left_out_by_the_log_are_noted() -> None:
    world = World(events(6))
    del world.topic.records[1]
    del world.topic.records[2]
    world.run()
    assert world.gaps() == [(1, 3)]


def test_objects_of_unknown_origin_arent_added_to() -> None:
    world = World(events(3))
    world.s3.objects["events/orders/0/000000000001_1_2.json"] = b"{}\n"
    with pytest.raises(SinkError, match="neither the group's offsets nor a note tell"):
        world.run()


def test_a_log_that_was_truncated_is_refused() -> None:
    world = World(events(6))
    world.run()
    world.topic.high = 4
    with pytest.raises(SinkError, match=r"orders\[0\]: offset 6 was landed but the log ends at 4"):
        world.run()


def test_objects_that_were_taken_away_are_landed_again() -> None:
    world = World(events(9))
    world.run()
    before = world.landed_objects()
    for key in list(before)[1:]:
        del world.s3.objects[key]
    world.run()
    assert world.landed_objects() == before
    assert world.gaps() == []


def test_flush_settings_hold_for_each_partition_by_itself() -> None:
    world = World([b"1", b"2"], others={Partition("lines", 0): [b"1"] * 7}, flush_interval_seconds=30)
    run = world.run(when_idle=lambda task: None if world.clock.now < 10 else task.stop())
    assert run.consumer.closed
    assert {key.split("/")[1]: 0 for key in world.landed_objects()} == {"lines": 0, "orders": 0}
    keys = [key.rpartition("/")[2].split("_")[0][-2:] for key in world.landed_objects() if "/lines/" in key]
    assert keys == ["02", "05", "06"]


def test_the_open_records_of_all_topics_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.sink.task.OPEN_BYTES", 200)
    value = b'"' + b"x" * 18 + b'"'
    others = {Partition(f"table-{number}", 0): [value] * 10 for number in range(25)}
    world = World([value] * 10, others=others, flush_count=1_000)
    open_bytes: list[int] = []
    take = SinkTask._take

    def measure(self: SinkTask, message: Any) -> None:
        take(self, message)
        open_bytes.append(self._open_bytes)
        assert self._open_bytes == sum(batch.size_bytes for batch in self._batches.values())

    monkeypatch.setattr(SinkTask, "_take", measure)
    world.run()
    assert 200 - len(value) <= max(open_bytes) <= 200
    assert len(world.landed()) == 260


def test_a_topic_made_again_isnt_mixed_with_the_former_one_and_is_named() -> None:
    world = World(events(3), others=OTHERS)
    world.run()
    before = world.landed_objects()
    again = world.topics[Partition("lines", 0)]
    again.topic_id, again.committed = "id-2", None
    with pytest.raises(SinkError, match="lines was deleted and made again since its objects were landed"):
        world.run()
    assert world.landed_objects() == before


def test_a_topic_that_is_added_begins_at_its_first_record_and_the_others_go_on() -> None:
    world = World(events(3))
    world.run()
    before = world.landed_objects()
    world.topics[Partition("lines", 0)] = FakeTopic(events(4))
    world.settings = task_settings(topics=(TOPIC, "lines"))
    world.run()
    added = {key: body for key, body in world.landed_objects().items() if key not in before}
    assert {key.rpartition("/")[0] for key in added} == {"events/lines/0"}
    assert b"".join(added.values()).splitlines() == lines(4)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        # Of a new broker, to the first question about a group; librdkafka doesn't call it retriable.
        (KafkaError.NOT_COORDINATOR, UnavailableError),
        (KafkaError.UNKNOWN_MEMBER_ID, UnavailableError),
        (KafkaError._TRANSPORT, UnavailableError),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, SinkError),
    ],
)
def test_an_answer_of_kafka_says_whether_trying_again_helps(code: int, kind: type[Exception]) -> None:
    consumer = object.__new__(GroupConsumer)
    consumer._admin, consumer._refusal, consumer._group = Mock(), None, "connect-orders-sink"
    assert type(consumer._translated(KafkaError(code))) is kind


def test_what_was_read_of_a_topic_that_is_gone_is_landed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(events(2), flush_interval_seconds=30)

    def topic_goes(task: SinkTask) -> None:
        monkeypatch.setattr(FakeConsumer, "topics", lambda *_: {})
        if world.clock.now > 5:
            task.stop()

    world.run(when_idle=topic_goes)
    assert world.landed() == lines(2)


def test_a_commit_to_a_topic_that_is_gone_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = object.__new__(GroupConsumer)
    consumer._admin, consumer._refusal, consumer._consumer = Mock(), None, Mock()
    consumer._consumer.commit.side_effect = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    monkeypatch.setattr(GroupConsumer, "topics", lambda *_: {})
    consumer.commit(Partition("orders", 0), Committed(offset=1))
    monkeypatch.setattr(GroupConsumer, "topics", lambda *_: {"orders": Mock()})
    with pytest.raises(UnavailableError):
        consumer.commit(Partition("orders", 0), Committed(offset=1))
