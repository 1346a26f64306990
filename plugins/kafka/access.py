"""Each connector's rights in Kafka, as data: stacks/ turns them into IAM statements, local/ into the broker's ACLs.

Actions and ARN forms: Amazon MSK developer guide, "Semantics of IAM authorization policy actions and resources", and
"Understand service execution role" of MSK Connect.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypedDict

from plugins.connector_names import heartbeat_topic, offset_topic, sink_group, workers_group, workers_topics
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topics import PlannedTopic

PREFIX = "kafka-cluster:"
Kind = Literal["cluster", "topic", "group", "transactional-id"]

# Where MSK Connect keeps a connector's configuration, offsets and status; documented as
# __amazon_msk_connect_<kind>_<connector>_<uuid>. Only the first part of the worker group's name is documented.
INTERNAL_TOPICS = "__amazon_msk_connect_*_{connector}_*"
INTERNAL_GROUPS = "__amazon_msk_connect_*"

# librdkafka requires a group name even without joining a group; nothing is ever committed under it.
READER_GROUP = "cdc-lake-operate"

_DESCRIBE = ("DescribeTopic", "DescribeTopicDynamicConfiguration")
_GROUP = ("AlterGroup", "DescribeGroup")


class Statement(TypedDict):
    """An IAM statement as in a policy document."""

    Effect: str
    Action: list[str]
    Resource: list[str]


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Actions (without `kafka-cluster:`) on topics, groups or transactional ids by name or pattern.

    A `*` in a name matches anything, as in IAM. `names` is empty for the cluster, as there is only one.
    """

    kind: Kind
    names: tuple[str, ...] = ()
    actions: tuple[str, ...]

    def statement(self, arns: Callable[[Kind, str], str]) -> Statement:
        """Return the IAM statement; `arns` builds an ARN from a kind and a name, which is "" for the cluster."""
        return {
            "Effect": "Allow",
            "Action": [f"{PREFIX}{action}" for action in self.actions],
            "Resource": [arns(self.kind, name) for name in self.names or ("",)],
        }


def source_access(settings: SourceSettings, *, worker: Iterable[Grant] | None = None) -> tuple[Grant, ...]:
    """Return the rights of Debezium and its worker: write events and heartbeats, and keep offsets.

    `worker`: the worker's own rights, if it isn't MSK Connect's (`own_worker_access`).
    """
    return (
        *(worker or worker_access(settings.name, offset_topic(settings.name, "*"))),
        *_write_topics(*settings.topics, heartbeat_topic(settings.topic_prefix)),
    )


def sink_access(settings: SinkSettings, *, worker: Iterable[Grant] | None = None) -> tuple[Grant, ...]:
    """Return the rights of the S3 sink and its worker: read the events as a group, and write unreadable ones."""
    dead_letters = settings.dead_letter_topic
    return (
        *(worker or worker_access(settings.name)),
        _topics(*_DESCRIBE, "ReadData", names=settings.topics),
        *(_write_topics(dead_letters) if dead_letters is not None else ()),
        Grant(kind="group", names=(sink_group(settings.name),), actions=_GROUP),
    )


def worker_access(connector: str, *offset_topics: str) -> tuple[Grant, ...]:
    """Return the worker's own rights: log in, keep its connector's configuration and status, find the other workers.

    `offset_topics`: where a source's offsets are kept, if not among its internal topics. MSK Connect runs one
    connector per worker, with the connector's role.
    """
    # The internal topics can't be created beforehand, because AWS completes their names; and Connect tries to create
    # all of them at each start, whether they exist or not (KafkaTopicBasedBackingStore).
    return _worker((INTERNAL_TOPICS.format(connector=connector), *offset_topics), INTERNAL_GROUPS)


def own_worker_access(connector: str, offset_topic_name: str) -> tuple[Grant, ...]:
    """Return the own rights of our worker on EKS, as `worker_access`; here all names are ours, and complete."""
    return _worker((*workers_topics(connector), offset_topic_name), workers_group(connector))


def _worker(topics: Iterable[str], group: str) -> tuple[Grant, ...]:
    return (
        _topics("CreateTopic", *_DESCRIBE, "ReadData", "WriteData", names=topics),
        Grant(kind="group", names=(group,), actions=_GROUP),
        Grant(kind="cluster", actions=("Connect", "DescribeCluster")),
    )


def reader_access() -> tuple[Grant, ...]:
    """Return the rights to look into topics (`./lake kafka topics`, `./lake kafka tail`): read only.

    None of our roles has it: it documents what an organisation's own role needs (docs/aws/kafka-tools.md).
    """
    return (
        Grant(kind="cluster", actions=("Connect", "DescribeCluster")),
        _topics("DescribeTopic", "ReadData", names=["*"]),
        Grant(kind="group", names=(READER_GROUP,), actions=_GROUP),
    )


def topics_access(planned: Iterable[PlannedTopic], sink: SinkSettings) -> tuple[Grant, ...]:
    """Return the rights of the topics' creator: create and configure them, and set the sink group's first offset.

    To set an offset Kafka requires the right to read its topic. Nothing here deletes or writes.
    """
    manage = ("CreateTopic", "AlterTopic", "AlterTopicDynamicConfiguration")
    return (
        _topics(*_DESCRIBE, *manage, names=[topic.name for topic in planned]),
        _topics("ReadData", names=sink.topics),
        Grant(kind="group", names=(sink_group(sink.name),), actions=_GROUP),
        Grant(kind="cluster", actions=("Connect",)),
    )


def statements(grants: Iterable[Grant], arns: Callable[[Kind, str], str]) -> list[Statement]:
    return [grant.statement(arns) for grant in grants]


def _write_topics(*names: str) -> tuple[Grant, ...]:
    """Allow writing existing topics, without transactions but idempotently."""
    return _topics(*_DESCRIBE, "WriteData", names=names), Grant(kind="cluster", actions=("WriteDataIdempotently",))


def _topics(*actions: str, names: Iterable[str]) -> Grant:
    return Grant(kind="topic", names=tuple(names), actions=actions)
