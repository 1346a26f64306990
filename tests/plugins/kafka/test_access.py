"""Each connector's rights in Kafka: no more than its part needs."""

import dataclasses
import re
from pathlib import Path

from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topics import (
    READER_GROUP,
    Grant,
    Kind,
    planned_topics,
    reader_access,
    sink_access,
    source_access,
    statements,
    topics_access,
)
from plugins.source.captured import CapturedTable

SOURCE = SourceSettings(
    name="orders-source",
    database_hostname="db.example",
    database_password="${file:/run/secret:password}",
    topic_prefix="shop",
)
SINK = SinkSettings(name="orders-sink", topics=(SOURCE.topic,), bucket="landing", region="eu-west-1")
WITH_DEAD_LETTERS = dataclasses.replace(SINK, dead_letter_topic="orders-dead")


def rights(grants: tuple[Grant, ...], kind: Kind, action: str) -> set[str]:
    """The names of a kind on which the grants allow an action."""
    return {name for grant in grants if grant.kind == kind and action in grant.actions for name in grant.names or ("",)}


def test_the_source_writes_its_topics_and_reads_only_its_own_bookkeeping() -> None:
    access = source_access(SOURCE)
    bookkeeping = {"__cdc_lake_offsets_orders-source-*", "__amazon_msk_connect_*_orders-source_*"}
    assert rights(access, "topic", "ReadData") == bookkeeping
    assert rights(access, "topic", "WriteData") == {SOURCE.topic, "__debezium-heartbeat.shop", *bookkeeping}
    assert rights(access, "cluster", "WriteDataIdempotently") == {""}


def test_the_sink_reads_its_topic_as_one_group_and_writes_no_events() -> None:
    access = sink_access(SINK)
    assert rights(access, "topic", "ReadData") - {"__amazon_msk_connect_*_orders-sink_*"} == {SOURCE.topic}
    assert rights(access, "topic", "WriteData") == {"__amazon_msk_connect_*_orders-sink_*"}
    assert rights(access, "topic", "CreateTopic") == {"__amazon_msk_connect_*_orders-sink_*"}
    assert rights(access, "group", "AlterGroup") == {"connect-orders-sink", "__amazon_msk_connect_*"}
    assert rights(access, "cluster", "WriteDataIdempotently") == set()


def test_a_sink_with_dead_letters_may_write_that_topic_too() -> None:
    added = set(sink_access(WITH_DEAD_LETTERS)) - set(sink_access(SINK))
    assert rights(tuple(added), "topic", "WriteData") == {"orders-dead"}
    assert rights(tuple(added), "topic", "ReadData") == set()


def test_no_connector_makes_topics_but_its_workers_own() -> None:
    source, sink = source_access(SOURCE), sink_access(WITH_DEAD_LETTERS)
    bookkeeping = {"__cdc_lake_offsets_orders-source-*", "__amazon_msk_connect_*_orders-source_*"}
    assert rights(source, "topic", "CreateTopic") == bookkeeping
    assert rights(sink, "topic", "CreateTopic") == {"__amazon_msk_connect_*_orders-sink_*"}
    assert rights((*source, *sink), "cluster", "CreateTopic") == set()


def test_what_makes_the_topics_touches_exactly_those() -> None:
    planned = planned_topics(SOURCE, WITH_DEAD_LETTERS, brokers=2, retention_hours=1)
    access = topics_access(planned, WITH_DEAD_LETTERS)
    names = {SOURCE.topic, "__debezium-heartbeat.shop", "__cdc_lake_offsets_orders-source", "orders-dead"}
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


def test_a_grant_becomes_a_statement_on_the_arns_of_its_names() -> None:
    grants = (
        Grant(kind="topic", names=("a", "b*"), actions=("ReadData",)),
        Grant(kind="cluster", actions=("Connect",)),
    )
    assert statements(grants, lambda kind, name: f"arn:{kind}/{name}") == [
        {"Effect": "Allow", "Action": ["kafka-cluster:ReadData"], "Resource": ["arn:topic/a", "arn:topic/b*"]},
        {"Effect": "Allow", "Action": ["kafka-cluster:Connect"], "Resource": ["arn:cluster/"]},
    ]


def test_the_documents_name_the_rights_of_who_looks_into_kafka() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "aws" / "kafka-tools.md").read_text().partition("```")[0]
    named = set(re.findall(r"`(?:kafka-cluster:)?([A-Z][A-Za-z]+)`", page)) - {"BootstrapBrokers"}
    assert named == {action for grant in reader_access() for action in grant.actions}
    assert f"`{READER_GROUP}`" in page
