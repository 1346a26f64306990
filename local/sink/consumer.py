"""Kafka for the sink: reads topics, keeps the consumer group's offsets, and writes dead letters."""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from local.sink.settings import DeadLetters, Partition, SinkError, TaskSettings, UnavailableError

LOG = logging.getLogger("sink.kafka")
REQUEST_TIMEOUT_S = 10.0
PREFETCH_KILOBYTES = 16_384
WARNING_INTERVAL_S = 10.0

# The broker's answers to a commit while the group has members.
SHARED = frozenset({KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.REBALANCE_IN_PROGRESS})
DENIED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
PASSING = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
        KafkaError._MSG_TIMED_OUT,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        # While the group's coordinator moves, or loads its offsets.
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
    }
)
DELIVERY_TIMEOUT_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Committed:
    """The group's offset of a partition; `landed`: the offset after the last landed record then, 0 for none."""

    offset: int
    landed: int = 0


@dataclass(frozen=True, kw_only=True)
class TopicState:
    """A topic's state in Kafka: a recreated topic has another id."""

    id: str
    partitions: frozenset[Partition]


class GroupConsumer:
    """Reads partitions and commits as the group, without being its member: the group is this sink's alone.

    `kafka`: connection settings of librdkafka's clients. Every method that asks the brokers raises UnavailableError
    when trying again helps, and SinkError otherwise.
    """

    def __init__(self, kafka: Mapping[str, str], settings: TaskSettings) -> None:
        # librdkafka would write a line for each refused connection, 20 a second; `_warn` writes fewer.
        connection: dict[str, Any] = {**kafka, "log_level": 0, "error_cb": self._warn}
        self._group = settings.group
        self._warned_at = -WARNING_INTERVAL_S
        self._refusal: KafkaError | None = None
        self._admin = AdminClient(connection)
        self._consumer = Consumer(
            {
                **connection,
                **settings.consumer,
                "group.id": settings.group,
                "client.id": settings.name,
                "enable.auto.commit": False,
                # The bucket decides where to read; a position missing from Kafka is an error.
                "auto.offset.reset": "error",
                # In total, for any number of partitions.
                "queued.max.messages.kbytes": PREFETCH_KILOBYTES,
                # Pause when that is full; the default, a second, halves the throughput.
                "fetch.queue.backoff.ms": 50,
                "socket.timeout.ms": int(REQUEST_TIMEOUT_S * 1000),
                "allow.auto.create.topics": False,
            }
        )

    def topics(self, names: Iterable[str]) -> dict[str, TopicState]:
        """Return those of the topics that exist."""
        answer = self._admin.describe_topics(TopicCollection(list(names)), request_timeout=REQUEST_TIMEOUT_S)
        found = {}
        for name, described in answer.items():
            try:
                topic = described.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise self._translated(error.args[0]) from error
                continue
            partitions = frozenset(Partition(name, partition.id) for partition in topic.partitions)
            found[name] = TopicState(id=str(topic.topic_id), partitions=partitions)
        return found

    def poll(self, seconds: float) -> Message | None:
        message = self._consumer.poll(seconds)
        if self._refusal is not None:
            raise self._translated(self._refusal)
        return message

    def read_from(self, positions: Mapping[Partition, int]) -> None:
        """Read exactly these partitions from these offsets."""
        self._consumer.assign([TopicPartition(*partition, at) for partition, at in positions.items()])

    def committed(self, partition: Partition) -> Committed:
        """Return the group's offset of a partition, 0 before the first commit."""
        with self._asking():
            [answer] = self._consumer.committed([TopicPartition(*partition)], timeout=REQUEST_TIMEOUT_S)
        if answer.error is not None:
            raise self._translated(answer.error)
        # The note of another program's commit is ignored.
        note = answer.metadata or ""
        return Committed(offset=max(answer.offset, 0), landed=int(note) if note.isascii() and note.isdigit() else 0)

    def commit(self, partition: Partition, committed: Committed) -> None:
        """Commit synchronously, if the topic is still there: the broker refuses it while the group has members."""
        position = TopicPartition(*partition, committed.offset, metadata=str(committed.landed))
        with self._asking():
            try:
                results = self._consumer.commit(offsets=[position], asynchronous=False) or []
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART or self.topics([partition.topic]):
                    raise
                return
        for result in results:
            if result.error is not None:
                raise self._translated(result.error)

    def log_bounds(self, partition: Partition) -> tuple[int, int]:
        """Return the log's first offset and the one after its last."""
        position = TopicPartition(*partition)
        with self._asking():
            bounds = self._consumer.get_watermark_offsets(position, timeout=REQUEST_TIMEOUT_S, cached=False)
        if bounds is None:
            raise UnavailableError(f"{partition}: no answer about the log's bounds")
        return int(bounds[0]), int(bounds[1])

    def close(self) -> None:
        self._consumer.close()

    def _warn(self, error: KafkaError) -> None:
        """Report a connection error, but less often than librdkafka does; remember that the login was refused."""
        if error.code() == KafkaError._AUTHENTICATION:
            self._refusal = error
        now = time.monotonic()
        if now - self._warned_at >= WARNING_INTERVAL_S:
            self._warned_at = now
            LOG.warning("Kafka: %s", error.str())

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise self._translated(error.args[0]) from error

    def _translated(self, error: KafkaError) -> Exception:
        self._admin.poll(0)  # calls back
        if self._refusal is not None:
            return SinkError(f"Kafka refuses the login: {self._refusal.str()}")
        if error.code() in SHARED:
            return UnavailableError(f"another consumer is in the group {self._group}, which one sink alone may use")
        if error.code() in PASSING or error.retriable():
            return UnavailableError(error.str())
        return SinkError(f"Kafka: {error.str()}")


class DeadLetterQueue:
    """A topic that keeps records unchanged, with their origin and the reason in Connect's own headers."""

    def __init__(self, kafka: Mapping[str, str], settings: DeadLetters) -> None:
        self._settings = settings
        self._connection: dict[str, str | int | float | bool] = {**kafka, "log_level": 0}

    def send(self, message: Message, reason: str) -> None:
        """Write a record and wait until it is stored. Raises UnavailableError when it isn't."""
        failures: list[KafkaError] = []
        headers = {
            "__connect.errors.topic": str(message.topic()),
            "__connect.errors.partition": str(message.partition()),
            "__connect.errors.offset": str(message.offset()),
            "__connect.errors.exception.message": reason,
        }
        try:
            self._producer.produce(
                self._settings.topic,
                key=message.key(),
                value=message.value(),
                headers={name: value.encode() for name, value in headers.items()},
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
            left = self._producer.flush(DELIVERY_TIMEOUT_S)
        except KafkaException as error:
            raise UnavailableError(f"{self._settings.topic}: {error.args[0].str()}") from error
        if failures or left:
            del self._producer
            raise UnavailableError(f"{self._settings.topic}: {failures[0].str() if failures else 'no answer'}")

    @cached_property
    def _producer(self) -> Producer:
        """Made at the first use: mostly it isn't needed."""
        delivery = {"acks": "all", "message.timeout.ms": int(DELIVERY_TIMEOUT_S * 1000)}
        return Producer({**self._connection, **self._settings.producer, **delivery})
