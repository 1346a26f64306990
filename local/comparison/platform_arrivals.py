"""How far each table of a platform that runs is in the lake: what a comparison asks before it calls a row different."""

from local.comparison.arrivals import Arrivals, LakeArrivals, Way
from local.comparison.describe import Compared
from local.comparison.queried_arrivals import QueriedArrivals
from local.comparison.run import ArrivalsOf
from local.platform.job import looked_file
from local.platform.platform import Platform
from local.platform.tables import LANDING_BUCKET


def arrivals_of(platform: Platform) -> ArrivalsOf:
    """Return what tells how far each table of a platform is in the lake."""
    if platform.services.pipeline.is_queried:
        return _of_queried(platform)
    pipeline, services = platform.pipeline, platform.services
    s3 = services.s3.client()
    tables = {table.entry.name: table for table in services.tables}

    def sent(position: str) -> bool:
        slot = services.database.slot(pipeline.slot_name, position)
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
