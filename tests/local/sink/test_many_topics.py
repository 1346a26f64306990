"""One sink that lands several topics and partitions."""

from typing import Any

import pytest

from local.sink.settings import Partition, SinkError
from local.sink.task import SinkTask
from tests.local.sink.fakes import TOPIC, FakeTopic, World, events, lines, task_settings

# In addition to partition 0 of `orders`: two more partitions of it, and two other topics.
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
    assert [fake.committed.offset for fake in world.topics.values() if fake.committed] == [3, 5, 20, 4]


def test_a_sink_of_many_topics_that_is_killed_at_any_step_lands_everything_exactly_once() -> None:
    intact = World(events(3), others=OTHERS)
    points = intact.run().steps.point
    for point in range(points):
        world = World(events(3), others=OTHERS)
        assert world.run(crash_at=point).crashed
        world.run()
        assert sorted(world.landed()) == sorted(intact.landed()), f"killed at {point}"


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
