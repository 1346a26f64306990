"""Follows a topic without joining a group or committing an offset."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message, TopicPartition

from contract.events import DELETED, IS_DELETED
from operate.kafka.reader import Reader
from operate.kafka.topics import find_partitions
from plugins.kafka.msk_login import MS_PER_S

Start = Literal["beginning", "end"]
# Short, so that Ctrl-C counts at once.
POLL_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Line:
    """A message to show: `place` is partition and offset, `key` and `value` are JSON.

    `gone` says how the row was deleted: `deleted` (a delete event), `tombstone` (no value), or "" if it wasn't.
    """

    place: str
    time: str
    key: str
    gone: str
    value: str

    def __str__(self) -> str:
        return "  ".join(part for part in (self.place, self.time, self.key, self.gone, self.value) if part)


def follow(reader: Reader, topic: str, *, start: Start, count: int | None = None) -> Iterator[Line]:
    """Yield the topic's messages from its beginning or its current end, for ever or `count` of them.

    Raises OperateError if the topic doesn't exist, KafkaException.
    """
    places = []
    for partition in find_partitions(reader, topic):
        first, end = reader.bounds(topic, partition)
        # The current end as a number, so that messages that arrive before the first poll count.
        places.append(TopicPartition(topic, partition, first if start == "beginning" else end))
    reader.assign(places)
    shown = 0
    while count is None or shown < count:
        message = reader.poll(POLL_S)
        # Compare with None: a tombstone is false.
        if message is not None:
            yield line(message)
            shown += 1


def line(message: Message) -> Line:
    """Format a message."""
    value = message.value()
    decoded = _decode(value)
    deleted = isinstance(decoded, dict) and decoded.get(DELETED) in (IS_DELETED, True)
    return Line(
        place=f"{message.partition()}/{message.offset()}",
        time=_time(message),
        key=_json(_decode(message.key())),
        gone="tombstone" if value is None else "deleted" if deleted else "",
        value="" if value is None else _json(decoded),
    )


def _decode(raw: bytes | str | None) -> object:
    """Return the parsed JSON, or the bytes as text if they aren't JSON."""
    if raw is None:
        return None
    text = raw if isinstance(raw, str) else raw.decode("utf-8", errors="backslashreplace")
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(value: object) -> str:
    # One line, without control characters that a terminal would act on.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_CONTROLS)


_CONTROLS = {number: f"\\u{number:04x}" for number in (*range(0x20), *range(0x7F, 0xA0))}


def _time(message: Message) -> str:
    kind, milliseconds = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        return "-"
    return datetime.fromtimestamp(milliseconds / MS_PER_S, tz=UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
