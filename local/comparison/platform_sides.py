"""Both sides of a comparison on a running platform: its source, its lake tables, and how far each table is."""

from collections.abc import Sequence
from functools import partial

from local.comparison.arrivals import LogArrivals, QueriedArrivals
from local.comparison.compare import Arrivals
from local.comparison.describe import Compared
from local.comparison.run import Sides
from local.platform.job import looked_file
from local.platform.platform import Platform
from local.platform.services import LANDING_BUCKET, LocalTable
from settings.load import PIPELINES


def platform_sides(platform: Platform, names: Sequence[str] = ()) -> Sides:
    """Return both sides of the pipeline's tables, or those of these names. Raises PlatformError."""
    services = platform.services
    pipeline, tables = services.pipeline, services.chosen(names)
    hashes = any(table.entry.hash for table in tables)
    return Sides(
        platform.source,
        [
            Compared(
                entry=table.entry,
                schema_file=PIPELINES / pipeline.schema_file(table.entry),
                lake=table.lake,
                arrivals=_arrivals(platform, table),
            )
            for table in tables
        ],
        salt=platform.pipeline.connectors.salt if hashes else "",
        s3=services.s3.client(),
    )


def _arrivals(platform: Platform, table: LocalTable) -> Arrivals:
    pipeline, services = platform.pipeline, platform.services
    if services.pipeline.is_queried:
        return QueriedArrivals(looked_file(pipeline.job_folder, table.lake_name)).has
    return LogArrivals(
        slot=partial(services.database.slot, pipeline.connectors.source.slot_name),
        end=lambda: table.topic.bounds()[1],
        landed=lambda: pipeline.sink_offsets()[table.topic.name],
        s3=services.s3.client(),
        bucket=LANDING_BUCKET,
        prefix=table.landing_prefix,
        lake=table.lake,
    ).has
