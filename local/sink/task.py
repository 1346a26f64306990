"""The sink's loop: read, open batches, land them, commit. One thread, so nothing happens between two steps.

The order in which a batch is landed is what makes a kill at any point harmless:
1. commit its end as an intent, with the offset still at its start; a former owner of the partition is refused here;
2. write its objects;
3. commit the offset behind it.
"""

import logging
import time
from collections.abc import Callable
from functools import partial

from confluent_kafka import KafkaError, Message

from local.sink.batch import Batch
from local.sink.dead_letters import DeadLetterQueue
from local.sink.errors import MalformedValueError, RevokedError, SinkError, StoreUnavailableError, UnavailableError
from local.sink.layout import Layout
from local.sink.member import DENIED, Member
from local.sink.patience import Patience
from local.sink.progress import Gap, Progress
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
# while it writes its index (docs/decisions/0041).
FATAL_OUTAGE_S = 10.0
HOLE = "not in the log: transaction markers, or records that compaction removed"


class SinkTask:
    """Lands one topic's records until it is told to stop.

    With `fragile` an outage of S3 ends it, as it ends the real connector's task.
    """

    def __init__(
        self,
        settings: TaskSettings,
        member: Member,
        store: LandingStore,
        dead_letters: DeadLetterQueue | None,
        *,
        fragile: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._topic = settings.kcql.topic
        self._layout = Layout(settings.kcql)
        self._member = member
        self._store = store
        self._dead_letters = dead_letters
        self._clock = clock
        self._patience = Patience(pause=self._pause, gave_up=self._has_given_up, works_again=self._works_again)
        self._starter = Starter(self._layout, member, store, self._patience)
        self._pending: set[int] = set()
        self._batches: dict[int, Batch] = {}
        self._generation = 0
        self._stop_at: float | None = None
        self._fragile = fragile
        self._s3_away_since: float | None = None

    def stop(self) -> None:
        """Land what is open, then end. What can't be landed within STOP_S seconds is left to the next start."""
        if self._stop_at is None:
            self._stop_at = self._clock() + STOP_S

    def run(self) -> None:
        """Read and land until `stop`. Raises SinkError when a person must decide, or records stay open."""
        self._member.subscribe(assigned=self._on_assigned, revoked=self._on_revoked)
        LOG.info("waiting for partitions of %s", self._topic)
        try:
            while self._stop_at is None:
                self._start_pending()
                self._take(self._member.poll(self._seconds_to_next_flush()))
                self._land_due()
            for batch in list(self._batches.values()):
                self._land(batch)
        except UnavailableError as error:
            if self._stop_at is None:
                raise SinkError(f"failed as the connector would, start it again: {error}") from error
            raise SinkError(f"stopped with records not landed (the next start reads them again): {error}") from error
        finally:
            self._member.close()
        LOG.info("stopped")

    def _on_assigned(self, partitions: set[int]) -> None:
        self._generation += 1
        self._pending = partitions
        self._batches = {}
        LOG.info("assigned: partitions %s of %s", sorted(partitions), self._topic)

    def _on_revoked(self) -> None:
        # Nothing is landed in a hurry: what is open isn't committed, so the next owner reads it again.
        self._generation += 1
        self._pending = set()
        self._batches = {}

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
        self._batches.update(first)
        self._member.read_from({number: batch.end for number, batch in self._batches.items()})
        self._member.resume()

    def _take(self, message: Message | None) -> None:
        """Put a record into its partition's batch."""
        if message is None:
            return
        error = message.error()
        if error is not None:
            self._take_error(message.partition(), error)
            return
        partition, offset = message.partition(), message.offset()
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
        try:
            check_key(message.key())
            batch.add(message.value(), offset=offset, timestamp_ms=timestamp_ms, now=self._clock())
        except MalformedValueError as error:
            reason = f"{self._topic}[{batch.partition}] offset {offset}: {error}"
            if self._dead_letters is None:
                raise SinkError(f"{reason}; errors.tolerance is none, so nothing behind it is landed") from None
            self._set_aside(batch, offset, partial(self._dead_letters.send, message, reason))
            LOG.warning("%s: sent to the dead-letter topic", reason)

    def _set_aside(self, batch: Batch, offset: int, send: Callable[[], None]) -> None:
        try:
            self._patience(send)
        except RevokedError:
            return
        batch.skip(offset, now=self._clock())

    def _take_error(self, partition: int | None, error: KafkaError) -> None:
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE) and partition is not None:
            LOG.warning("%s[%d]: the log doesn't hold the next offset any more", self._topic, partition)
            self._restart(partition)
        elif error.fatal() or error.code() in DENIED:
            # As the connector's task: waiting gives nobody a right.
            raise SinkError(f"Kafka: {error.str()}")
        else:
            LOG.warning("Kafka: %s", error.str())

    def _restart(self, partition: int) -> None:
        """Drop what is open and begin with what is committed."""
        self._batches.pop(partition, None)
        self._pending.add(partition)

    def _seconds_to_next_flush(self) -> float:
        now = self._clock()
        waits = [wait for batch in self._batches.values() if (wait := batch.due_in(now)) is not None]
        return min([POLL_S, *waits])

    def _land_due(self) -> None:
        now = self._clock()
        for batch in [batch for batch in self._batches.values() if batch.due_in(now) == 0]:
            self._land(batch)
        if sum(batch.size_bytes for batch in self._batches.values()) > OPEN_BYTES:
            self._land(max(self._batches.values(), key=lambda batch: batch.size_bytes))

    def _land(self, batch: Batch) -> None:
        """Write a partition's batch and commit behind it; the next batch begins there."""
        if batch.is_empty or not batch.may_end:
            return
        began = self._clock()
        try:
            keys = self._write(batch)
        except RevokedError as error:
            LOG.info("%s[%d]: not landed: %s", self._topic, batch.partition, error)
            if self._batches.get(batch.partition) is batch:
                self._restart(batch.partition)
            return
        if batch.partition in self._batches:
            self._batches[batch.partition] = batch.next(keys[-1] if keys else batch.landed)
        LOG.info(
            "%s[%d]: offsets %d to %d, %d records, %d bytes, %d objects, %.3f s",
            *(self._topic, batch.partition, batch.start, batch.end - 1),
            *(batch.records, batch.size_bytes, len(keys), self._clock() - began),
        )

    def _write(self, batch: Batch) -> list[str]:
        """Land a batch in three steps. Returns the objects' keys; RevokedError when someone else is to do it."""
        number = batch.partition
        if batch.records and batch.until is None:
            intent = Progress(offset=batch.start, until=batch.end, landed=batch.landed)
            self._patience(partial(self._member.commit, number, intent))
        keys = []
        for key, body in batch.objects():
            self._patience(partial(self._store.put, key, body))
            keys.append(key)
        if batch.holes:
            hole = Gap(first=batch.holes[0][0], end=batch.holes[-1][1], reason=HOLE)
            self._patience(partial(self._starter.report_gap, number, hole))
        done = Progress(offset=batch.end, landed=keys[-1] if keys else batch.landed)
        self._patience(partial(self._member.commit, number, done))
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
        self._member.resume()

    def _pause(self, seconds: float) -> None:
        """Let time pass: the group must see this member poll, and memory must not fill.

        Raises RevokedError when the group's members changed: whatever was to be done belongs to another one now.
        """
        generation = self._generation
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0:
            self._member.pause()
            message = self._member.poll(min(left, POLL_S))
            if self._generation != generation:
                raise RevokedError("the group's members changed meanwhile")
            if message is not None and message.error() is None and (partition := message.partition()) is not None:
                # Fetched before the pause: it is read again in its turn.
                self._restart(partition)
