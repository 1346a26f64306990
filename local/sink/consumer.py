"""The sink as a member of its consumer group: positions, commits and what Kafka says about the topics."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from local.sink.errors import RevokedError, SinkError, UnavailableError
from local.sink.offsets import CommittedOffset
from local.sink.partition import Partition
from local.sink.settings import TaskSettings

LOG = logging.getLogger("sink.kafka")
REQUEST_TIMEOUT_S = 10.0
PREFETCH_KILOBYTES = 16_384
WARNING_INTERVAL_S = 10.0

# The broker's answers to a commit of someone who isn't the partition's owner (any more).
NOT_OWNER = frozenset(
    {
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError._ASSIGNMENT_LOST,
    }
)
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
    }
)


class GroupConsumer:
    """One member of the sink's consumer group; `kafka` is what librdkafka's clients connect with.

    Raises, from every method that asks the brokers: UnavailableError when trying again helps, RevokedError when the
    partition has another owner, SinkError for the rest.
    """

    def __init__(self, kafka: Mapping[str, str], settings: TaskSettings) -> None:
        connection: dict[str, str | int | float | bool] = {
            **kafka,
            # librdkafka would write a line for each refused connection, 20 a second; `_warn` says it.
            "log_level": 0,
        }
        self._topics = settings.topics
        self._warned_at = -WARNING_INTERVAL_S
        self._admin = AdminClient(connection)
        self._consumer = Consumer(
            {
                **connection,
                **settings.consumer,
                "group.id": settings.group,
                "client.id": settings.name,
                "enable.auto.commit": False,
                # Where to read from is decided by what is landed; a position that Kafka doesn't have is an error.
                "auto.offset.reset": "error",
                "partition.assignment.strategy": settings.assignment,
                # Of all partitions together, however many there are.
                "queued.max.messages.kbytes": PREFETCH_KILOBYTES,
                # How long it waits when that is full; the default, a second, halves the throughput.
                "fetch.queue.backoff.ms": 50,
                "socket.timeout.ms": int(REQUEST_TIMEOUT_S * 1000),
                "allow.auto.create.topics": False,
                # A topic that is made later, or anew, should be seen soon.
                "topic.metadata.refresh.interval.ms": 1_000,
                "error_cb": self._warn,
            }
        )

    def subscribe(self, *, assigned: Callable[[set[Partition]], None], revoked: Callable[[], None]) -> None:
        """Join the group. Both callbacks come out of `poll`; reading begins with `read_from`."""

        def on_assign(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            consumer.assign([])
            assigned({Partition(partition.topic, partition.partition) for partition in partitions})

        def on_revoke(consumer: Consumer, _: list[TopicPartition]) -> None:
            consumer.unassign()
            revoked()

        self._consumer.subscribe(list(self._topics), on_assign=on_assign, on_revoke=on_revoke, on_lost=on_revoke)

    def poll(self, seconds: float) -> Message | None:
        """Wait for a record or an error event; keeps the membership alive."""
        return self._consumer.poll(seconds)

    def read_from(self, positions: Mapping[Partition, int]) -> None:
        """Read exactly these partitions from these offsets."""
        self._consumer.assign([TopicPartition(*partition, at) for partition, at in positions.items()])

    def pause(self) -> None:
        """Take no records until `resume`."""
        self._consumer.pause(self._consumer.assignment())

    def resume(self) -> None:
        """Take records again."""
        self._consumer.resume(self._consumer.assignment())

    def committed(self, partitions: Iterable[Partition]) -> dict[Partition, CommittedOffset]:
        """Return what is committed, without the partitions of which nothing is."""
        asked = [TopicPartition(*partition) for partition in partitions]
        try:
            answers = self._consumer.committed(asked, timeout=REQUEST_TIMEOUT_S)
        except KafkaException as error:
            raise _translated(error.args[0]) from error
        for answer in answers:
            if answer.error is not None:
                raise _translated(answer.error)
        return {
            Partition(answer.topic, answer.partition): CommittedOffset.of(answer.offset, answer.metadata)
            for answer in answers
            if answer.offset >= 0
        }

    def commit(self, partition: Partition, committed: CommittedOffset) -> None:
        """Commit synchronously: the broker refuses it when the partition has got another owner."""
        position = TopicPartition(*partition, committed.offset, metadata=committed.note())
        try:
            results = self._consumer.commit(offsets=[position], asynchronous=False) or []
        except KafkaException as error:
            raise _translated(error.args[0]) from error
        for result in results:
            if result.error is not None:
                raise _translated(result.error)

    def log_bounds(self, partition: Partition) -> tuple[int, int]:
        """Return the log's first offset and the one behind its last."""
        try:
            bounds = self._consumer.get_watermark_offsets(
                TopicPartition(*partition), timeout=REQUEST_TIMEOUT_S, cached=False
            )
        except KafkaException as error:
            raise _translated(error.args[0]) from error
        if bounds is None:
            raise UnavailableError(f"{partition}: no answer about the log's bounds")
        return int(bounds[0]), int(bounds[1])

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the topics' ids, which a topic made again under the same name doesn't share."""
        answer = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=REQUEST_TIMEOUT_S)
        try:
            return {topic: str(described.result().topic_id) for topic, described in answer.items()}
        except KafkaException as error:
            raise _translated(error.args[0]) from error

    def _warn(self, error: KafkaError) -> None:
        """Say what is wrong with the connection, but not as often as librdkafka notices it."""
        now = time.monotonic()
        if now - self._warned_at >= WARNING_INTERVAL_S:
            self._warned_at = now
            LOG.warning("Kafka: %s", error.str())

    def close(self) -> None:
        """Leave the group, so that others take over at once."""
        self._consumer.close()


def _translated(error: KafkaError) -> Exception:
    if error.code() in NOT_OWNER:
        return RevokedError(error.str())
    if error.code() in PASSING or error.retriable():
        return UnavailableError(error.str())
    return SinkError(f"Kafka: {error.str()}")
