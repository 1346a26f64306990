"""The sink's loop: read, collect batches, land them, commit. One thread, so nothing happens between two steps.

The bucket is the checkpoint. A batch is one object, written in one step and named after its last offset; the commit
follows. After a kill between the two, reading resumes after the last object, so nothing is lost or landed twice.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from confluent_kafka import KafkaError, Message
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential

from local.sink.consumer import DENIED, Committed, DeadLetterQueue, GroupConsumer, TopicState
from local.sink.settings import Held, MalformedValueError, Partition, SinkError, TaskSettings, UnavailableError
from local.sink.store import LandingStore
from local.sink.values import Batch, check_key, partition_folder

LOG = logging.getLogger("sink")
POLL_S = 0.1
# Limit of all open records together; above it the largest batch is landed early, regardless of the flush settings.
OPEN_BYTES = 64_000_000
STOP_S = 20.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0
# How often to check Kafka for new, missing and replaced topics, and for records that hold up a partition.
LOOK_S = 2.0
DELETED_EARLY = "deleted from the topic before they were landed"
OBJECTS_GONE = "their objects are gone from the bucket, and the topic doesn't hold them any more"
HOLE = "not in the log: transaction markers, or records that compaction removed"

T = TypeVar("T")


class SinkTask:
    """Lands the records of its topics until `stop`.

    A refused record holds up only its partition; `tell` gets all of them on each change. Those in `passed_over` are
    skipped.
    """

    def __init__(
        self,
        settings: TaskSettings,
        consumer: GroupConsumer,
        store: LandingStore,
        dead_letters: DeadLetterQueue | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        passed_over: Iterable[Held] = (),
        tell: Callable[[Iterable[Held]], None] = lambda _held: None,
    ) -> None:
        self._rules = {statement.topic: statement for statement in settings.statements}
        self._consumer = consumer
        self._store = store
        self._dead_letters = dead_letters
        self._clock = clock
        self._retrying = Retrying(
            retry=retry_if_exception_type(UnavailableError),
            wait=wait_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S),
            stop=lambda _state: self._stop_at is not None and self._clock() > self._stop_at,
            sleep=sleep,
            before_sleep=_warn,
            reraise=True,
        )
        self._topic_ids: dict[str, str] = {}
        self._batches: dict[Partition, Batch] = {}
        # The offset after the last landed record of each partition.
        self._landed: dict[Partition, int] = {}
        self._open_bytes = 0
        self._stop_at: float | None = None
        self._passed_over = {(record.place, record.offset) for record in passed_over}
        self._tell = tell
        self._held: dict[Partition, Held] = {}
        self._look_at = self._flush_at = clock()

    def stop(self) -> None:
        """Land the open records, then end. What can't be landed within STOP_S seconds is left to the next start."""
        if self._stop_at is None:
            self._stop_at = self._clock() + STOP_S

    def run(self) -> None:
        """Read and land until `stop`. Raises SinkError when a person must decide, or records stay open."""
        self._tell(())
        try:
            while self._stop_at is None:
                if self._clock() >= self._look_at:
                    self._look()
                self._take(self._consumer.poll(POLL_S))
                self._land_due()
            for batch in list(self._batches.values()):
                self._land(batch)
        except UnavailableError as error:
            raise SinkError(f"stopped with records not landed (the next start reads them again): {error}") from error
        finally:
            self._consumer.close()
        LOG.info("stopped")

    def _retry(self, action: Callable[..., T], *arguments: object, **named: object) -> T:
        """Retry until S3 and Kafka answer; UnavailableError only when the time to stop has run out."""
        result = self._retrying(action, *arguments, **named)
        if self._retrying.statistics["attempt_number"] > 1:
            LOG.info("it works again")
        return result

    def _look(self) -> None:
        """Start new partitions; restart one whose refused record is gone from its log."""
        self._look_at = self._clock() + LOOK_S
        topics: dict[str, TopicState] = self._retry(self._consumer.topics, self._rules)
        there = {partition for topic in topics.values() for partition in topic.partitions}
        self._check_identities(topics)
        gone = [partition for partition in (*self._batches, *self._held) if partition not in there]
        held = [record for partition, record in self._held.items() if partition in there]
        gone += [record.place for record in held if not self._holds(record.place, record.offset)]
        for partition in gone:
            self._drop(partition)
        self._start(sorted(there - {*self._batches, *self._held}), restarted=bool(gone))

    def _holds(self, partition: Partition, offset: int) -> bool:
        try:
            low, high = self._consumer.log_bounds(partition)
        except UnavailableError:
            # Its topic may be going: the next look tells.
            return True
        return low <= offset < high

    def _check_identities(self, topics: dict[str, TopicState]) -> None:
        """Refuse to land a recreated topic among the objects of the former one."""
        for name, topic in topics.items():
            if self._topic_ids.get(name) == topic.id:
                continue
            noted = self._retry(self._store.topic_id, name)
            if noted is None:
                offsets = {each: self._retry(self._consumer.committed, each).offset for each in topic.partitions}
                if any(offset == 0 and self._end(partition) > 0 for partition, offset in offsets.items()):
                    raise SinkError(
                        f"{name}: there are landed objects, but neither the group's offsets nor a note tell that"
                        " they are this topic's: land it under another prefix, or remove them with their lake table"
                    )
                self._retry(self._store.keep_topic_id, name, topic.id)
            elif noted != topic.id:
                raise SinkError(
                    f"{name} was deleted and made again since its objects were landed: land it under another prefix,"
                    f" or remove them with their lake table and {self._store.identity_url(name)}"
                )
            self._topic_ids[name] = topic.id

    def _end(self, partition: Partition, *, known: int = 0) -> int:
        folder = partition_folder(self._rules[partition.topic], partition.number)
        return self._retry(self._store.end, folder, known=known)

    def _start(self, partitions: Sequence[Partition], *, restarted: bool) -> None:
        for partition in partitions:
            start = self._first_offset(partition)
            # This commits nothing new, but fails while another consumer is in the group.
            self._commit(partition, start)
            self._batches[partition] = Batch(partition=partition, rules=self._rules[partition.topic], start=start)
            LOG.info("%s: reading from offset %d", partition, start)
        if partitions or restarted:
            self._read()

    def _first_offset(self, partition: Partition) -> int:
        """Decide where to read: after the last object, or at the committed offset if that is further.

        Raises SinkError when Kafka lost landed records.
        """
        committed: Committed = self._retry(self._consumer.committed, partition)
        low, high = self._retry(self._consumer.log_bounds, partition)
        landed = self._landed[partition] = self._end(partition, known=committed.landed)
        reach = max(committed.offset, landed)
        if reach > high:
            raise SinkError(
                f"{partition}: offset {reach} was landed but the log ends at {high}: records were lost in Kafka, or its"
                " data replaced"
            )
        start, reason = reach, DELETED_EARLY
        if landed < committed.landed:
            LOG.error("%s: landed objects are gone from the bucket: landing again from offset %d", partition, landed)
            start, reason = landed, OBJECTS_GONE
        if start < low:
            self._report_gap(partition, start, low, reason)
        return max(start, low)

    def _report_gap(self, partition: Partition, first: int, end: int, reason: str) -> None:
        """Log which offsets are missing, and leave a note in the bucket."""
        LOG.error("%s: offsets %d to %d are missing: %s", partition, first, end - 1, reason)
        self._retry(self._store.keep_gap, partition, first, end, reason)

    def _commit(self, partition: Partition, offset: int) -> None:
        self._retry(self._consumer.commit, partition, Committed(offset=offset, landed=self._landed[partition]))

    def _read(self) -> None:
        """Read all partitions that have a batch, each from where that ends."""
        self._consumer.read_from({batch.partition: batch.end for batch in self._batches.values()})

    def _take(self, message: Message | None) -> None:
        if message is None:
            return
        partition, offset, error = _place(message), message.offset(), message.error()
        if error is not None:
            self._take_error(partition, error)
        elif partition in self._batches and offset is not None:
            self._add(self._batches[partition], offset, message)

    def _add(self, batch: Batch, offset: int, message: Message) -> None:
        before = batch.size_bytes
        try:
            check_key(message.key())
            batch.add(message.value(), offset=offset, timestamp_ms=message.timestamp()[1], now=self._clock())
        except MalformedValueError as error:
            self._refuse(batch, offset, message, str(error))
            return
        self._open_bytes += batch.size_bytes - before
        if batch.is_full:
            self._land(batch)
        if self._open_bytes > OPEN_BYTES:
            self._land(max(self._batches.values(), key=lambda open_batch: open_batch.size_bytes))

    def _refuse(self, batch: Batch, offset: int, message: Message, why: str) -> None:
        """Skip a record that can't be landed, send it to the dead letters, or stop reading before it."""
        reason = f"{batch.partition} offset {offset}: {why}"
        if (batch.partition, offset) in self._passed_over:
            self._report_gap(batch.partition, offset, offset + 1, f"passed over, {why}")
        elif self._dead_letters is not None:
            self._retry(self._dead_letters.send, message, reason)
            LOG.warning("%s: sent to the dead-letter topic", reason)
        else:
            self._hold(batch, offset, reason)
            return
        batch.skip(offset, now=self._clock())

    def _hold(self, batch: Batch, offset: int, reason: str) -> None:
        """Land what is before a record, and stop reading its partition."""
        partition = batch.partition
        self._drop(partition)
        self._held[partition] = Held(topic=partition.topic, partition=partition.number, offset=offset, reason=reason)
        LOG.error("%s; errors.tolerance is none, so nothing behind it is landed; all other partitions are", reason)
        self._tell(self._held.values())
        self._read()

    def _drop(self, partition: Partition) -> None:
        """Stop reading a partition; what has been read is landed first, because it may be nowhere else now."""
        if partition in self._batches:
            self._land(self._batches[partition])
            del self._batches[partition]
        if self._held.pop(partition, None) is not None:
            self._tell(self._held.values())

    def _take_error(self, partition: Partition | None, error: KafkaError) -> None:
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE) and partition is not None:
            LOG.warning("%s: the log doesn't hold the next offset any more", partition)
            # Nothing is committed to a recreated topic.
            self._check_identities(self._retry(self._consumer.topics, [partition.topic]))
            self._drop(partition)
            self._look_at = self._clock()
        elif error.fatal() or error.code() in DENIED:
            # As the connector's task does: waiting grants no right.
            raise SinkError(f"Kafka: {error.str()}")
        else:
            LOG.warning("Kafka: %s", error.str())

    def _land_due(self) -> None:
        """Land what is old enough; not after every record, which with many topics would cost more than reading."""
        now = self._clock()
        if now >= self._flush_at:
            self._flush_at = now + POLL_S
            for batch in [batch for batch in self._batches.values() if batch.is_due(now)]:
                self._land(batch)

    def _land(self, batch: Batch) -> None:
        """Write a batch and commit after it; the next one begins there."""
        if batch.end == batch.start:
            return
        partition, began = batch.partition, self._clock()
        if batch.lines:
            self._retry(self._store.put, batch.key, b"".join(batch.lines))
            self._landed[partition] = batch.last_offset + 1
        if batch.holes:
            self._report_gap(partition, batch.holes[0][0], batch.holes[-1][1], HOLE)
        self._commit(partition, batch.end)
        now = self._clock()
        self._open_bytes -= batch.size_bytes
        self._batches[partition] = Batch(partition=partition, rules=batch.rules, start=batch.end, counts_from=now)
        LOG.info(
            "%s: offsets %d to %d, %d records, %d bytes, %.3f s",
            *(partition, batch.start, batch.end - 1, len(batch.lines), batch.size_bytes, now - began),
        )


def _place(message: Message) -> Partition | None:
    """Return the partition of a record or an error; None for an error without one."""
    topic, number = message.topic(), message.partition()
    return None if topic is None or number is None or number < 0 else Partition(topic, number)


def _warn(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    LOG.warning("attempt %d: %s", state.attempt_number, error)
