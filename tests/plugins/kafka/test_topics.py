"""The plan of topics, and each connector's rights in Kafka: no more than its part needs."""

import dataclasses
import re
from pathlib import Path

import pytest

from contract.sizes import MIB, SizeLimits
from plugins.connector_settings import SinkSettings
from plugins.kafka.topics import (
    READER_GROUP,
    Grant,
    Kind,
    PlannedTopic,
    planned_topics,
    reader_access,
    sink_access,
    source_access,
    topics_access,
)
from plugins.source.captured import CapturedTable
from tests.plugins.conftest import SINK, SOURCE

WITH_DEAD_LETTERS = dataclasses.replace(SINK, dead_letter_topic="orders-dead")
EVENTS = "shop.datalake.cdc_events"
HEARTBEAT = "__debezium-heartbeat.shop"
OFFSETS = "__cdc_lake_offsets_orders-source"


def planned(sink: SinkSettings = SINK, *, brokers: int = 3, hours: int | None = 168) -> dict[str, PlannedTopic]:
    return {topic.name: topic for topic in planned_topics(SOURCE, sink, brokers=brokers, retention_hours=hours)}


def test_every_topic_is_kept_as_long_as_it_is_needed_and_takes_the_largest_event() -> None:
    source = dataclasses.replace(SOURCE, largest_event_bytes=19 * MIB)
    sink = dataclasses.replace(WITH_DEAD_LETTERS, largest_event_bytes=19 * MIB)
    deleted = {"cleanup.policy": "delete", "retention.bytes": "-1"}
    events = deleted | {"retention.ms": "172800000"} | SizeLimits(19 * MIB).topic
    assert {topic.name: topic.config for topic in planned_topics(source, sink, brokers=1, retention_hours=48)} == {
        EVENTS: events,
        # So that the heartbeats don't fill a disk.
        HEARTBEAT: deleted | {"retention.ms": "86400000"},
        OFFSETS: {"cleanup.policy": "compact"},
        # It is kept from when it was set aside.
        "orders-dead": events | {"message.timestamp.type": "LogAppendTime"},
    }
    for_ever = planned(hours=None)
    assert for_ever.keys() == {EVENTS, HEARTBEAT, OFFSETS}
    kept = (for_ever[EVENTS].config["retention.ms"], for_ever[HEARTBEAT].config["retention.ms"])
    assert kept == ("-1", "86400000")


@pytest.mark.parametrize(("brokers", "replicas", "in_sync"), [(1, 1, "1"), (2, 2, "1"), (3, 3, "2"), (6, 3, "2")])
def test_one_broker_may_be_away(brokers: int, replicas: int, in_sync: str) -> None:
    for topic in planned(WITH_DEAD_LETTERS, brokers=brokers).values():
        assert topic.replicas == replicas
        assert topic.config_with(topic.replicas)["min.insync.replicas"] == in_sync
        # Also of a topic with fewer replicas than planned.
        assert topic.config_with(2)["min.insync.replicas"] == "1"


def test_the_offsets_may_have_another_name() -> None:
    topics = planned_topics(SOURCE, SINK, brokers=1, retention_hours=None, offsets="connect-offsets")
    assert [topic.name for topic in topics if topic.compacted] == ["connect-offsets"]


# Kafka refuses a name that differs from another's only in dots and underscores.
@pytest.mark.parametrize("name", [EVENTS, HEARTBEAT, OFFSETS, EVENTS.replace(".", "_")])
def test_dead_letters_among_other_records_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^\S+( and {name})? can't be two topics at once$"):
        planned(dataclasses.replace(SINK, dead_letter_topic=name))


def test_a_plan_passes_through_a_request_unchanged() -> None:
    for topic in planned(WITH_DEAD_LETTERS).values():
        assert PlannedTopic.of_request(topic.as_request()) == topic


