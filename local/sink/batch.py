"""The records of a topic partition that are open: read from Kafka, not yet landed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from local.sink.layout import Layout, Span
from local.sink.partition import Partition
from local.sink.values import line


@dataclass(kw_only=True, slots=True)
class OpenObject:
    """The lines of one object to be."""

    lines: list[bytes] = field(default_factory=list)
    size_bytes: int = 0
    last_offset: int = -1
    earliest_ms: int = 0
    latest_ms: int = 0

    def add(self, text: bytes, *, offset: int, timestamp_ms: int) -> None:
        """Append one line."""
        first = not self.lines
        self.lines.append(text)
        self.size_bytes += len(text)
        self.last_offset = offset
        self.earliest_ms = timestamp_ms if first else min(self.earliest_ms, timestamp_ms)
        self.latest_ms = timestamp_ms if first else max(self.latest_ms, timestamp_ms)

    @property
    def span(self) -> Span:
        """What goes into the object's name."""
        return Span(last_offset=self.last_offset, earliest_ms=self.earliest_ms, latest_ms=self.latest_ms)


class Batch:
    """Consecutive records of one partition that are landed together: from offset `start` up to, not including, `end`.

    The batch, not the single object, is what is landed and committed: as in the connector, a key that reaches its
    count, size or age takes along all open keys of its topic partition. Its age counts from `flushed_at`, when the one
    before it was landed, or without one from its first record. A batch with `until` is being landed anew after a kill:
    whatever its size and age, it ends there, where it ended before. `landed` is the key of the object that was landed
    last before it.
    """

    def __init__(
        self,
        layout: Layout,
        number: int,
        start: int,
        *,
        until: int | None = None,
        landed: str | None = None,
        flushed_at: float | None = None,
    ) -> None:
        self.partition = Partition(layout.kcql.topic, number)
        self.start = start
        self.end = start
        self.until = until
        self.landed = landed
        self.records = 0
        self.size_bytes = 0
        self.holes: list[tuple[int, int]] = []
        self._layout = layout
        self._counts_from = flushed_at
        self._is_full = False
        self._objects: dict[str, OpenObject] = {}

    def add(self, value: bytes | None, *, offset: int, timestamp_ms: int, now: float) -> None:
        """Take the next record; one without a value (a tombstone, JSON's null) isn't landed.

        `now` is a monotonic time in seconds. Raises MalformedValueError and leaves the batch as it was.
        """
        text = line(value)
        if value is not None and text is not None:
            part = self._objects.setdefault(self._layout.folder(self.partition.number, value), OpenObject())
            part.add(text, offset=offset, timestamp_ms=timestamp_ms)
            self.records += 1
            self.size_bytes += len(text)
            rules = self._layout.kcql
            self._is_full |= len(part.lines) >= rules.flush_count
            self._is_full |= rules.flush_bytes is not None and part.size_bytes >= rules.flush_bytes
        self.skip(offset, now=now)

    def skip(self, offset: int, *, now: float) -> None:
        """Move on behind a record that isn't landed; offsets left out before it are noted as a hole."""
        if offset > self.end:
            self.holes.append((self.end, offset))
        self.end = offset + 1
        if self._counts_from is None:
            self._counts_from = now

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read since the last flush."""
        return self.end == self.start

    @property
    def may_end(self) -> bool:
        """Whether landing it now would end it where it must end."""
        return self.until is None or self.end >= self.until

    def due_in(self, now: float) -> float | None:
        """Seconds until the batch must be landed: 0 when it is due, None when that doesn't depend on time."""
        if self.until is not None:
            return 0.0 if self.may_end else None
        if self._is_full:
            return 0.0
        if self._counts_from is None or self.is_empty:
            return None
        return max(0.0, self._counts_from + self._layout.kcql.flush_interval_seconds - now)

    def objects(self) -> Iterator[tuple[str, bytes]]:
        """Give each object's key and content: the same for the same records, whenever they are read."""
        for folder, part in self._objects.items():
            yield self._layout.key(folder, self.partition.number, part.span), b"".join(part.lines)

    def next(self, landed: str | None, now: float) -> Self:
        """Open the batch behind this one, which has just been landed."""
        return type(self)(self._layout, self.partition.number, self.end, landed=landed, flushed_at=now)
