"""The pipeline's topics, as data: each is created before it is written or read (docs/decisions/0042).

On AWS a custom resource creates them (stacks/handlers/topics.py), on one machine the platform's start, both with
plugins/kafka/topic_admin.py. Nothing else creates topics: brokers don't auto-create, and the connectors may not.
Configuration names and meanings: Kafka 3.9, "Topic Configs".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self

from contract.sizes import SizeLimits
from contract.table_names import clashes, topic_identity
from plugins.connector_names import GENERATION, heartbeat_topic, offset_topic, sink_group, workers_group, workers_topics
from plugins.connector_settings import SinkSettings, SourceSettings

HOUR_MS = 3_600_000
FOR_EVER = "-1"
MOST_REPLICAS = 3
# With more, two events of a key could land in two partitions after a change, and the older one arrive last.
EVENT_PARTITIONS = 1
# One connector's offsets are one record. MSK Connect would create 25, and its topics keep them.
OFFSET_PARTITIONS = 1
# No consumer reads them: they advance the connector's position in the log.
HEARTBEAT_RETENTION_HOURS = 24
IN_SYNC = "min.insync.replicas"
COMPACT = "compact"


def replicas_on(brokers: int) -> int:
    return min(brokers, MOST_REPLICAS)


def in_sync_of(replicas: int) -> int:
    """How many replicas must have a record before it counts as written: one may always be away."""
    return max(1, replicas - 1)


@dataclass(frozen=True, kw_only=True)
class PlannedTopic:
    """A topic as planned; the brokers decide what `config` doesn't name. Raises ValueError for an impossible one.

    `min.insync.replicas` isn't in `config`: it follows from the topic's number of replicas.
    """

    name: str
    partitions: int
    replicas: int
    config: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if min(self.partitions, self.replicas) < 1:
            raise ValueError(f"topic {self.name}: partitions and replicas must be 1 or more")

    @property
    def compacted(self) -> bool:
        return self.config.get("cleanup.policy") == COMPACT

    def config_with(self, replicas: int) -> dict[str, str]:
        """Return the whole configuration of a topic with `replicas` replicas."""
        return {**self.config, IN_SYNC: str(in_sync_of(replicas))}

    def as_request(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_request(cls, request: Mapping[str, Any]) -> Self:
        """Read what `as_request` wrote. Raises ValueError for anything else."""
        try:
            return cls(
                name=str(request["name"]),
                partitions=int(request["partitions"]),
                replicas=int(request["replicas"]),
                config={str(key): str(value) for key, value in dict(request["config"]).items()},
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a topic: {error!r}") from None


def planned_topics(
    source: SourceSettings, sink: SinkSettings, *, brokers: int, retention_hours: int | None, offsets: str | None = None
) -> tuple[PlannedTopic, ...]:
    """Return the topics of one pipeline on a cluster of `brokers` brokers.

    `retention_hours`: how long events are kept at least, None for ever. `offsets`: the name of the topic with the
    source worker's offsets, if it isn't the connector's own. Raises ValueError for two topics that Kafka takes for one.
    """
    replicas = replicas_on(brokers)
    topics = tuple(
        PlannedTopic(name=name, partitions=partitions, replicas=replicas, config=config)
        for name, partitions, config in (
            *(
                (topic, EVENT_PARTITIONS, event_topic(source.largest_event_bytes, retention_hours))
                for topic in source.topics
            ),
            (heartbeat_topic(source.topic_prefix), 1, _deleting(HEARTBEAT_RETENTION_HOURS)),
            (offsets or offset_topic(source.name), OFFSET_PARTITIONS, {"cleanup.policy": COMPACT}),
            *_dead_letters(sink, retention_hours),
        )
    )
    for names in clashes((topic.name for topic in topics), topic_identity).values():
        raise ValueError(f"{' and '.join(dict.fromkeys(names))} can't be two topics at once")
    return topics


def of_generation(topics: Iterable[PlannedTopic], generation: str) -> tuple[PlannedTopic, ...]:
    """Return the topics with their placeholder replaced by the source's generation, or `*` for any."""
    return tuple(replace(topic, name=topic.name.replace(GENERATION, generation)) for topic in topics)


def event_topic(largest_event_bytes: int, retention_hours: int | None) -> dict[str, str]:
    """Return the configuration of a topic with this maximum event size and retention, None for ever."""
    # Compaction would remove events between the sink's progress and the log's end.
    return {**_deleting(retention_hours), **SizeLimits(largest_event_bytes).topic}


def _dead_letters(sink: SinkSettings, retention_hours: int | None) -> Iterator[tuple[str, int, dict[str, str]]]:
    if sink.dead_letter_topic is not None:
        # Connect gives a dead letter its event's time: without this, retention would count from then.
        config = {**event_topic(sink.largest_event_bytes, retention_hours), "message.timestamp.type": "LogAppendTime"}
        yield sink.dead_letter_topic, 1, config


def _deleting(hours: int | None) -> dict[str, str]:
    """Delete by age alone: a limit of bytes could delete what the sink hasn't read."""
    retention = FOR_EVER if hours is None else str(hours * HOUR_MS)
    return {"cleanup.policy": "delete", "retention.ms": retention, "retention.bytes": FOR_EVER}


# Each connector's rights in Kafka, as data: stacks/ turns them into IAM statements, local/ into the broker's ACLs.
#
# Actions and ARN forms: Amazon MSK developer guide, "Semantics of IAM authorization policy actions and resources", and
# "Understand service execution role" of MSK Connect.

Kind = Literal["cluster", "topic", "group", "transactional-id"]

# Where MSK Connect keeps a connector's configuration, offsets and status; documented as
# __amazon_msk_connect_<kind>_<connector>_<uuid>. Only the first part of the worker group's name is documented.
INTERNAL_TOPICS = "__amazon_msk_connect_*_{connector}_*"
INTERNAL_GROUPS = "__amazon_msk_connect_*"

# librdkafka requires a group name even without joining a group; nothing is ever committed under it.
READER_GROUP = "cdc-lake-operate"

_DESCRIBE = ("DescribeTopic", "DescribeTopicDynamicConfiguration")
_GROUP = ("AlterGroup", "DescribeGroup")


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Actions (without `kafka-cluster:`) on topics, groups or transactional ids by name or pattern.

    A `*` in a name matches anything, as in IAM. `names` is empty for the cluster, as there is only one.
    """

    kind: Kind
    names: tuple[str, ...] = ()
    actions: tuple[str, ...]


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


def _write_topics(*names: str) -> tuple[Grant, ...]:
    """Allow writing existing topics, without transactions but idempotently."""
    return _topics(*_DESCRIBE, "WriteData", names=names), Grant(kind="cluster", actions=("WriteDataIdempotently",))


def _topics(*actions: str, names: Iterable[str]) -> Grant:
    return Grant(kind="topic", names=tuple(names), actions=actions)