def rights(grants: tuple[Grant, ...], kind: Kind, action: str) -> set[str]:
    """The names of a kind on which the grants allow an action."""
    return {name for grant in grants if grant.kind == kind and action in grant.actions for name in grant.names or ("",)}


OF_SOURCES_WORKER = {"__cdc_lake_offsets_orders-source-*", "__amazon_msk_connect_*_orders-source_*"}
OF_SINKS_WORKER = {"__amazon_msk_connect_*_orders-sink_*"}


def test_the_source_writes_its_topics_and_reads_and_makes_only_its_own_bookkeeping() -> None:
    access = source_access(SOURCE)
    assert rights(access, "topic", "ReadData") == rights(access, "topic", "CreateTopic") == OF_SOURCES_WORKER
    assert rights(access, "topic", "WriteData") == {SOURCE.topic, HEARTBEAT, *OF_SOURCES_WORKER}
    assert rights(access, "cluster", "WriteDataIdempotently") == {""}
    assert rights(access, "cluster", "CreateTopic") == set()


def test_the_sink_reads_its_topic_as_one_group_and_writes_no_events_but_dead_letters() -> None:
    access, with_dead_letters = sink_access(SINK), sink_access(WITH_DEAD_LETTERS)
    for each in (access, with_dead_letters):
        assert rights(each, "topic", "ReadData") == {SOURCE.topic, *OF_SINKS_WORKER}
        assert rights(each, "topic", "CreateTopic") == OF_SINKS_WORKER
        assert rights(each, "group", "AlterGroup") == {"connect-orders-sink", "__amazon_msk_connect_*"}
        assert rights(each, "cluster", "CreateTopic") == set()
    assert rights(access, "topic", "WriteData") == OF_SINKS_WORKER
    assert rights(access, "cluster", "WriteDataIdempotently") == set()
    assert rights(with_dead_letters, "topic", "WriteData") == {"orders-dead", *OF_SINKS_WORKER}


def test_what_makes_the_topics_touches_exactly_those() -> None:
    planned = planned_topics(SOURCE, WITH_DEAD_LETTERS, brokers=2, retention_hours=1)
    access = topics_access(planned, WITH_DEAD_LETTERS)
    names = {EVENTS, HEARTBEAT, OFFSETS, "orders-dead"}
    for action in ("CreateTopic", "DescribeTopic", "AlterTopic", "AlterTopicDynamicConfiguration"):
        assert rights(access, "topic", action) == names
    assert rights(access, "topic", "ReadData") == {SOURCE.topic}
    assert rights(access, "group", "AlterGroup") == {"connect-orders-sink"}
    granted = {action for grant in access for action in grant.actions}
    assert not granted & {"WriteData", "DeleteTopic", "DeleteGroup", "AlterCluster", "*"}


def test_a_pipelines_roles_reach_all_of_its_topics_and_no_other() -> None:
    tables = (CapturedTable(schema="public", table="a"), CapturedTable(schema="public", table="b"))
    source = dataclasses.replace(SOURCE, tables=tables)
    sink = dataclasses.replace(SINK, topics=source.topics)
    assert rights(source_access(source), "topic", "WriteData") >= {*source.topics}
    assert rights(sink_access(sink), "topic", "ReadData") >= {*source.topics}
    assert SOURCE.topic not in rights(sink_access(sink), "topic", "ReadData")
    planned = planned_topics(source, sink, brokers=2, retention_hours=1)
    assert rights(topics_access(planned, sink), "topic", "ReadData") == {*source.topics}


def test_the_documents_name_the_rights_of_who_looks_into_kafka() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "aws" / "kafka-tools.md").read_text().partition("```")[0]
    named = set(re.findall(r"`(?:kafka-cluster:)?([A-Z][A-Za-z]+)`", page)) - {"BootstrapBrokers"}
    assert named == {action for grant in reader_access() for action in grant.actions}
    assert f"`{READER_GROUP}`" in page
