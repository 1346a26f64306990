"""How far a table is: a differing row counts as different only once the lake has all earlier changes (0003)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from local.look.json_lines import consumed, lands_behind, offset_behind
from local.look.lake import Lake
from local.services.source_database import Slot
from local.state.services import UNAVAILABLE
from spark_jobs.options.keys import PROGRESS

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(kw_only=True)
class LogArrivals:
    """How far a captured table is, on any platform. Called repeatedly, so each stage is asked as rarely as possible.

    `slot` returns the connector's slot and how far it is behind a position, `end` the offset that the topic's next
    event gets, `landed` the one that the sink reads next. The sink's objects are in `bucket` under `prefix`. A stage
    that is down or can't answer counts as one where nothing has arrived.
    """

    slot: Callable[[str], Slot | None]
    end: Callable[[], int]
    landed: Callable[[], int]
    s3: "S3Client"
    bucket: str
    prefix: str
    lake: Lake
    _ends: dict[str, int] = field(default_factory=dict)
    _commit: str | None = None
    _consumed: str = ""

    def has(self, position: str) -> bool:
        """Tell whether the lake has everything that the source had at a log position."""
        try:
            return self._has(position)
        except UNAVAILABLE:
            return False

    def _has(self, position: str) -> bool:
        if position not in self._ends:
            slot = self.slot(position)
            # What the connector has confirmed is in the topics.
            if slot is None or slot.behind_bytes is None or slot.behind_bytes > 0:
                return False
            self._ends = {position: self.end()}
        end = self._ends[position]
        if end == 0:
            return True
        if (commit := self.lake.last_commit()) != self._commit:
            self._consumed = consumed(self.lake.newest_of_job()[1].get(PROGRESS))
            self._commit = commit
        # What the sink has landed meanwhile may be behind: so look again.
        return bool(self._consumed) and self._is_merged(end) and self.landed() >= end and self._is_merged(end)

    def _is_merged(self, end: int) -> bool:
        """Tell whether the lake has all that has landed of the events before this offset."""
        found = self.s3.list_objects_v2(Bucket=self.bucket, Prefix=self.prefix + self._consumed, MaxKeys=1)
        if "Contents" not in found:
            # An offset says nothing about a recreated topic, which begins at 0, and has no object of the former one.
            return not lands_behind(self.s3, self.bucket, self.prefix, "")
        # Not every event becomes a line of an object: a tombstone doesn't. While changes continue, another object
        # always follows, and only the offset decides.
        last = self._consumed
        return offset_behind(last) >= end or not lands_behind(self.s3, self.bucket, self.prefix, last)


@dataclass
class QueriedArrivals:
    """How far a queried table is: the job records the start time of the last full scan that the table has completely.

    The job runs on this machine, so its clock is ours (spark_jobs/table_job.py); `clock` gives seconds since 1970.
    """

    looked_file: Path
    clock: Callable[[], float] = time.time
    # The requested position, and when it was first requested: the source had it before that.
    _asked: tuple[str, float] | None = None

    def has(self, position: str) -> bool:
        """Tell whether a scan that began after the first request is settled."""
        if self._asked is None or self._asked[0] != position:
            self._asked = (position, self.clock())
        try:
            looked = int(self.looked_file.read_text(encoding="ascii")) / 1000
        except (OSError, ValueError):
            return False
        if looked < self._asked[1]:
            return False
        # A later pass may ask for the same position, and may have seen what was just being committed.
        self._asked = None
        return True
