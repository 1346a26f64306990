"""Prints how to reach a platform that was started."""

import os
from collections.abc import Iterator
from pathlib import Path

from local.platform.platform import Platform
from local.platform.services import ORDERS
from local.platform.tables import LAKE_BUCKET, LANDING_BUCKET
from local.services.kafka_rights import READER


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
    lake = here.lake.base_uri if len(topics) == 1 else f"s3://{LAKE_BUCKET}"
    rows = (
        ("source", _source(platform)),
        *(() if queried else connectors),
        ("S3", f"{here.s3.endpoint} (no credentials), {landing}lake in {lake}"),
        ("Glue", f"{here.aws.endpoint} (and Secrets Manager)"),
        ("logs", relative(platform.processes.logs)),
    )
    yield from (f"{name:<8} {text}" for name, text in rows)
    yield f"`./lake dashboard{option(platform.options.pipeline)}` shows it live in a browser"


def option(pipeline: str) -> str:
    """Return the option that selects a pipeline; the first one needs none."""
    return "" if pipeline == ORDERS else f" -p {pipeline}"


def _source(platform: Platform) -> str:
    outside, source = platform.options.outside, platform.source
    if outside is not None:
        return f"{outside}, as {source['user']}"
    psql = relative(platform.services.postgres.program("psql"))
    login = f"-h {source['host']} -p {source['port']} -U {source['user']} {source['dbname']}"
    return f"PGPASSFILE={relative(platform.record.password_file)} {psql} {login}"


def relative(path: Path) -> str:
    """Return a path relative to the current folder, where it is below it."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
