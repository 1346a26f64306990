"""A connector's stored offsets, read from its topic; tests/operate/kafka does it on a real broker."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaException, TopicPartition

from operate.kafka.reader import Reader
from operate.resnapshot.connectors import StoredOffsets

TOPIC = "__cdc_lake_offsets_dev-cdc-lake-shop-source-0a1b2c3d"
SHOP, FORMER = (f'["crm",{{"server":"{prefix}"}}]'.encode() for prefix in ("crm", "former"))


def message(partition: int, offset: int, key: bytes, value: dict[str, Any] | None) -> Any:
    raw = None if value is None else json.dumps(value).encode()
    return SimpleNamespace(partition=lambda: partition, offset=lambda: offset, key=lambda: key, value=lambda: raw)


class Log(Reader):
    """A reader of a topic's partitions, to which a test adds; `assigned` is where it should read."""

    def __init__(self, partitions: int) -> None:
        self._messages: dict[int, list[Any]] = {number: [] for number in range(partitions)}
        self._ahead: list[Any] = []
        self.assigned: list[tuple[int, int]] = []

    def add(self, partition: int, key: bytes, value: dict[str, Any] | None) -> None:
        self._messages[partition].append(message(partition, len(self._messages[partition]), key, value))

    def partitions(self) -> dict[str, list[int]]:
        return {TOPIC: sorted(self._messages)}

    def bounds(self, _topic: str, partition: int) -> tuple[int, int]:
        return 0, len(self._messages[partition])

    def committed(self, _topic: str) -> int:
        return 0

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned = [(place.partition, place.offset) for place in places]
        self._ahead = [m for place in places for m in self._messages[place.partition][place.offset :]]

    def poll(self, _timeout_s: float) -> Any:
        return self._ahead.pop(0) if self._ahead else None


def test_the_newest_offset_counts_not_those_of_a_former_topic_prefix_and_nothing_is_read_again() -> None:
    log = Log(3)
    stored = StoredOffsets(log, TOPIC, "crm")
    assert StoredOffsets(log, "another", "crm").read() == stored.read() == []
    for lsn in (1, 2, 3):
        log.add(1, SHOP, {"lsn": lsn})
    log.add(2, FORMER, {"lsn": 9, "incremental_snapshot_collections": "[]"})
    assert stored.read() == [{"lsn": 3}]
    log.assigned = []
    assert stored.read() == [{"lsn": 3}]
    assert log.assigned == []
    # One is taken back.
    log.add(1, SHOP, None)
    assert stored.read() == []
    assert log.assigned == [(1, 3)]


def test_a_silence_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(1)
    log.add(0, SHOP, {"lsn": 1})
    monkeypatch.setattr(log, "assign", lambda _places: None)
    with pytest.raises(KafkaException):
        StoredOffsets(log, TOPIC, "crm").read()
