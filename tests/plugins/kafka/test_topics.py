"""The plan of topics: their names, their retention, and what can't be planned."""

import dataclasses

import pytest

from contract.sizes import MIB, SizeLimits
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topics import PlannedTopic, planned_topics

SOURCE = SourceSettings(
    name="orders-source",
    database_hostname="db.example",
    database_password="${file:/run/secret:password}",
    topic_prefix="shop",
)
SINK = SinkSettings(name="orders-sink", topics=(SOURCE.topic,), bucket="landing", region="eu-west-1")
WITH_DEAD_LETTERS = dataclasses.replace(SINK, dead_letter_topic="orders-dead")
EVENTS = "shop.datalake.cdc_events"
HEARTBEAT = "__debezium-heartbeat.shop"
OFFSETS = "__cdc_lake_offsets_orders-source"


def planned(sink: SinkSettings = SINK, *, brokers: int = 3, hours: int | None = 168) -> dict[str, PlannedTopic]:
    return {topic.name: topic for topic in planned_topics(SOURCE, sink, brokers=brokers, retention_hours=hours)}


def test_every_topic_of_the_pipeline_is_planned() -> None:
    assert set(planned()) == {EVENTS, HEARTBEAT, OFFSETS}
    assert set(planned(WITH_DEAD_LETTERS)) == {EVENTS, HEARTBEAT, OFFSETS, "orders-dead"}


def test_events_are_kept_for_as_long_as_it_says_and_never_compacted() -> None:
    events = planned(hours=48)[EVENTS]
    assert (events.config["cleanup.policy"], events.config["retention.ms"]) == ("delete", "172800000")
    assert planned(hours=None)[EVENTS].config["retention.ms"] == "-1"
    assert events.config["retention.bytes"] == "-1"
    assert not events.compacted


def test_offsets_are_compacted_so_that_they_are_never_too_old() -> None:
    offsets = planned()[OFFSETS]
    assert offsets.config == {"cleanup.policy": "compact"}
    assert offsets.compacted


def test_the_heartbeats_dont_fill_a_disk() -> None:
    assert planned(hours=None)[HEARTBEAT].config["retention.ms"] == "86400000"


def test_a_dead_letter_is_kept_from_when_it_was_set_aside() -> None:
    dead = planned(WITH_DEAD_LETTERS, hours=48)["orders-dead"]
    assert dead.config["retention.ms"] == "172800000"
    assert dead.config["message.timestamp.type"] == "LogAppendTime"


def test_whatever_carries_events_takes_the_largest_one() -> None:
    source = dataclasses.replace(SOURCE, largest_event_bytes=19 * MIB)
    sink = dataclasses.replace(WITH_DEAD_LETTERS, largest_event_bytes=19 * MIB)
    topics = planned_topics(source, sink, brokers=1, retention_hours=1)
    sizes = {topic.name: topic.config.get("max.message.bytes") for topic in topics}
    message = SizeLimits(19 * MIB).broker["message.max.bytes"]
    assert sizes == {EVENTS: message, "orders-dead": message, HEARTBEAT: None, OFFSETS: None}


@pytest.mark.parametrize(("brokers", "replicas", "in_sync"), [(1, 1, "1"), (2, 2, "1"), (3, 3, "2"), (6, 3, "2")])
def test_one_broker_may_be_away(brokers: int, replicas: int, in_sync: str) -> None:
    for topic in planned(WITH_DEAD_LETTERS, brokers=brokers).values():
        assert topic.replicas == replicas
        assert topic.config_with(topic.replicas)["min.insync.replicas"] == in_sync


def test_a_topic_with_fewer_replicas_than_planned_can_still_be_written_while_a_broker_is_away() -> None:
    assert planned(brokers=3)[EVENTS].config_with(2)["min.insync.replicas"] == "1"


def test_the_offsets_may_have_another_name() -> None:
    topics = planned_topics(SOURCE, SINK, brokers=1, retention_hours=None, offsets="connect-offsets")
    assert [topic.name for topic in topics if topic.compacted] == ["connect-offsets"]


@pytest.mark.parametrize("name", [EVENTS, HEARTBEAT, OFFSETS])
def test_dead_letters_among_other_records_are_refused(name: str) -> None:
    sink = dataclasses.replace(SINK, dead_letter_topic=name)
    with pytest.raises(ValueError, match=f"^{name} can't be two topics at once$"):
        planned(sink)


@pytest.mark.parametrize(("partitions", "replicas"), [(0, 1), (1, 0)])
def test_a_topic_without_partitions_or_replicas_is_refused(partitions: int, replicas: int) -> None:
    with pytest.raises(ValueError, match=r"^topic a: partitions and replicas must be 1 or more$"):
        PlannedTopic(name="a", partitions=partitions, replicas=replicas)


def test_a_plan_passes_through_a_request_unchanged() -> None:
    for topic in planned(WITH_DEAD_LETTERS).values():
        assert PlannedTopic.of_request(topic.as_request()) == topic


@pytest.mark.parametrize("request_", [{}, {"name": "a"}, {"name": "a", "partitions": "x", "replicas": 1, "config": {}}])
def test_a_request_that_is_no_plan_is_refused(request_: dict[str, object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        PlannedTopic.of_request(request_)
