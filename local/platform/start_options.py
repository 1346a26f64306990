"""The options that `up` derives from a pipeline and a DSN, and what `down` leaves in an outside database."""

from dataclasses import replace
from pathlib import Path

import psycopg2

from local.console import megabytes
from local.errors import PlatformError
from local.folders import platform_folder
from local.platform.platform import Platform
from local.platform.services import ORDERS, PlatformOptions
from local.platform.state import connector_file
from local.services.outside_database import OutsideDatabase, find_password
from settings.load import SettingsFileError, load_pipeline


def at_pipeline(options: PlatformOptions, folder: Path, pipeline: str | None, dsn: str | None) -> PlatformOptions:
    """Return the options with their pipeline and its database; find or ask for its password, and keep that.

    Without a DSN, the earlier start's database stays. Raises PlatformError and SettingsFileError.
    """
    recorded = Platform(folder).options
    name = pipeline or (recorded.pipeline if folder.exists() else ORDERS)
    settings = load_pipeline(name)
    options = replace(options, pipeline=name)
    if dsn is None:
        outside = recorded.outside if recorded.pipeline == name else None
    else:
        outside = OutsideDatabase.of(dsn, database=settings.source.database)
    if outside is None:
        if settings.source.example is None:
            raise PlatformError(f"pipeline {name} has no example, so it needs its database: give --dsn …")
        return options
    if options.scale is not None or options.dump is not None:
        raise PlatformError("--scale and --from are for the embedded database: leave them or the DSN out")
    find_password(outside, settings.source.role, connector_file(folder / "secrets"))
    return replace(options, outside=outside)


def find_platform(folder: Path | None, pipeline: str | None) -> Platform:
    """Return the platform that was started there. Raises PlatformError when it is another pipeline's."""
    platform = Platform(platform_folder(folder, pipeline))
    if pipeline is not None and platform.state_dir.exists() and platform.options.pipeline != pipeline:
        raise PlatformError(f"{platform.state_dir} is pipeline {platform.options.pipeline}'s, not {pipeline}'s")
    return platform


def left_behind(platform: Platform) -> str:
    """Describe what `down` leaves in the outside database: a replication slot, which retains the log.

    Without the slot, changes until the next `up` would be lost, and only the user knows whether there will be one.
    """
    outside = platform.options.outside
    try:
        if platform.services.pipeline.is_queried:
            return f"everything is stopped; nothing of the pipeline is left in {outside}"
        slot = platform.pipeline.connectors.source.slot_name
    except SettingsFileError as error:
        reason = "; ".join(str(error).splitlines())
        return (
            f"everything is stopped; {outside} may keep its log for the replication slot of pipeline"
            f" {platform.options.pipeline}, whose name isn't known ({reason}): pg_replication_slots"
            " there names it, and pg_drop_replication_slot('…') ends it for good"
        )
    end = f"to end it for good: SELECT pg_drop_replication_slot('{slot}')"
    try:
        found = platform.pipeline.slot()
    except psycopg2.Error as error:
        return f"whether {outside} keeps log for the slot {slot} isn't known ({' '.join(str(error).split())}); {end}"
    if found is None:
        return f"{outside} has no replication slot {slot}"
    held = "" if found.held_bytes is None else f", {megabytes(found.held_bytes)} by now"
    return (
        f"{outside} keeps its log for the replication slot {slot} until `./lake up` goes on{held}: it grows, and may"
        f" fill the server's disk; {end}"
    )
