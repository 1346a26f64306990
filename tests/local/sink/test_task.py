"""The sink's loop against a topic and a bucket in memory, killed at every step that it makes."""

import json
from typing import Any

import pytest

from local.sink.batch import Batch
from local.sink.batches import OpenBatches
from local.sink.errors import SinkError
from local.sink.offsets import CommittedOffset
from local.sink.partition import Partition
from local.sink.task import SinkTask
from tests.local.sink.fakes import TOPIC, FakeConsumer, FakeTopic, World, task_settings

FOLDERS = ("customer_id",)
LAYOUTS = pytest.mark.parametrize("partition_by", [(), FOLDERS], ids=["ordered", "folders"])


def events(count: int, start: int = 0) -> list[bytes | None]:
    """Events of three customers, with a tombstone now and then."""
    return [
        None if number % 7 == 6 else json.dumps({"customer_id": number % 3, "n": number}).encode()
        for number in range(start, start + count)
    ]


def lines(count: int) -> list[bytes]:
    return [event for event in events(count) if event is not None]


def test_records_are_landed_in_order_and_committed_behind() -> None:
    world = World(events(6))
    world.run()
    assert world.landed_objects() == {
        "events/orders/0/000000000002_1000_1002.json": b"".join(event + b"\n" for event in lines(6)[:3]),
        "events/orders/0/000000000005_1003_1005.json": b"".join(event + b"\n" for event in lines(6)[3:]),
    }
    assert world.topic.committed == (
        6,
        CommittedOffset(offset=6, landed="events/orders/0/000000000005_1003_1005.json").note(),
    )


@LAYOUTS
def test_a_sink_that_is_killed_at_any_step_lands_everything_exactly_once(partition_by: tuple[str, ...]) -> None:
    intact = World(events(20), partition_by=partition_by)
    points = intact.run().steps.point
    assert points > 20
    for point in range(points):
        world = World(events(20), partition_by=partition_by)
        assert world.run(crash_at=point).crashed
        world.run()
        assert world.landed_objects() == intact.landed_objects(), f"killed at {point}"
        assert world.s3.replaced == []
        assert world.topic.history == sorted(world.topic.history)


@LAYOUTS
def test_a_sink_that_is_killed_again_and_again_lands_everything_exactly_once(partition_by: tuple[str, ...]) -> None:
    intact = World(events(20), partition_by=partition_by)
    intact.run()
    world = World(events(20), partition_by=partition_by)
    lives = 0
    # A life gets past the note of the topic's id, an intent, an object and a commit, and is killed in what follows.
    while world.run(crash_at=9).crashed:
        lives += 1
        assert lives < 100
    assert lives > 2
    assert world.landed_objects() == intact.landed_objects()


@LAYOUTS
def test_other_flush_settings_after_a_kill_never_take_events_from_an_object(partition_by: tuple[str, ...]) -> None:
    points = World(events(20), partition_by=partition_by, flush_count=5).run().steps.point
    for point in range(points):
        world = World(events(20), partition_by=partition_by, flush_count=5)
        world.run(crash_at=point)
        world.settings = World([], partition_by=partition_by, flush_count=2).settings
        world.run()
        assert sorted(world.landed()) == sorted(lines(20))


@LAYOUTS
def test_lost_group_offsets_never_take_events_from_an_object(partition_by: tuple[str, ...]) -> None:
    points = World(events(20), partition_by=partition_by, flush_count=5).run().steps.point
    for point in range(2, points):
        world = World(events(20), partition_by=partition_by, flush_count=5)
        world.run(crash_at=point)
        world.topic.committed = None
        world.settings = World([], partition_by=partition_by, flush_count=2).settings
        world.run()
        assert set(world.landed()) == set(lines(20)), f"killed at {point}"


def test_an_open_batch_is_landed_when_it_is_old_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(events(2), flush_interval_seconds=30)
    landed_at: list[float] = []
    put = world.s3.put_object

    def put_and_note(**arguments: Any) -> None:
        if not arguments["Key"].startswith("."):
            landed_at.append(world.clock.now)
        put(**arguments)

    monkeypatch.setattr(world.s3, "put_object", put_and_note)
    world.run(when_idle=lambda task: task.stop() if world.clock.now > 60 else None)
    assert landed_at == [pytest.approx(30, abs=0.5)]


def test_stopping_lands_what_is_open() -> None:
    world = World(events(2))
    world.run()
    assert world.landed() == lines(2)
    assert world.topic.committed is not None
    assert world.topic.committed[0] == 2


def test_a_batch_being_landed_again_isnt_cut_short_by_stopping() -> None:
    world = World(events(2), flush_count=10)
    world.run(crash_at=4)
    assert world.topic.committed == (0, CommittedOffset(offset=0, until=2).note())
    del world.topic.records[1]
    world.run()
    assert world.landed() == []
    world.topic.records[1] = events(2)[1]
    world.run()
    assert world.landed() == lines(2)


