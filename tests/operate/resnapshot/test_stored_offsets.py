"""A connector's stored offsets, read from its topic; tests/operate/kafka does it on a real broker."""

import json
from typing import Any

from confluent_kafka import TopicPartition

from operate.kafka.reader import Reader
from operate.resnapshot.connectors import StoredOffsets

TOPIC = "__cdc_lake_offsets_dev-cdc-lake-shop-source-0a1b2c3d"
SHOP, OTHER = b'["shop",{"server":"shop"}]', b'["shop",{"server":"other"}]'


class Message:
    """A message of a partition."""

    def __init__(self, partition: int, offset: int, key: bytes, value: dict[str, Any] | None) -> None:
        self._place, self._key, self._value = (partition, offset), key, value

    def partition(self) -> int:
        return self._place[0]

    def offset(self) -> int:
        return self._place[1]

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes | None:
        return None if self._value is None else json.dumps(self._value).encode()


class Log(Reader):
    """A reader of a topic's partitions, to which a test adds; `assigned` is where it should read."""

    def __init__(self, partitions: int) -> None:
        self._messages: dict[int, list[Message]] = {number: [] for number in range(partitions)}
        self._ahead: list[Message] = []
        self.assigned: list[tuple[int, int]] = []

    def add(self, partition: int, key: bytes, value: dict[str, Any] | None) -> None:
        self._messages[partition].append(Message(partition, len(self._messages[partition]), key, value))

    def partitions(self) -> dict[str, list[int]]:
        return {TOPIC: sorted(self._messages)}

    def bounds(self, _topic: str, partition: int) -> tuple[int, int]:
        return 0, len(self._messages[partition])

    def committed(self, _topic: str) -> int:
        return 0

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned = [(place.partition, place.offset) for place in places]
        self._ahead = [m for place in places for m in self._messages[place.partition][place.offset :]]

    def poll(self, _timeout_s: float) -> Message | None:  # type: ignore[override]
        return self._ahead.pop(0) if self._ahead else None


def test_the_newest_offset_of_each_source_counts() -> None:
    log = Log(3)
    for lsn in (1, 2, 3):
        log.add(1, SHOP, {"lsn": lsn})
    log.add(2, OTHER, {"lsn": 9})
    assert StoredOffsets(log, TOPIC).read() == [{"lsn": 3}, {"lsn": 9}]


def test_what_was_read_is_not_read_again() -> None:
    log = Log(2)
    log.add(0, SHOP, {"lsn": 1})
    stored = StoredOffsets(log, TOPIC)
    assert stored.read() == [{"lsn": 1}]
    log.assigned = []
    assert stored.read() == [{"lsn": 1}]
    assert log.assigned == []
    log.add(0, SHOP, {"lsn": 2})
    assert stored.read() == [{"lsn": 2}]
    assert log.assigned == [(0, 1)]


def test_an_offset_that_was_taken_back_is_none() -> None:
    log = Log(1)
    log.add(0, SHOP, {"lsn": 1})
    log.add(0, SHOP, None)
    assert StoredOffsets(log, TOPIC).read() == []


def test_a_connector_that_has_not_stored_anything_has_no_offsets() -> None:
    assert StoredOffsets(Log(1), "another").read() == []
