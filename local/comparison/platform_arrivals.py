"""How far each table of a platform that runs is in the lake: what a comparison asks before it calls a row different."""

import time
from collections.abc import Callable
from pathlib import Path

from local.comparison.arrivals import Arrivals, LakeArrivals, Way
from local.comparison.describe import Compared
from local.comparison.run import ArrivalsOf
from local.platform.job import looked_file
from local.platform.platform import Platform
from local.platform.tables import LANDING_BUCKET


class QueriedArrivals:
    """How far one queried table is: the job writes when its last look at all rows began that the table has all of.

    The job runs on this machine, so its clock is ours (spark_jobs/listeners.py); `clock` gives seconds since 1970.
    """

    def __init__(self, looked_file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._looked_file = looked_file
        self._clock = clock
        # What is asked for, and when that was asked first: the source had it before.
        self._asked: tuple[str, float] | None = None

    def has(self, position: str) -> bool:
        """Tell whether the lake has all of it: whether a look has begun since this was asked first, and is settled."""
        if self._asked is None or self._asked[0] != position:
            self._asked = (position, self._clock())
        looked = self._looked()
        if looked is None or looked < self._asked[1]:
            return False
        # The same position may be asked for of a later look, which may have seen what was just being committed.
        self._asked = None
        return True

    def _looked(self) -> float | None:
        try:
            return int(self._looked_file.read_text(encoding="ascii")) / 1000
        except (OSError, ValueError):
            return None


def arrivals_of(platform: Platform) -> ArrivalsOf:
    """Return what tells how far each table of a platform is in the lake."""
    if platform.services.pipeline.is_queried:
        return _of_queried(platform)
    pipeline, services = platform.pipeline, platform.services
    s3 = services.s3.client()
    tables = {table.entry.name: table for table in services.tables}

    def sent(position: str) -> bool:
        slot = services.database.slot(pipeline.connectors.source.slot_name, position)
        # Confirmed is what is in the topics.
        return slot is not None and slot.behind_bytes is not None and slot.behind_bytes <= 0

    def arrivals(wanted: Compared) -> Arrivals:
        table = tables[wanted.entry.name]
        topic, prefix = table.topic, table.landing_prefix

        def is_there(name: str) -> bool:
            return "Contents" in s3.list_objects_v2(Bucket=LANDING_BUCKET, Prefix=prefix + name, MaxKeys=1)

        def behind(name: str) -> bool:
            after = s3.list_objects_v2(Bucket=LANDING_BUCKET, Prefix=prefix, StartAfter=prefix + name)
            # What S3Proxy is still writing has another ending.
            return any(entry["Key"].endswith(".json") for entry in after.get("Contents", []))

        way = Way(
            sent=sent,
            end=lambda: topic.bounds()[1],
            landed=lambda: pipeline.sink_offsets()[topic.name],
            is_there=is_there,
            behind=behind,
            lake=table.lake,
        )
        return LakeArrivals(way)

    return arrivals


def _of_queried(platform: Platform) -> ArrivalsOf:
    tables = {table.entry.name: table for table in platform.services.tables}
    folder = platform.pipeline.job_folder

    def arrivals(wanted: Compared) -> Arrivals:
        return QueriedArrivals(looked_file(folder, tables[wanted.entry.name].lake_name))

    return arrivals