def test_s3_and_kafka_are_tried_until_they_answer() -> None:
    world = World(events(4))
    world.s3.failures = 5
    world.topic.failures = 3
    world.run()
    assert world.landed() == lines(4)
    assert world.clock.now > 1


def s3_away(world: World, seconds: float) -> dict[str, Any]:
    """Let S3 go away with the first batch, for so long."""
    until: list[float] = []

    def go(_: object = None) -> None:
        until.append(world.clock.now + seconds)
        world.s3.failures = 10**9

    def come_back(_: FakeConsumer) -> None:
        if world.clock.now >= until[0]:
            world.s3.failures = 0

    return {"before_objects": lambda: go() if not until else None, "while_paused": come_back}


@LAYOUTS
def test_asked_to_fail_as_the_connector_does_an_outage_of_s3_ends_it_and_its_restart_lands_everything_once(
    partition_by: tuple[str, ...],
) -> None:
    intact = World(events(20), partition_by=partition_by)
    intact.run()
    world = World(events(20), partition_by=partition_by)
    with pytest.raises(SinkError, match="failed as the connector would, start it again: s3://landing/events/"):
        world.run(fragile=True, **s3_away(world, 15))
    assert 10 < world.clock.now < 15
    with pytest.raises(SinkError, match="failed as the connector would"):
        world.run(fragile=True)
    world.s3.failures = 0
    world.run(fragile=True)
    assert world.landed_objects() == intact.landed_objects()


@pytest.mark.parametrize(("fragile", "seconds"), [(True, 5), (False, 3_600)])
def test_a_short_outage_ends_nothing_and_without_the_switch_a_long_one_doesnt_either(
    *, fragile: bool, seconds: float
) -> None:
    world = World(events(20))
    world.run(fragile=fragile, **s3_away(world, seconds))
    assert world.landed() == lines(20)
    assert world.clock.now >= seconds


def test_a_stop_while_s3_is_away_gives_up_after_a_while_and_commits_nothing() -> None:
    world = World(events(1))

    def s3_goes_away(task: SinkTask) -> None:
        world.s3.failures = 10**9
        task.stop()

    with pytest.raises(SinkError, match="stopped with records not landed"):
        world.run(when_idle=s3_goes_away)
    assert 20 < world.clock.now < 30
    assert world.topic.committed == (0, CommittedOffset(offset=0, until=1).note())
    world.s3.failures = 0
    world.run()
    assert world.landed() == lines(1)


def test_a_sink_that_has_lost_its_partition_writes_nothing_and_begins_anew() -> None:
    world = World(events(4))
    world.run(revoked_from=0)
    assert world.landed() == lines(4)
    assert world.topic.history == [0, 3, 3, 4]
    assert world.s3.replaced == []


def test_records_that_kafka_deleted_before_they_were_landed_are_noted() -> None:
    world = World(events(3))
    world.run()
    world.topic.append(*events(10, start=3))
    world.topic.delete_before(8)
    world.run()
    assert world.gaps() == [(3, 8)]
    assert json.loads(world.landed()[-1])["n"] == 12


def test_records_that_kafka_deletes_under_the_readers_position_are_noted() -> None:
    world = World(events(3))

    def go_on(task: SinkTask) -> None:
        if world.topic.high > 3:
            task.stop()
        else:
            world.topic.append(*events(5, start=3))
            world.topic.delete_before(5)

    world.run(when_idle=go_on)
    assert world.gaps() == [(3, 5)]
    assert {json.loads(line)["n"] for line in world.landed()} == {0, 1, 2, 5, 7}


def test_offsets_left_out_by_the_log_are_noted() -> None:
    world = World(events(6))
    del world.topic.records[1]
    del world.topic.records[2]
    world.run()
    assert world.gaps() == [(1, 3)]


def test_a_topic_made_again_isnt_mixed_with_the_former_one() -> None:
    world = World(events(3))
    world.run()
    world.topic.topic_id = "id-2"
    world.topic.committed = None
    with pytest.raises(SinkError, match=f"{TOPIC} was deleted and made again since its objects were landed"):
        world.run()
    assert world.landed() == lines(3)


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


def test_a_malformed_value_stops_the_sink_with_what_came_before_landed() -> None:
    world = World([b'{"customer_id": 1}'] * 4 + [b"{"], partition_by=FOLDERS)
    with pytest.raises(SinkError, match=r"orders\[0\] offset 4: the value isn't JSON.*errors.tolerance is none"):
        world.run()
    assert len(world.landed()) == 3
    assert world.topic.committed is not None
    assert world.topic.committed[0] == 3
    with pytest.raises(SinkError, match="offset 4"):
        world.run()


