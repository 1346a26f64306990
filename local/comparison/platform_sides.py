"""Both sides of a comparison on a running platform: its source, its lake tables, and how far each table is.

A differing row counts as different only once the lake has all earlier changes (docs/decisions/0003).
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from local.comparison.compare import Arrivals
from local.comparison.describe import Compared
from local.comparison.run import Sides
from local.look.json_lines import consumed, lands_behind, offset_behind
from local.platform.job import looked_file
from local.platform.platform import Platform
from local.platform.services import LANDING_BUCKET, LocalTable
from local.state.services import UNAVAILABLE
from settings.load import PIPELINES


def platform_sides(platform: Platform, names: Sequence[str] = ()) -> Sides:
    """Return both sides of the pipeline's tables, or those of these names. Raises PlatformError."""
    services = platform.services
    pipeline, tables = services.pipeline, services.chosen(names)
    hashes = any(table.entry.hash for table in tables)
    by_name = {table.entry.name: table for table in tables}

    def arrivals(wanted: Compared) -> Arrivals:
        table = by_name[wanted.entry.name]
        if pipeline.is_queried:
            return QueriedArrivals(looked_file(platform.pipeline.job_folder, table.lake_name)).has
        return LogArrivals(platform, table).has

    return Sides(
        platform.source,
        [
            Compared(entry=table.entry, schema_file=PIPELINES / pipeline.schema_file(table.entry), lake=table.lake)
            for table in tables
        ],
        salt=platform.pipeline.connectors.salt if hashes else "",
        arrivals=arrivals,
        s3=services.s3.client(),
    )


class LogArrivals:
    """How far a captured table is. Called repeatedly, so each stage is asked as rarely as possible.

    A stage that is down or can't answer counts as one where nothing has arrived.
    """

    def __init__(self, platform: Platform, table: LocalTable) -> None:
        self._pipeline = platform.pipeline
        self._database = platform.services.database
        self._s3 = platform.services.s3.client()
        self._table = table
        self._ends: dict[str, int] = {}
        self._commit: str | None = None
        self._consumed = ""

    def has(self, position: str) -> bool:
        """Tell whether the lake has everything that the source had at a log position."""
        try:
            return self._has(position)
        except UNAVAILABLE:
            return False

    def _has(self, position: str) -> bool:
        if position not in self._ends:
            if not self._is_sent(position):
                return False
            self._ends = {position: self._table.topic.bounds()[1]}
        end = self._ends[position]
        if end == 0:
            return True
        if (commit := self._table.lake.last_commit()) != self._commit:
            self._consumed = consumed(self._table.lake.progress())
            self._commit = commit
        # The offset that the sink reads next.
        if not self._consumed or self._pipeline.sink_offsets()[self._table.topic.name] < end:
            return False
        if not self._is_there(self._consumed):
            # An offset says nothing about a recreated topic, which begins at 0.
            return not lands_behind(self._s3, self._table, "")
        # Not every event becomes a line of an object: a tombstone doesn't. While changes continue, another object
        # always follows, and only the offset decides.
        return offset_behind(self._consumed) >= end or not lands_behind(self._s3, self._table, self._consumed)

    def _is_sent(self, position: str) -> bool:
        """Tell whether everything up to a log position is in the topics: the connector has confirmed it."""
        slot = self._database.slot(self._pipeline.connectors.source.slot_name, position)
        return slot is not None and slot.behind_bytes is not None and slot.behind_bytes <= 0

    def _is_there(self, name: str) -> bool:
        """Tell whether the landing has this object; it has none of a former topic."""
        prefix = self._table.landing_prefix + name
        return "Contents" in self._s3.list_objects_v2(Bucket=LANDING_BUCKET, Prefix=prefix, MaxKeys=1)


class QueriedArrivals:
    """How far a queried table is: the job records the start time of the last full scan that the table has completely.

    The job runs on this machine, so its clock is ours (spark_jobs/loop.py); `clock` gives seconds since 1970.
    """

    def __init__(self, looked_file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._looked_file = looked_file
        self._clock = clock
        # The requested position, and when it was first requested: the source had it before that.
        self._asked: tuple[str, float] | None = None

    def has(self, position: str) -> bool:
        """Tell whether a scan that began after the first request is settled."""
        if self._asked is None or self._asked[0] != position:
            self._asked = (position, self._clock())
        looked = self._looked()
        if looked is None or looked < self._asked[1]:
            return False
        # A later pass may ask for the same position, and may have seen what was just being committed.
        self._asked = None
        return True

    def _looked(self) -> float | None:
        try:
            return int(self._looked_file.read_text(encoding="ascii")) / 1000
        except (OSError, ValueError):
            return None
