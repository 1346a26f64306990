"""JsonKafkaSource: a topic directly, with HoodieStreamer's own checkpoint text `topic,0:123,1:456` (next offsets)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.sizes import SizeLimits
from spark_jobs.errors import JobError, Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.settings import KafkaSettings
from spark_jobs.sources.batches import SMALL_EVENTS, Batch, Findings, bounded

Offsets = dict[int, int]
# Where topics without progress ended when the application first saw them, by servers and name.
Ends = dict[tuple[str, str], Offsets]
_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_CALL_TIMEOUT_MS = "20000"
# A whole event in one fetch; the job's own settings take precedence.
_SIZES = SizeLimits().consumer
# Always, regardless of the job's settings: a misspelt topic is missing, and no broker creates it.
_FIXED = {"allow.auto.create.topics": "false"}


def read_offsets(text: str, topic: str) -> Offsets:
    """Return the next offset per partition from a checkpoint text; SettingsError when it isn't one of this topic."""
    name, *parts = text.split(",")
    try:
        offsets = {int(partition): int(offset) for partition, offset in (part.split(":") for part in parts)}
    except ValueError:
        offsets = {}
    if name != topic or not offsets or min(offsets.values()) < 0:
        raise SettingsError(
            f"checkpoint {text[:60]!r} isn't one of topic {topic}: give --checkpoint {topic},0:<offset> "
            "or --ignore-checkpoint"
        )
    return offsets


