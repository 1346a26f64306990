"""A topic is read from an offset to its present end, whatever the client returns in between."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from local.look import topic
from local.look.topic import RawEvent, Topic


class Log:
    """A consumer of a topic whose only partition holds some records."""

    def __init__(self, *values: bytes | None) -> None:
        self._values = values
        self.away: list[Any] = []
        self._next: int | None = None

    def __call__(self, _settings: dict[str, Any]) -> "Log":
        return self

    def get_watermark_offsets(self, partition: TopicPartition, **_: Any) -> tuple[int, int]:
        assert partition.partition == 0
        return 0, len(self._values)

    def assign(self, partitions: list[TopicPartition]) -> None:
        [partition] = partitions
        assert (partition.topic, partition.partition) == ("shop.items", 0)
        self._next = partition.offset

    def poll(self, _seconds: float) -> Any:
        assert self._next is not None
        if self.away:
            return self.away.pop()
        offset, self._next = self._next, self._next + 1
        return Message("shop.items", 0, offset, b"{}", self._values[offset])

    def close(self) -> None:
        self._next = None


def test_events_are_read_from_an_offset_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "Consumer", Log(b"{}", b'{"id": 1}', None))
    items = Topic(connection={}, name="shop.items")
    assert items.raw_events(1) == [
        RawEvent(offset=1, key=b"{}", value=b'{"id": 1}'),
        RawEvent(offset=2, key=b"{}", value=None),
    ]
    assert [event.value for event in items.events(0)] == [{}, {"id": 1}, None]
    assert (items.raw_events(3), items.count()) == ([], 3)


def test_a_broker_that_comes_back_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    log, items = Log(b"{}"), Topic(connection={}, name="shop.items")
    away = KafkaError.LEADER_NOT_AVAILABLE, KafkaError._TRANSPORT
    monkeypatch.setattr(topic, "Consumer", log)
    log.away = [None, *(Message(error=KafkaError(code)) for code in away), None]
    assert len(items.raw_events(0)) == 1
    log.away = [Message(error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))]
    with pytest.raises(KafkaException):
        items.raw_events(0)
    monkeypatch.setattr(topic, "OUTAGE_S", 0)
    log.away = [None]
    with pytest.raises(TimeoutError, match=r"^shop\.items: no event within 0 s, though the topic goes on to 1$"):
        items.raw_events(0)
