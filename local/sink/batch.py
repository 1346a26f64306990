"""The open records of a topic partition: read from Kafka, not yet landed."""

from dataclasses import dataclass, field

from local.sink.partition import Partition
from local.sink.values import line
from plugins.sink.kcql import Kcql


@dataclass(kw_only=True)
class Batch:
    """Consecutive records of one partition that make one object: from offset `start` up to, not including, `end`.

    Its age counts from the landing of the previous batch, or from its first record. Times are monotonic, in seconds.
    """

    partition: Partition
    rules: Kcql
    start: int
    counts_from: float | None = None
    end: int = field(init=False)
    last_offset: int = -1
    size_bytes: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    _earliest_ms: int = 0
    _latest_ms: int = 0

    def __post_init__(self) -> None:
        self.end = self.start

    def add(self, value: bytes | None, *, offset: int, timestamp_ms: int, now: float) -> None:
        """Add the next record; one without a value (a tombstone, JSON's null) isn't landed.

        Raises MalformedValueError and leaves the batch unchanged.
        """
        text = line(value)
        if text is not None:
            self._earliest_ms = min(self._earliest_ms, timestamp_ms) if self.lines else timestamp_ms
            self._latest_ms = max(self._latest_ms, timestamp_ms) if self.lines else timestamp_ms
            self.lines.append(text)
            self.last_offset = offset
            self.size_bytes += len(text)
        self.skip(offset, now=now)

    def skip(self, offset: int, *, now: float) -> None:
        """Skip a record that isn't landed; offsets that the log left out before it are a hole."""
        if offset > self.end:
            self.holes.append((self.end, offset))
        self.end = offset + 1
        if self.counts_from is None:
            self.counts_from = now

    @property
    def is_full(self) -> bool:
        """Whether it must be landed regardless of its age."""
        limit = self.rules.flush_bytes
        return len(self.lines) >= self.rules.flush_count or (limit is not None and self.size_bytes >= limit)

    def is_due(self, now: float) -> bool:
        if self.end == self.start or self.counts_from is None:
            return False
        return self.is_full or now >= self.counts_from + self.rules.flush_interval_seconds

    @property
    def key(self) -> str:
        """The object's name, as the connector forms it: names sort by offset and show how far a partition is landed.

        `prefix/topic/<partition>/<last offset, 12 digits>_<earliest ms>_<latest ms>.json`
        """
        folder = partition_folder(self.rules, self.partition.number)
        return f"{folder}/{self.last_offset:012d}_{self._earliest_ms}_{self._latest_ms}.json"


def partition_folder(rules: Kcql, number: int) -> str:
    return f"{rules.prefix}/{rules.topic}/{number}"
