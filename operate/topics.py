"""Lists topics, and finds one."""

import difflib
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition

from operate.errors import OperateError
from operate.kafka import REQUEST_TIMEOUT_S

# Kafka's own, MSK's and the connectors' bookkeeping.
INTERNAL = "__"


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic's partitions and offsets: `earliest` the lowest that is there, `latest` the next to be given.

    `messages` is their distance, over all partitions; in a compacted topic fewer are left.
    """

    name: str
    partitions: int
    messages: int
    earliest: int
    latest: int


def list_topics(consumer: Consumer, *, internal: bool = False) -> list[Topic]:
    """Return the topics by name. Raises KafkaException."""
    found = _partitions(consumer)
    names = sorted(name for name in found if internal or not name.startswith(INTERNAL))
    return [_topic(consumer, name, found[name]) for name in names]


def partitions_of(consumer: Consumer, name: str) -> list[TopicPartition]:
    """Return a topic's partitions. Raises OperateError when it isn't there, KafkaException."""
    found = _partitions(consumer)
    if name not in found:
        likely = difflib.get_close_matches(name, found, n=1, cutoff=0.5)
        others = sorted(other for other in found if not other.startswith(INTERNAL))
        known = f"did you mean {likely[0]}?" if likely else f"there are {', '.join(others) or 'none'}"
        raise OperateError(f"there is no topic {name}: {known}")
    return [TopicPartition(name, partition) for partition in found[name]]


def bounds(consumer: Consumer, partition: TopicPartition) -> tuple[int, int]:
    """Return a partition's first offset and the one that the next message gets. Raises KafkaException."""
    first, end = consumer.get_watermark_offsets(partition, timeout=REQUEST_TIMEOUT_S)
    return int(first), int(end)


def _partitions(consumer: Consumer) -> dict[str, list[int]]:
    # All topics, never one by name: MSK would make it.
    topics = consumer.list_topics(timeout=REQUEST_TIMEOUT_S).topics
    return {name: sorted(metadata.partitions) for name, metadata in topics.items()}


def _topic(consumer: Consumer, name: str, partitions: list[int]) -> Topic:
    offsets = [bounds(consumer, TopicPartition(name, partition)) for partition in partitions]
    return Topic(
        name=name,
        partitions=len(partitions),
        messages=sum(end - first for first, end in offsets),
        earliest=min((first for first, _ in offsets), default=0),
        latest=max((end for _, end in offsets), default=0),
    )
