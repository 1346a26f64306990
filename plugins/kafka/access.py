"""What each connector may do in Kafka, as data: stacks/ makes IAM statements of it, local/ the broker's ACLs.

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
# __amazon_msk_connect_<kind>_<connector>_<uuid>. For the worker group's name only the first part is documented.
INTERNAL_TOPICS = "__amazon_msk_connect_*_{connector}_*"
INTERNAL_GROUPS = "__amazon_msk_connect_*"

# librdkafka wants a name even of those who join no group; nothing is ever committed under it.
READER_GROUP = "cdc-lake-operate"

_DESCRIBE = ("DescribeTopic", "DescribeTopicDynamicConfiguration")
_GROUP = ("AlterGroup", "DescribeGroup")


class Statement(TypedDict):
    """An IAM statement as a policy document has it."""

    Effect: str
    Action: list[str]
    Resource: list[str]


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Actions (without `kafka-cluster:`) on topics, groups or transactional ids by name or pattern.

    A `*` in a name stands for anything, as in IAM. `names` is empty for the cluster: there is but one.
    """

    kind: Kind
    names: tuple[str, ...] = ()
    actions: tuple[str, ...]

    def statement(self, arns: Callable[[Kind, str], str]) -> Statement:
        """Return the IAM statement; `arns` makes an ARN of a kind and a name, which is "" for the cluster."""
        return {
            "Effect": "Allow",
            "Action": [f"{PREFIX}{action}" for action in self.actions],
            "Resource": [arns(self.kind, name) for name in self.names or ("",)],
        }


def source_access(settings: SourceSettings, *, worker: Iterable[Grant] | None = None) -> tuple[Grant, ...]:
    """What Debezium and its worker do: write events and heartbeats, and keep offsets.

    `worker`: what the worker does for itself, where that isn't MSK Connect's (`own_worker_access`).
    """
    return (
        *(worker or worker_access(settings.name, offset_topic(settings.name, "*"))),
        *_write_topics(*settings.topics, heartbeat_topic(settings.topic_prefix)),
    )


def sink_access(settings: SinkSettings, *, worker: Iterable[Grant] | None = None) -> tuple[Grant, ...]:
    """What the S3 sink and its worker do: read the events as a group, and write those that can't be read."""
    dead_letters = settings.dead_letter_topic
    return (
        *(worker or worker_access(settings.name)),
        _topics(*_DESCRIBE, "ReadData", names=settings.topics),
        *(_write_topics(dead_letters) if dead_letters is not None else ()),
        Grant(kind="group", names=(sink_group(settings.name),), actions=_GROUP),
    )


def worker_access(connector: str, *offset_topics: str) -> tuple[Grant, ...]:
    """What the worker does for itself: log in, keep its connector's configuration and status, find the other workers.

    `offset_topics`: where a source's offsets are kept, if not among its internal topics. MSK Connect runs one
    connector per worker, with the connector's role.
    """
    # Nobody could make the internal ones beforehand, since AWS completes their names; and Connect asks for all of them
    # at each start, whether they are there or not (KafkaTopicBasedBackingStore).
    return _worker((INTERNAL_TOPICS.format(connector=connector), *offset_topics), INTERNAL_GROUPS)


def own_worker_access(connector: str, offset_topic_name: str) -> tuple[Grant, ...]:
    """What a worker of ours on EKS does for itself, as `worker_access`; here all names are ours, and in full."""
    return _worker((*workers_topics(connector), offset_topic_name), workers_group(connector))


def _worker(topics: Iterable[str], group: str) -> tuple[Grant, ...]:
    return (
        _topics("CreateTopic", *_DESCRIBE, "ReadData", "WriteData", names=topics),
        Grant(kind="group", names=(group,), actions=_GROUP),
        Grant(kind="cluster", actions=("Connect", "DescribeCluster")),
    )


def reader_access() -> tuple[Grant, ...]:
    """What a person needs who looks into topics (`./lake kafka topics`, `./lake kafka tail`): no more than to read
    them.

    No role of ours has it: it says what an organisation's own role must have (docs/aws/kafka-tools.md).
    """
    return (
        Grant(kind="cluster", actions=("Connect", "DescribeCluster")),
        _topics("DescribeTopic", "ReadData", names=["*"]),
        Grant(kind="group", names=(READER_GROUP,), actions=_GROUP),
    )


def topics_access(planned: Iterable[PlannedTopic], sink: SinkSettings) -> tuple[Grant, ...]:
    """What makes the topics does: create and configure these, and set the first offset of the sink's group.

    To set an offset Kafka wants the right to read its topic. Nothing here deletes, and nothing writes.
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
    """Write topics that are there; without transactions, but idempotently."""
    return _topics(*_DESCRIBE, "WriteData", names=names), Grant(kind="cluster", actions=("WriteDataIdempotently",))


def _topics(*actions: str, names: Iterable[str]) -> Grant:
    return Grant(kind="topic", names=tuple(names), actions=actions)
