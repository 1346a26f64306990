"""The sink's loop while S3 or Kafka is away, or its partition another's."""

from typing import Any

import pytest

from local.sink.errors import SinkError
from local.sink.offsets import CommittedOffset
from local.sink.task import SinkTask
from tests.local.sink.fakes import FakeConsumer, World, events, lines

FOLDERS = ("customer_id",)
LAYOUTS = pytest.mark.parametrize("partition_by", [(), FOLDERS], ids=["ordered", "folders"])


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