def limited(start: Mapping[int, int], end: Mapping[int, int], max_events: int) -> Offsets:
    """Return the exclusive end offsets, sharing `max_events` among partitions as evenly as their backlogs allow."""
    stop = dict(start)
    left = max_events
    while left > 0:
        open_partitions = [partition for partition in end if stop[partition] < end[partition]]
        if not open_partitions:
            break
        share = max(left // len(open_partitions), 1)
        for partition in open_partitions[:left]:
            taken = min(share, end[partition] - stop[partition])
            stop[partition] += taken
            left -= taken
    return stop


@dataclass(frozen=True)
class KafkaBatch(Batch):
    """A range of offsets per partition, to be consumed in one commit; `lost` offsets the topic no longer has."""

    spark: SparkSession
    settings: KafkaSettings
    start: Offsets
    stop: Offsets
    lost: Mapping[int, int]

    @property
    def files(self) -> int:
        return sum(self.stop[partition] > self.start[partition] for partition in self.stop)

    @property
    def is_small(self) -> bool:
        return sum(stop - self.start[partition] for partition, stop in self.stop.items()) <= SMALL_EVENTS

    @property
    def checkpoint(self) -> str:
        offsets = (f"{partition}:{offset}" for partition, offset in sorted(self.stop.items()))
        return ",".join((self.settings.topic, *offsets))

    def lines(self) -> DataFrame:
        """Return the values that aren't null (those are tombstones for log compaction), by offset."""
        topic = self.settings.topic
        partitions = [partition for partition in self.stop if self.stop[partition] > self.start[partition]]
        options = {f"kafka.{key}": value for key, value in {**_SIZES, **self.settings.consumer, **_FIXED}.items()}
        options |= {
            "assign": json.dumps({topic: partitions}),
            "startingOffsets": json.dumps({topic: {str(p): self.start[p] for p in partitions}}),
            "endingOffsets": json.dumps({topic: {str(p): self.stop[p] for p in partitions}}),
            "failOnDataLoss": "true",
        }
        records = self.spark.read.format("kafka").options(**options).load().filter("value IS NOT NULL")
        place = (F.col("offset"), F.unix_millis("timestamp").alias("sent_ms"), F.lit(False).alias("late"))
        return records.select(
            bounded(F.col("value").cast("string"), self.settings.line_bytes).alias("line"),
            F.concat_ws("/", "topic", "partition").alias("origin"),
            F.lit(0).cast("long").alias("block"),
            F.col("offset").alias("number"),
            F.struct(*place).alias("tie"),
        )

    def check(self, lines_of_origin: Mapping[str, int]) -> Findings:  # noqa: ARG002  (offsets of a topic may have holes)
        notes = [
            f"{count} offsets of partition {p} had left the topic unread" for p, count in sorted(self.lost.items())
        ]
        return Findings(sum(self.lost.values()), 0, tuple(notes))


class JsonKafka:
    """Finds new offsets of one topic."""

    def __init__(self, spark: SparkSession, settings: KafkaSettings, *, log: Log, ends: Ends) -> None:
        self._spark = spark
        self._settings = settings
        self._log = log
        self._said_missing = False
        self._ends, self._place = ends, (settings.servers, settings.topic)
        self._consumer: Any = None

    def next_batch(self, checkpoint: str | None) -> KafkaBatch | None:
        """Return the next offsets after `checkpoint`, at most the settings' number; None while there are none."""
        earliest, end = self._bounds()
        if not end:
            self._notice_missing()
            return None
        known = read_offsets(checkpoint, self._settings.topic) if checkpoint else None
        start = self._start(known, earliest, end)
        lost = {p: earliest[p] - start[p] for p in end if start[p] < earliest[p]}
        if lost and self._settings.fail_on_loss:
            raise JobError(
                f"topic {self._settings.topic} has lost offsets that weren't read yet: {lost} (failOnDataLoss)"
            )
        start = {p: max(start[p], earliest[p]) for p in end}
        stop = limited(start, end, self._settings.max_events)
        if stop == start:
            return None
        return KafkaBatch(self._spark, self._settings, start, stop, lost)

    def reset(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _from_now_on(self, earliest: Offsets, end: Offsets) -> Offsets:
        """Return the topic's end when this job first saw it: later events are read, earlier ones aren't."""
        if self._place not in self._ends:
            self._log(
                f"topic {self._settings.topic}: the table has no progress, so reading starts at the topic's end; "
                f"{keys.KAFKA_NATIVE_RESET}=earliest reads it all"
            )
        first = self._ends.setdefault(self._place, dict(end))
        # A partition that wasn't there then, or was made again, starts at its beginning.
        return {p: first[p] if p in first and first[p] <= end[p] else earliest[p] for p in end}

    def _notice_missing(self) -> None:
        missing = f"{keys.KAFKA_TOPIC}={self._settings.topic}: no such topic on {self._settings.servers}"
        if self._settings.must_exist:
            raise SettingsError(missing)
        # All that it will have comes later.
        self._ends.setdefault(self._place, {})
        if not self._said_missing:
            self._log(f"{missing} yet; the job waits for it")
        self._said_missing = True

    def _start(self, known: Offsets | None, earliest: Offsets, end: Offsets) -> Offsets:
        if known is None:
            return dict(earliest) if self._settings.from_earliest else self._from_now_on(earliest, end)
        for partition, offset in known.items():
            if offset > end.get(partition, -1):
                raise JobError(
                    f"topic {self._settings.topic} ends at {end.get(partition)} in partition {partition}, progress is "
                    f"at {offset}: it was created again; start over with --ignore-checkpoint"
                )
        # Partitions added since start at their beginning.
        return {partition: known.get(partition, earliest[partition]) for partition in end}

    def _bounds(self) -> tuple[Offsets, Offsets]:
        jvm: Any = self._spark._jvm
        if self._consumer is None:
            configuration = jvm.java.util.HashMap()
            fixed = dict.fromkeys(("key.deserializer", "value.deserializer"), _DESERIALIZER)
            fixed["default.api.timeout.ms"] = _CALL_TIMEOUT_MS
            for key, value in {**self._settings.consumer, **fixed, **_FIXED}.items():
                configuration.put(key, value)
            self._consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(configuration)
        partitions = jvm.java.util.ArrayList()
        for partition in self._consumer.partitionsFor(self._settings.topic) or []:
            partitions.add(jvm.org.apache.kafka.common.TopicPartition(self._settings.topic, partition.partition()))
        asked = (self._consumer.beginningOffsets(partitions), self._consumer.endOffsets(partitions))
        earliest, end = ({each.partition(): int(offset) for each, offset in found.items()} for found in asked)
        return earliest, end