@pytest.mark.parametrize("value", [b"{", b"\xff", b'{"a": 123456789012345678901234567890}'])
def test_a_value_that_the_connector_couldnt_land_as_it_is_stops_the_sink_without_folders_too(value: bytes) -> None:
    world = World([b'{"customer_id": 1}'] * 3 + [value])
    with pytest.raises(SinkError, match=r"orders\[0\] offset 3: the (value|number) .*errors.tolerance is none"):
        world.run()
    assert len(world.landed()) == 3


def test_values_that_the_connector_skips_leave_no_line_and_no_gap() -> None:
    world = World([b"1", b"null", b"", b" ", None, b"2"])
    world.run()
    assert world.landed() == [b"1", b"2"]
    assert world.gaps() == []
    assert world.topic.committed is not None
    assert world.topic.committed[0] == 6


def test_much_data_is_landed_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.sink.task.OPEN_BYTES", 50)
    world = World([b'"' + b"x" * 18 + b'"' for _ in range(6)], flush_count=1_000)
    world.run()
    assert len(world.landed_objects()) == 2


def test_a_rebalance_while_s3_is_away_leaves_the_batch_to_its_new_owner() -> None:
    world = World(events(3))
    s3_is_back: list[float] = []

    def rebalance(member: FakeConsumer) -> None:
        if world.clock.now > 30 and not s3_is_back:
            member.lose_partition()
            s3_is_back.append(world.clock.now)
            world.s3.failures = 0
            world.run()
            member.get_partition()

    world.run(before_objects=lambda: setattr(world.s3, "failures", 10**9), while_paused=rebalance)
    assert s3_is_back
    assert world.landed() == lines(3)
    # The intent and the end of the new owner; the former one has committed its intent only.
    assert world.topic.history == [0, 3]


# Beside partition 0 of `orders`: two more of it, and two other topics.
OTHERS = {Partition(TOPIC, 1): events(5), Partition("lines", 0): events(20), Partition("customers", 0): events(4)}


def test_each_partition_of_each_topic_is_landed_under_its_own_name() -> None:
    world = World(events(3), others=OTHERS)
    world.run()
    folders: dict[str, list[bytes]] = {}
    for key, body in world.landed_objects().items():
        folders.setdefault(key.rpartition("/")[0], []).extend(body.splitlines())
    assert folders == {
        "events/orders/0": lines(3),
        "events/orders/1": lines(5),
        "events/lines/0": lines(20),
        "events/customers/0": lines(4),
    }
    assert [fake.committed[0] for fake in world.topics.values() if fake.committed] == [3, 5, 20, 4]


def test_a_sink_of_many_topics_that_is_killed_at_any_step_lands_everything_exactly_once() -> None:
    intact = World(events(3), others=OTHERS)
    points = intact.run().steps.point
    for point in range(points):
        world = World(events(3), others=OTHERS)
        assert world.run(crash_at=point).crashed
        world.run()
        assert world.landed_objects() == intact.landed_objects(), f"killed at {point}"


def test_flush_settings_hold_for_each_partition_by_itself() -> None:
    world = World([b"1", b"2"], others={Partition("lines", 0): [b"1"] * 7}, flush_interval_seconds=30)
    run = world.run(when_idle=lambda task: None if world.clock.now < 10 else task.stop())
    assert run.consumer.closed
    assert {key.split("/")[1]: 0 for key in world.landed_objects()} == {"lines": 0, "orders": 0}
    assert world.topics[Partition("lines", 0)].history == [0, 3, 3, 6, 6, 7]
    assert world.topic.history == [0, 2]


def test_the_open_records_of_all_topics_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.sink.task.OPEN_BYTES", 200)
    value = b'"' + b"x" * 18 + b'"'
    others = {Partition(f"table-{number}", 0): [value] * 10 for number in range(25)}
    world = World([value] * 10, others=others, flush_count=1_000)
    open_bytes: list[int] = []
    batches_due = OpenBatches.due

    def measure(self: OpenBatches, now: float) -> list[Batch]:
        open_bytes.append(self.size_bytes)
        return batches_due(self, now)

    monkeypatch.setattr(OpenBatches, "due", measure)
    world.run()
    assert 200 < max(open_bytes) <= 200 + len(value) + 1
    assert len(world.landed()) == 260


def test_a_topic_that_was_made_again_is_named_among_many() -> None:
    world = World(events(3), others=OTHERS)
    world.run()
    world.topics[Partition("lines", 0)].topic_id = "id-2"
    with pytest.raises(SinkError, match="lines was deleted and made again since its objects were landed"):
        world.run()


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
