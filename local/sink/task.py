"""The sink's loop: read, open batches, land them, commit. One thread, so nothing happens between two steps.

The order in which a batch is landed is what makes a kill at any point harmless:
1. commit its end as an intent, with the offset still at its start; a former owner of the partition is refused here;
2. write its objects;
3. commit the offset behind it.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

from confluent_kafka import KafkaError, Message

from local.sink.batch import Batch
from local.sink.batches import OpenBatches
from local.sink.consumer import DENIED, GroupConsumer
from local.sink.dead_letters import DeadLetterQueue
from local.sink.errors import MalformedValueError, RevokedError, SinkError, StoreUnavailableError, UnavailableError
from local.sink.held import Held
from local.sink.layout import Layout
from local.sink.offsets import CommittedOffset, Gap
from local.sink.partition import Partition
from local.sink.retry import Retry
from local.sink.settings import TaskSettings
from local.sink.start import Starter
from local.sink.store import LandingStore
from local.sink.values import check_key

LOG = logging.getLogger("sink")
POLL_S = 0.2
# All open records together; more than that is landed early, whatever the flush settings say.
OPEN_BYTES = 64_000_000
STOP_S = 20.0
# The real connector's task is FAILED after an outage of S3 of 15 s: its client gives up sooner, and it forgives nothing
# while it writes its index (docs/decisions/0040).
FATAL_OUTAGE_S = 10.0
# How often is asked whether a record that is refused is still there.
HELD_LOOK_S = 10.0
HOLE = "not in the log: transaction markers, or records that compaction removed"


class SinkTask:
    """Lands the records of its topics until it is told to stop.

    With `fragile` an outage of S3 ends it, as it ends the real connector's task. A record that it refuses holds up its
    partition alone, which `tell` is told each time that changes; those of `passed_over` are left out.
    """

    def __init__(
        self,
        settings: TaskSettings,
        consumer: GroupConsumer,
        store: LandingStore,
        dead_letters: DeadLetterQueue | None,
        *,
        fragile: bool = False,
        clock: Callable[[], float] = time.monotonic,
        passed_over: Iterable[Held] = (),
        tell: Callable[[Iterable[Held]], None] = lambda _held: None,
    ) -> None:
        self._topics = ", ".join(settings.topics)
        self._consumer = consumer
        self._store = store
        self._dead_letters = dead_letters
        self._clock = clock
        self._retry = Retry(pause=self._pause, gave_up=self._has_given_up, works_again=self._works_again)
        layouts = {statement.topic: Layout(statement) for statement in settings.statements}
        self._starter = Starter(layouts, consumer, store, self._retry)
        self._pending: set[Partition] = set()
        self._batches = OpenBatches()
        self._generation = 0
        self._stop_at: float | None = None
        self._fragile = fragile
        self._s3_away_since: float | None = None
        self._passed_over = {(record.place, record.offset) for record in passed_over}
        self._tell = tell
        self._held: dict[Partition, Held] = {}
        self._held_seen_at = clock()

    def stop(self) -> None:
        """Land what is open, then end. What can't be landed within STOP_S seconds is left to the next start."""
        if self._stop_at is None:
            self._stop_at = self._clock() + STOP_S

    def run(self) -> None:
        """Read and land until `stop`. Raises SinkError when a person must decide, or records stay open."""
        self._tell(())
        self._consumer.subscribe(assigned=self._on_assigned, revoked=self._on_revoked)
        LOG.info("waiting for partitions of %s", self._topics)
        try:
            while self._stop_at is None:
                self._look_at_held()
                self._start_pending()
                self._take(self._consumer.poll(self._seconds_to_next_flush()))
                self._land_due()
            for batch in self._batches:
                self._land(batch)
        except UnavailableError as error:
            if self._stop_at is None:
                raise SinkError(f"failed as the connector would, start it again: {error}") from error
            raise SinkError(f"stopped with records not landed (the next start reads them again): {error}") from error
        finally:
            self._consumer.close()
        LOG.info("stopped")

    def _on_assigned(self, partitions: set[Partition]) -> None:
        self._generation += 1
        self._pending = partitions
        self._batches.clear()
        self._held.clear()
        self._tell(())
        LOG.info("assigned: %s", ", ".join(map(str, sorted(partitions))) or "nothing")

    def _on_revoked(self) -> None:
        # Nothing is landed in a hurry: what is open isn't committed, so the next owner reads it again.
        self._generation += 1
        self._pending = set()
        self._batches.clear()

    def _start_pending(self) -> None:
        """Find out where to read each new partition, then read them all."""
        if not self._pending:
            return
        try:
            first = self._starter.batches(self._pending)
        except RevokedError as error:
            LOG.info("not started: %s", error)
            return
        self._pending = set()
        for batch in first:
            self._batches.put(batch, self._clock())
        self._read()

    def _read(self) -> None:
        """Read all partitions that have a batch, each from where that is."""
        self._consumer.read_from({batch.partition: batch.end for batch in self._batches})
        self._consumer.resume()

    def _take(self, message: Message | None) -> None:
        """Put a record into its partition's batch."""
        if message is None:
            return
        error = message.error()
        if error is not None:
            self._take_error(_place(message), error)
            return
        partition, offset = _place(message), message.offset()
        batch = None if partition is None else self._batches.get(partition)
        if batch is None or offset is None:
            return
        if batch.until is not None and offset >= batch.until:
            # The record that the batch ended with is gone from the log.
            batch.until = None if batch.is_empty else batch.end
            self._land(batch)
            batch = self._batches.get(batch.partition)
        if batch is not None:
            self._add(batch, offset, message)

    def _add(self, batch: Batch, offset: int, message: Message) -> None:
        timestamp_ms = message.timestamp()[1]
        before, now = batch.size_bytes, self._clock()
        try:
            check_key(message.key())
            batch.add(message.value(), offset=offset, timestamp_ms=timestamp_ms, now=now)
            self._batches.changed(batch, batch.size_bytes - before, now)
        except MalformedValueError as error:
            reason = f"{batch.partition} offset {offset}: {error}"
            if (batch.partition, offset) in self._passed_over:
                gap = Gap(first=offset, end=offset + 1, reason=f"passed over, {error}")
                self._set_aside(batch, offset, partial(self._starter.report_gap, batch.partition, gap))
            elif self._dead_letters is None:
                self._hold(batch, offset, reason)
            else:
                self._set_aside(batch, offset, partial(self._dead_letters.send, message, reason))
                LOG.warning("%s: sent to the dead-letter topic", reason)

    def _hold(self, batch: Batch, offset: int, reason: str) -> None:
        """Land what is before a record, and read no further in its partition."""
        partition = batch.partition
        self._land(batch)
        if partition not in self._batches:
            return  # it has another owner, or begins again: the record is met again
        self._batches.drop(partition)
        self._held[partition] = Held(topic=partition.topic, partition=partition.number, offset=offset, reason=reason)
        LOG.error("%s; errors.tolerance is none, so nothing behind it is landed; all other partitions are", reason)
        self._tell(self._held.values())
        self._read()

    def _look_at_held(self) -> None:
        """Begin again with a partition whose record is gone from the log, or whose log is another one."""
        if not self._held or self._clock() - self._held_seen_at < HELD_LOOK_S:
            return
        self._held_seen_at = self._clock()
        for partition, record in list(self._held.items()):
            with contextlib.suppress(UnavailableError):
                low, high = self._consumer.log_bounds(partition)
                if not low <= record.offset < high:
                    del self._held[partition]
                    self._tell(self._held.values())
                    self._restart(partition)

    def _set_aside(self, batch: Batch, offset: int, send: Callable[[], None]) -> None:
        try:
            self._retry(send)
        except RevokedError:
            return
        batch.skip(offset, now=self._clock())
        self._batches.changed(batch, 0, self._clock())

    def _take_error(self, partition: Partition | None, error: KafkaError) -> None:
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE) and partition is not None:
            LOG.warning("%s: the log doesn't hold the next offset any more", partition)
            self._restart(partition)
        elif error.fatal() or error.code() in DENIED:
            # As the connector's task: waiting gives nobody a right.
            raise SinkError(f"Kafka: {error.str()}")
        else:
            LOG.warning("Kafka: %s", error.str())

    def _restart(self, partition: Partition) -> None:
        """Drop what is open and begin with what is committed."""
        self._batches.drop(partition)
        self._pending.add(partition)

    def _seconds_to_next_flush(self) -> float:
        wait = self._batches.next_in(self._clock())
        return POLL_S if wait is None else min(POLL_S, wait)

    def _land_due(self) -> None:
        for batch in self._batches.due(self._clock()):
            self._land(batch)
        if self._batches.size_bytes > OPEN_BYTES:
            self._land(self._batches.largest())

    def _land(self, batch: Batch) -> None:
        """Write a partition's batch and commit behind it; the next batch begins there."""
        if batch.is_empty or not batch.may_end:
            return
        began = self._clock()
        try:
            keys = self._write(batch)
        except RevokedError as error:
            LOG.info("%s: not landed: %s", batch.partition, error)
            if self._batches.get(batch.partition) is batch:
                self._restart(batch.partition)
            return
        if batch.partition in self._batches:
            now = self._clock()
            self._batches.put(batch.next(keys[-1] if keys else batch.landed, now), now)
        LOG.info(
            "%s: offsets %d to %d, %d records, %d bytes, %d objects, %.3f s",
            *(batch.partition, batch.start, batch.end - 1),
            *(batch.records, batch.size_bytes, len(keys), self._clock() - began),
        )

    def _write(self, batch: Batch) -> list[str]:
        """Land a batch in three steps. Returns the objects' keys; RevokedError when someone else is to do it."""
        partition = batch.partition
        if batch.records and batch.until is None:
            intent = CommittedOffset(offset=batch.start, until=batch.end, landed=batch.landed)
            self._retry(partial(self._consumer.commit, partition, intent))
        keys = []
        for key, body in batch.objects():
            self._retry(partial(self._store.put, key, body))
            keys.append(key)
        if batch.holes:
            hole = Gap(first=batch.holes[0][0], end=batch.holes[-1][1], reason=HOLE)
            self._retry(partial(self._starter.report_gap, partition, hole))
        done = CommittedOffset(offset=batch.end, landed=keys[-1] if keys else batch.landed)
        self._retry(partial(self._consumer.commit, partition, done))
        return keys

    def _has_given_up(self, error: BaseException) -> bool:
        now = self._clock()
        if self._fragile and isinstance(error, StoreUnavailableError):
            self._s3_away_since = now if self._s3_away_since is None else self._s3_away_since
            if now - self._s3_away_since > FATAL_OUTAGE_S:
                return True
        return self._stop_at is not None and now > self._stop_at

    def _works_again(self) -> None:
        self._s3_away_since = None
        self._consumer.resume()

    def _pause(self, seconds: float) -> None:
        """Let time pass: the group must see this member poll, and memory must not fill.

        Raises RevokedError when the group's members changed: whatever was to be done belongs to another one now.
        """
        generation = self._generation
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0:
            self._consumer.pause()
            message = self._consumer.poll(min(left, POLL_S))
            if self._generation != generation:
                raise RevokedError("the group's members changed meanwhile")
            if message is not None and message.error() is None and (partition := _place(message)) is not None:
                # Fetched before the pause: it is read again in its turn.
                self._restart(partition)


def _place(message: Message) -> Partition | None:
    """Return the partition that a record, or an error, came from; None for an error of none."""
    topic, number = message.topic(), message.partition()
    return None if topic is None or number is None or number < 0 else Partition(topic, number)
