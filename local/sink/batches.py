"""The open batches of all partitions, and which of them are to be landed now.

A sink of many topics asks that after every record, so it isn't found out by looking at each batch.
"""

from collections.abc import Iterator

from local.sink.batch import Batch
from local.sink.partition import Partition

NEVER = float("inf")


class OpenBatches:
    """A batch per partition that is read. Times are monotonic, in seconds."""

    def __init__(self) -> None:
        self._batches: dict[Partition, Batch] = {}
        # Those that are due, in the order in which they became so, and no later than when the first of the others is.
        self._due: dict[Partition, None] = {}
        self._next_at = NEVER
        self.size_bytes = 0

    def __contains__(self, partition: object) -> bool:
        return partition in self._batches

    def __iter__(self) -> Iterator[Batch]:
        return iter(list(self._batches.values()))

    def get(self, partition: Partition) -> Batch | None:
        """Return a partition's batch, None when it isn't read."""
        return self._batches.get(partition)

    def clear(self) -> None:
        """Drop all of them."""
        for partition in list(self._batches):
            self.drop(partition)
        self._next_at = NEVER

    def drop(self, partition: Partition) -> None:
        """Drop a partition's batch, if there is one."""
        batch = self._batches.pop(partition, None)
        self._due.pop(partition, None)
        if batch is not None:
            self.size_bytes -= batch.size_bytes

    def put(self, batch: Batch, now: float) -> None:
        """Open a batch in the place of its partition's former one."""
        self.drop(batch.partition)
        self._batches[batch.partition] = batch
        self.size_bytes += batch.size_bytes
        self.changed(batch, 0, now)

    def changed(self, batch: Batch, added_bytes: int, now: float) -> None:
        """Take note that a batch has grown."""
        self.size_bytes += added_bytes
        wait = batch.due_in(now)
        if wait == 0:
            self._due[batch.partition] = None
        elif wait is not None:
            self._next_at = min(self._next_at, now + wait)

    def due(self, now: float) -> list[Batch]:
        """Return the batches that are to be landed now, the one that has been so for longest first."""
        if now >= self._next_at:
            self._look(now)
        return [self._batches[partition] for partition in self._due]

    def next_in(self, now: float) -> float | None:
        """Return the seconds until a batch is due, None when no time makes one so."""
        if self._due:
            return 0.0
        return None if self._next_at == NEVER else max(0.0, self._next_at - now)

    def largest(self) -> Batch:
        """Return the batch that holds the most bytes."""
        return max(self._batches.values(), key=lambda batch: batch.size_bytes)

    def _look(self, now: float) -> None:
        self._next_at = NEVER
        for batch in self._batches.values():
            self.changed(batch, 0, now)
