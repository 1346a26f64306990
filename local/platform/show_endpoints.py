"""Says how to reach a platform that was started."""

import os
from collections.abc import Iterator
from pathlib import Path

from local.platform.platform import Platform
from local.platform.services import ORDERS, Endpoints


def endpoint_lines(platform: Platform) -> Iterator[str]:
    """Return a line for each service, and the command that shows it live."""
    here = platform.endpoints
    queried = platform.services.pipeline.is_queried
    connectors = (
        ("Kafka", f"{here.bootstrap_servers}, {_topics(here)}, login in {relative(here.kafka_reader)}"),
        ("Connect", f"{here.connect_url}/connectors"),
    )
    landing = "" if queried else f"landing in s3://{here.landing_bucket}, "
    rows = (
        ("source", _source(platform)),
        *(() if queried else connectors),
        ("S3", f"{here.s3_endpoint} (no credentials), {landing}lake in {here.lake_uri}"),
        ("Glue", f"{here.aws_endpoint} (and Secrets Manager)"),
        ("logs", relative(platform.processes.logs)),
    )
    yield from (f"{name:<8} {text}" for name, text in rows)
    yield f"`./lake dashboard{option(platform.options.pipeline)}` shows it live in a browser"


def option(pipeline: str) -> str:
    """Return how commands are told of a pipeline: the first one needs no option."""
    return "" if pipeline == ORDERS else f" -p {pipeline}"


def _source(platform: Platform) -> str:
    outside, source = platform.options.outside, platform.endpoints.source
    if outside is not None:
        return f"{outside}, as {source['user']}"
    psql = relative(platform.services.postgres.program("psql"))
    login = f"-h {source['host']} -p {source['port']} -U {source['user']} {source['dbname']}"
    return f"PGPASSFILE={relative(platform.record.password_file)} {psql} {login}"


def _topics(here: Endpoints) -> str:
    return f"topic {here.topic}" if len(here.topics) == 1 else f"{len(here.topics)} topics"


def relative(path: Path) -> str:
    """Return a path as it is from here, where it is below."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
