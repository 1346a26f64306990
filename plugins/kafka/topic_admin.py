"""Creates, widens and configures a cluster's topics as plugins/kafka/topics.py plans them; deletes nothing.

Each call inspects the current state and takes the next step, so an interrupted or repeated call, or one whose answer
was lost, needs no special handling.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Node, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicDescription,
)

from plugins.kafka.topics import PlannedTopic

REQUEST_S = 10.0
# Errors for which retrying won't help.
_REFUSALS = frozenset(
    {
        KafkaError.INVALID_CONFIG,
        KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_REQUEST,
        KafkaError.POLICY_VIOLATION,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.UNSUPPORTED_VERSION,
    }
)
Say = Callable[[str], None]


class _Problem(Exception):  # noqa: N818
    """Kafka's error in one line, with its code if it has one."""

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.code = code


class TopicError(_Problem):
    """Why a topic can't become what is planned; retrying won't help."""


class Unready(_Problem):
    """What is still awaited."""


def apply_plan(admin: AdminClient, planned: Sequence[PlannedTopic], *, say: Say) -> None:
    """Take the missing steps; returns when every topic is as planned and has leaders.

    A topic keeps its records, its replicas, and surplus partitions, which Kafka can't remove: `say` reports those and
    each step. Raises Unready, or TopicError.
    """
    there = _described(admin, planned)
    missing = [topic for topic in planned if topic.name not in there]
    if missing:
        _make(admin, missing, say)
        there |= _described(admin, missing)
    if late := sorted(topic.name for topic in planned if not _has_leaders(there.get(topic.name))):
        raise Unready(f"no leader yet: {', '.join(late)}")
    widened = [step for topic in planned for step in _widen(admin, topic, there[topic.name], say)]
    _configure(admin, [(topic, _replicas(there[topic.name])) for topic in planned], say)
    if widened:
        raise Unready(f"new partitions get their leaders: {', '.join(widened)}")


def _described(admin: AdminClient, planned: Sequence[PlannedTopic]) -> dict[str, TopicDescription]:
    """Describe the topics by name, which creates none; missing ones are omitted."""
    answers = admin.describe_topics(TopicCollection([topic.name for topic in planned]), request_timeout=REQUEST_S)
    found = {}
    for name, answer in answers.items():
        try:
            found[name] = _result(answer, f"topic {name}")
        except Unready as problem:
            if problem.code != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found


def _make(admin: AdminClient, missing: Sequence[PlannedTopic], say: Say) -> None:
    wanted = [
        NewTopic(topic.name, topic.partitions, topic.replicas, config=topic.config_with(topic.replicas))
        for topic in missing
    ]
    for name, answer in admin.create_topics(wanted, request_timeout=REQUEST_S).items():
        try:
            _result(answer, f"topic {name}")
            say(f"made topic {name}")
        except Unready as problem:
            # By another client, or by a call of ours whose answer was lost.
            if problem.code != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def _widen(admin: AdminClient, topic: PlannedTopic, there: TopicDescription, say: Say) -> Iterator[str]:
    """Add missing partitions, except to a compacted topic: a key's older record would stay in another one."""
    has, wants = len(there.partitions), topic.partitions
    if has > wants:
        say(f"topic {topic.name} keeps its {has} partitions, though {wants} are planned: Kafka can't take any away")
    elif has < wants and topic.compacted:
        say(f"topic {topic.name} keeps its {has} partitions, though {wants} are planned: it is compacted")
    elif has < wants:
        answers = admin.create_partitions([NewPartitions(topic.name, wants)], request_timeout=REQUEST_S)
        _result(answers[topic.name], f"topic {topic.name}")
        say(f"topic {topic.name} has {wants} partitions now, instead of {has}")
        yield topic.name
    if (replicas := _replicas(there)) != topic.replicas:
        say(f"topic {topic.name} keeps its {replicas} replicas, though {topic.replicas} are planned (decision 0042)")


