"""The sink's loop while S3 or Kafka is away."""

import pytest

from local.sink.consumer import Committed
from local.sink.errors import SinkError
from local.sink.task import SinkTask
from tests.local.sink.fakes import World, events, lines


def test_s3_and_kafka_are_tried_until_they_answer() -> None:
    world = World(events(4))
    world.s3.failures = 5
    world.topic.failures = 3
    world.run()
    assert world.landed() == lines(4)
    assert world.clock.now > 1


def test_an_outage_of_an_hour_ends_nothing() -> None:
    world = World(events(20))
    world.s3.failures = 10**9

    def come_back(_: SinkTask) -> None:
        if world.clock.now >= 3_600:
            world.s3.failures = 0

    world.run(while_waiting=come_back)
    assert world.landed() == lines(20)
    assert world.clock.now >= 3_600


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
