"""Where events come from: each source knows what is new, and how far the table's progress has come."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.options import keys

# Up to here a batch is small: to share it among tasks and to compile its queries costs more than the work itself.
SMALL_BYTES = 1 << 20
SMALL_EVENTS = 1000
_SHOWN = 1000


def bounded(line: Column, most: int) -> Column:
    """Return a line; of one beyond `most` bytes its beginning and its size, which is no JSON, so that it is set aside.

    Nothing that decodes could take it: it needs its size in memory several times over.
    """
    size = F.octet_length(line)
    note = F.format_string(f"… (%d bytes, more than {keys.LINE_BYTES}={most})", size)
    return F.when(size <= most, line).otherwise(F.concat(F.substring(line, 1, _SHOWN), note))


@dataclass(frozen=True)
class Findings:
    """What a source noticed about a batch: offsets that are missing, and files that came late or again."""

    missing_offsets: int = 0
    late_files: int = 0
    notes: tuple[str, ...] = ()


class Batch(ABC):
    """Some new events, and the progress that holds when they are committed; all of it can be read, as a rule."""

    # Name → reason of what can't be read, or not all of it: `lines` are without, a copy goes to quarantine.
    unreadable: Mapping[str, str] = MappingProxyType({})

    @property
    def has_lines(self) -> bool:
        """False when there is progress but nothing to read, as with empty objects."""
        return True

    @property
    @abstractmethod
    def files(self) -> int:
        """How many files (or topic partitions, or parts) the batch comes from."""

    @property
    @abstractmethod
    def is_small(self) -> bool:
        """Whether it has at most SMALL_BYTES, or SMALL_EVENTS where bytes aren't known."""

    @property
    @abstractmethod
    def checkpoint(self) -> str:
        """The progress to store with the commit."""

    @abstractmethod
    def lines(self) -> DataFrame:
        """Return the batch's lines with the columns `decode.LINE_COLUMNS`."""

    @property
    def has_passed(self) -> bool:
        """Whether some of it lies below what was read before: it comes late, or again."""
        return False

    def without_unreadable(self) -> "Batch | None":
        """Return the batch without what can't be read, after reading it has failed; None when all of it can."""
        return None

    def copy(self, name: str, folder: str) -> str:
        """Copy what can't be read below a folder, as it is; return the copy's path."""
        raise NotImplementedError(f"{name} in {folder}")

    def name_of(self, origin: str) -> str:
        """Return what an origin is called relative to its source."""
        return origin

    def content_of(self, origin: str) -> str:
        """Return a name for an origin and its present content: another one when a file was written again."""
        return origin

    def check(self, lines_of_origin: Mapping[str, int]) -> Findings:  # noqa: ARG002  (by default nothing is lacking)
        """Compare how many lines each origin had with how many its name or range says."""
        return Findings()


class Source(Protocol):
    """A source of batches; `checkpoint` is the progress of the table, None for a table without any."""

    def next_batch(self, checkpoint: str | None) -> Batch | None:
        """Return the next batch after `checkpoint`; None when there is nothing new now."""

    def reset(self) -> None:
        """Forget what was listed but not committed, after a failure."""