def _configure(admin: AdminClient, topics: Sequence[tuple[PlannedTopic, int]], say: Say) -> None:
    """Set what differs from the plan, and nothing else; `topics` with their replicas."""
    resources = [ConfigResource(ResourceType.TOPIC, topic.name) for topic, _ in topics]
    answers = admin.describe_configs(resources, request_timeout=REQUEST_S)
    present = {resource.name: _result(answer, f"topic {resource.name}") for resource, answer in answers.items()}
    changes = []
    for topic, replicas in topics:
        # What the topic itself must set: values that it inherits from the brokers may change. The source comes as a
        # plain number.
        own = {
            key: entry.value
            for key, entry in present[topic.name].items()
            if ConfigSource(entry.source) is ConfigSource.DYNAMIC_TOPIC_CONFIG
        }
        differing = {key: value for key, value in topic.config_with(replicas).items() if own.get(key) != value}
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in differing.items()
        ]
        if entries:
            changes.append(ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=entries))
            said = ", ".join(f"{key}={value}" for key, value in differing.items())
            say(f"topic {topic.name} gets {said}")
    if changes:
        for resource, done in admin.incremental_alter_configs(changes, request_timeout=REQUEST_S).items():
            _result(done, f"topic {resource.name}")


def _has_leaders(topic: TopicDescription | None) -> bool:
    leaders: list[Node | None] = [partition.leader for partition in topic.partitions] if topic else [None]
    return all(leader is not None and leader.id >= 0 for leader in leaders)


def _replicas(topic: TopicDescription) -> int:
    return min(len(partition.replicas) for partition in topic.partitions)


def _result(answer: "Future[Any]", what: str) -> Any:
    """Return an answer. Raises Unready if retrying may help, else TopicError."""
    try:
        return answer.result(2 * REQUEST_S)
    except KafkaException as failure:
        error = failure.args[0]
        kind = TopicError if error.code() in _REFUSALS else Unready
        raise kind(f"{what}: {' '.join(error.str().split())}", error.code()) from None
    except TimeoutError:
        raise Unready(f"{what}: no answer") from None


# Sets a consumer group's offset before it has read anything, so that its lag is known from the start.
#
# MSK publishes a group's lag only once it has an offset ("You haven't set the consumer offset for the consumer group"
# is one of the reasons for absent metrics: MSK developer guide, "Monitor consumer lags"), and Connect's sink tasks
# commit none before their first record. The first offset is where a group without one begins.

# Only the members of an active group may set its offsets.
_IN_USE = frozenset({KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS, KafkaError.UNKNOWN_MEMBER_ID})


def set_first_offsets(settings: Mapping[str, object], *, group: str, topic: str, say: Callable[[str], None]) -> None:
    """Set the group's offset to the first record of each partition without one; leave all others unchanged.

    `settings` are librdkafka's for the connection. Does nothing if the group has members. Raises Unready.
    """
    fixed = {"group.id": group, "enable.auto.commit": False, "allow.auto.create.topics": False}
    consumer = Consumer({**settings, **fixed})
    try:
        missing = [place for place in _committed(consumer, topic) if place.offset < 0]
        if missing:
            consumer.commit(offsets=[_first(consumer, place) for place in missing], asynchronous=False)
            say(f"group {group} begins with the first record of {topic}")
    except KafkaException as failure:
        error = failure.args[0]
        if error.code() not in _IN_USE:
            raise Unready(f"group {group}: {' '.join(error.str().split())}", error.code()) from None
        say(f"group {group} has members, and no offset of its own yet")
    finally:
        consumer.close()


def _committed(consumer: Consumer, topic: str) -> list[TopicPartition]:
    found = consumer.list_topics(topic, timeout=REQUEST_S).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    places = consumer.committed([TopicPartition(topic, number) for number in found.partitions], timeout=REQUEST_S)
    for place in places:
        if place.error is not None:
            raise KafkaException(place.error)
    return list(places)


def _first(consumer: Consumer, place: TopicPartition) -> TopicPartition:
    first, _ = consumer.get_watermark_offsets(place, timeout=REQUEST_S)
    return TopicPartition(place.topic, place.partition, int(first))
