"""Reads change events straight from a Kafka topic, without a consumer group and without leaving a trace."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition

from contract.sizes import SizeLimits

TIMEOUT_S = 10.0
# Brokers that are restarted or moved come back within this time, and librdkafka reconnects to them by itself.
OUTAGE_S = 60.0
# Short, so that Ctrl-C counts at once.
POLL_S = 0.5
UNREACHABLE = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE)
# While brokers are away, and right after: partitions have no leader yet.
PASSING = (
    *UNREACHABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
)


@dataclass(frozen=True, kw_only=True)
class Event:
    """One change event: its offset in the topic, its key and its value (None for a tombstone)."""

    offset: int
    key: dict[str, Any]
    value: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class RawEvent:
    """An event as the topic has it: JSON in bytes."""

    offset: int
    key: bytes
    value: bytes | None


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic of one partition on a broker; `connection`: the settings for librdkafka's clients."""

    connection: Mapping[str, str] = field(repr=False)
    name: str

    def bounds(self) -> tuple[int, int]:
        """Return the first available offset and the next event's."""
        with self._consumer() as consumer:
            return self._bounds(consumer)

    def ends(self, names: Iterable[str]) -> dict[str, int]:
        """Return the next event's offset, for topics on this one's broker."""
        with self._consumer() as consumer:
            return {name: replace(self, name=name)._bounds(consumer)[1] for name in names}

    def count(self) -> int:
        first, end = self.bounds()
        return end - first

    def events(self, start: int) -> list[Event]:
        """Read the events from the offset `start` to the present end; raises as `raw_events` does."""
        return [
            Event(offset=raw.offset, key=json.loads(raw.key), value=json.loads(raw.value) if raw.value else None)
            for raw in self.raw_events(start)
        ]

    def raw_events(self, start: int) -> list[RawEvent]:
        """Read the events from the offset `start` to the present end as raw bytes.

        Raises KafkaException, and TimeoutError when a broker that goes away meanwhile stays away.
        """
        with self._consumer() as consumer:
            _, end = self._bounds(consumer)
            consumer.assign([TopicPartition(self.name, 0, start)])
            return list(self._until(consumer, end)) if start < end else []

    def _until(self, consumer: Consumer, end: int) -> Iterator[RawEvent]:
        offset, deadline = -1, time.monotonic() + OUTAGE_S
        while offset + 1 < end:
            message = consumer.poll(POLL_S)
            # Compare with None: a tombstone is false.
            error = None if message is None else message.error()
            if message is None or (error and error.code() in PASSING):
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"{self.name}: no event within {OUTAGE_S:.0f} s, though the topic goes on to {end}"
                    )
                continue
            if error:
                raise KafkaException(error)
            deadline = time.monotonic() + OUTAGE_S
            offset, key, value = message.offset() or 0, message.key(), message.value()
            yield RawEvent(offset=offset, key=bytes(key or b"{}"), value=bytes(value) if value else None)

    def _bounds(self, consumer: Consumer) -> tuple[int, int]:
        first, end = consumer.get_watermark_offsets(TopicPartition(self.name, 0, OFFSET_INVALID), timeout=TIMEOUT_S)
        return int(first), int(end)

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        consumer = Consumer(
            {
                **self.connection,
                "group.id": "unused",
                # librdkafka would log interrupted work to standard error when it is closed.
                "log_level": 0,
                "enable.auto.commit": False,
                "allow.auto.create.topics": False,
                **SizeLimits().consumer,
            }
        )
        try:
            yield consumer
        finally:
            consumer.close()
