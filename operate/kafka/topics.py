"""Lists topics, and finds one."""

import difflib
from collections.abc import Collection
from dataclasses import dataclass

from operate.errors import OperateError
from operate.kafka.reader import Reader

# Internal topics of Kafka, MSK and the connectors.
INTERNAL = "__"


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic's partitions and offsets: `earliest` the lowest available, `latest` the next to be assigned.

    `messages` is their distance, over all partitions; a compacted topic holds fewer.
    """

    name: str
    partitions: int
    messages: int
    earliest: int
    latest: int


def list_topics(reader: Reader, *, internal: bool = False, only: Collection[str] | None = None) -> list[Topic]:
    """Return the topics by name; with `only`, the existing ones of those. Raises KafkaException."""
    found = reader.partitions()
    names = sorted(name for name in found if _is_asked_for(name, internal, only))
    return [_topic(reader, name, found[name]) for name in names]


def find_partitions(reader: Reader, name: str) -> list[int]:
    """Return a topic's partitions. Raises OperateError if it doesn't exist, KafkaException."""
    found = reader.partitions()
    if name not in found:
        likely = difflib.get_close_matches(name, found, n=1, cutoff=0.5)
        others = sorted(other for other in found if not other.startswith(INTERNAL))
        known = f"did you mean {likely[0]}?" if likely else f"there are {', '.join(others) or 'none'}"
        raise OperateError(f"there is no topic {name}: {known}")
    return found[name]


def _is_asked_for(name: str, internal: bool, only: Collection[str] | None) -> bool:
    return (internal or not name.startswith(INTERNAL)) if only is None else name in only


def _topic(reader: Reader, name: str, partitions: list[int]) -> Topic:
    offsets = [reader.bounds(name, partition) for partition in partitions]
    return Topic(
        name=name,
        partitions=len(partitions),
        messages=sum(end - first for first, end in offsets),
        earliest=min((first for first, _ in offsets), default=0),
        latest=max((end for _, end in offsets), default=0),
    )
