"""The sink's loop when records, topics or objects are gone, or aren't what they were."""

import json

import pytest

from local.sink.errors import SinkError
from local.sink.task import SinkTask
from tests.local.sink.fakes import TOPIC, World, events, lines


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
