"""What `up` derives from a pipeline and a DSN, how to reach what it started, and what `down` leaves behind."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg2

from contract.errors import with_options
from local.console import megabytes
from local.errors import PlatformError
from local.files import platform_folder
from local.platform.platform import Platform
from local.platform.record import ORDERS, PlatformOptions, RecordFile, connector_file
from local.platform.services import LAKE_BUCKET, LANDING_BUCKET
from local.platform.source import check_outside
from local.services.kafka_rights import READER
from local.services.source_database import OutsideDatabase, find_password
from settings.load import SettingsFileError, load_pipeline


def at_pipeline(options: PlatformOptions, folder: Path, pipeline: str | None, dsn: str | None) -> PlatformOptions:
    """Return the options with their pipeline and its database; find or ask for its password.

    Without a DSN, the earlier start's database stays; another one is checked. Nothing is kept yet. Raises
    PlatformError, LoadError and SettingsFileError.
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
    options = RecordFile(folder).options(replace(options, outside=outside))
    role = settings.source.role
    password = find_password(outside, role, connector_file(folder / "secrets"))
    if outside != recorded.outside:
        check_outside(settings, outside, {**outside.parameters(role), "password": password})
    return replace(options, password=password)


def find_platform(folder: Path | None, pipeline: str | None) -> Platform:
    """Return the platform that was started there.

    Raises PlatformError when it is another pipeline's, SettingsFileError when there is neither it nor such a pipeline.
    """
    platform = Platform(platform_folder(folder, pipeline))
    if pipeline is not None and not platform.state_dir.exists():
        load_pipeline(pipeline)
    there = platform.record.pipeline
    if pipeline is not None and there not in (None, pipeline):
        raise PlatformError(f"{platform.state_dir} is pipeline {there}'s, not {pipeline}'s")
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


def endpoint_lines(platform: Platform) -> Iterator[str]:
    """Return a line for each service, and the command that shows it live."""
    here, topics = platform.services, [table.topic.name for table in platform.services.tables]
    queried = here.pipeline.is_queried
    named = f"topic {topics[0]}" if len(topics) == 1 else f"{len(topics)} topics"
    login = relative(here.kafka.users.client_path(READER))
    connectors = (
        ("Kafka", f"{here.kafka.bootstrap_servers}, {named}, login in {login}"),
        ("Connect", f"{here.connect.url}/connectors"),
    )
    landing = "" if queried else f"landing in s3://{LANDING_BUCKET}, "
    lake = here.tables[0].lake.base_uri if len(topics) == 1 else f"s3://{LAKE_BUCKET}"
    rows = (
        ("source", _source(platform)),
        *(() if queried else connectors),
        ("S3", f"{here.s3.endpoint} (no credentials), {landing}lake in {lake}"),
        ("Glue", here.aws.endpoint),
        ("logs", relative(platform.processes.logs)),
    )
    yield from (f"{name:<8} {text}" for name, text in rows)
    options = option(platform.options.pipeline)
    yield f"`./lake dashboard{options}` shows it live in a browser"
    if unfinished := platform.unfinished.problem:
        yield f"the lake may lack changes: {with_options(unfinished, options)}"


def option(pipeline: str) -> str:
    """Return the option that selects a pipeline; the first one needs none."""
    return "" if pipeline == ORDERS else f" -p {pipeline}"


def _source(platform: Platform) -> str:
    outside, source = platform.options.outside, platform.source
    if outside is not None:
        return f"{outside}, as {source['user']}"
    psql, password = platform.services.postgres.program("psql"), platform.record.password_file
    login = f"-h {source['host']} -p {source['port']} -U {source['user']} {source['dbname']}"
    return f"PGPASSFILE={shlex.quote(relative(password))} {shlex.quote(relative(psql))} {login}"


def relative(path: Path) -> str:
    """Return a path relative to the current folder, where it is below it."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
