"""Sources of events: each knows what is new, and how far the table's progress has come."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.options import keys

# Up to this size a batch is small: sharing it among tasks and compiling its queries cost more than the work itself.
SMALL_BYTES = 1 << 20
# A sweep takes no more than this share of the time: a longer one is repeated less often.
SWEEPS_SHARE = 0.1
SMALL_EVENTS = 1000
_SHOWN = 1000


def bounded(line: Column, most: int) -> Column:
    """Return a line; for one beyond `most` bytes its beginning and its size, which isn't JSON, so it is quarantined.

    A line that long can't be decoded: it needs its size in memory several times over.
    """
    size = F.octet_length(line)
    note = F.format_string(f"… (%d bytes, more than {keys.LINE_BYTES}={most})", size)
    return F.when(size <= most, line).otherwise(F.concat(F.substring(line, 1, _SHOWN), note))


@dataclass(frozen=True)
class Findings:
    """A source's findings about a batch: missing offsets, and files that came late or again."""

    missing_offsets: int = 0
    late_files: int = 0
    notes: tuple[str, ...] = ()


class Batch(ABC):
    """New events, and the progress that holds once they are committed; normally all of it can be read."""

    # Name → reason, for what can't be fully read: `lines` omit it, a copy goes to quarantine.
    unreadable: Mapping[str, str] = MappingProxyType({})

    @property
    def has_lines(self) -> bool:
        """False when there is progress but nothing to read, as with empty objects."""
        return True

    @property
    @abstractmethod
    def files(self) -> int:
        """Number of files (or topic partitions, or parts) in the batch."""

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
        """Whether some of it is below what was already read: late, or repeated."""
        return False

    def without_unreadable(self) -> "Batch | None":
        """Return the batch without its unreadable parts, after reading it has failed; None when there are none."""
        return None

    def copy(self, name: str, folder: str) -> str:
        """Copy unreadable content unchanged to a folder; return the copy's path."""
        raise NotImplementedError(f"{name} in {folder}")

    def name_of(self, origin: str) -> str:
        """Return an origin's name relative to its source."""
        return origin

    def content_of(self, origin: str) -> str:
        """Return a name for an origin and its present content: a rewritten file gets another one."""
        return origin

    def check(self, lines_of_origin: Mapping[str, int]) -> Findings:  # noqa: ARG002  (by default nothing is lacking)
        """Compare each origin's number of lines with the number that its name or range implies."""
        return Findings()


class Source(Protocol):
    """A source of batches; `checkpoint` is the table's progress, None for a table without any."""

    def next_batch(self, checkpoint: str | None) -> Batch | None:
        """Return the next batch after `checkpoint`; None when nothing is new."""

    def reset(self) -> None:
        """Forget listed but uncommitted files, after a failure."""
