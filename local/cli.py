"""The command line: `python -m local up|down|status|…`, called by the Makefile."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated

import psycopg2
import typer
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException
from rich.console import Console

from contract import errors
from local.demo.display import Display
from local.errors import PlatformError
from local.folders import platform_folder
from local.look.show_status import print_status
from local.look.status import read_status
from local.platform.platform import Platform
from local.platform.services import ORDERS, Endpoints, PlatformOptions
from local.platform.start_options import at_pipeline, left_behind

# Each says in its first line what is wrong.
LIBRARY_ERRORS = (KafkaException, BotoCoreError, ClientError)

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help="The pipeline on one machine."
)
# In a pipe or a file nothing is wrapped or cut, so that two long names never look alike.
console = Console(width=None if sys.stdout.isatty() else 1_000)
Folder = Annotated[
    Path | None,
    typer.Option(
        help="Where the platform keeps everything.", file_okay=False, show_default="build/platform, -<pipeline>"
    ),
]
PipelineName = Annotated[
    str | None, typer.Option("--pipeline", help="The file in pipelines/, without its ending.", show_default=ORDERS)
]
TableName = Annotated[
    str | None, typer.Option("--table", help="One table: schema.table, or its name in the lake.", show_default="all")
]


def find_platform(folder: Path | None, pipeline: str | None) -> Platform:
    """Return the platform that was started there. Raises PlatformError when it is another pipeline's."""
    platform = Platform(platform_folder(folder, pipeline))
    if pipeline is not None and platform.state_dir.exists() and platform.options.pipeline != pipeline:
        raise PlatformError(f"{platform.state_dir} is pipeline {platform.options.pipeline}'s, not {pipeline}'s")
    return platform


@app.command()
def up(
    *,
    folder: Folder = None,
    pipeline: PipelineName = None,
    dsn: Annotated[
        str | None,
        typer.Option(help="The pipeline's database, without a password (CDC_CONNECTOR_PASSWORD, PGPASSFILE)."),
    ] = None,
    scale: Annotated[
        int | None,
        typer.Option(min=1, help="First start: so many times the 829 generated orders.", show_default="1"),
    ] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="First start: load this dump instead.")] = None,
    lenses: Annotated[
        Path | None,
        typer.Option(envvar="LENSES_PLUGIN", help="Run the real S3 sink from this release (zip or folder)."),
    ] = None,
    job: Annotated[bool, typer.Option(help="Run the streaming job.")] = True,
    supervised: Annotated[
        bool, typer.Option("--supervise/--no-supervise", help="Restart what dies, until `down`.")
    ] = True,
) -> None:
    """Start the platform and leave it running; it goes on from where it was."""
    options = PlatformOptions(scale=scale, dump=from_, lenses=lenses, job=job, supervised=supervised)
    with one_line_errors("up"):
        options = at_pipeline(options, platform_folder(folder, pipeline), pipeline, dsn)
        platform = Platform(platform_folder(folder, pipeline), options)
        with Display(console).live() as display:
            platform.up(display.progress)
    _print_endpoints(platform)


@app.command()
def down(*, folder: Folder = None, pipeline: PipelineName = None) -> None:
    """Stop the platform in order; `up` goes on from where it was."""
    with one_line_errors("down"):
        platform = find_platform(folder, pipeline)
        if not platform.running():
            platform.down()
            console.print(f"nothing runs in {_relative(platform.state_dir)}", highlight=False, soft_wrap=True)
            return
        with Display(console).live() as display:
            platform.down(display.progress)
        if platform.options.outside is not None:
            console.print(left_behind(platform), highlight=False, soft_wrap=True, markup=False)


@app.command()
def status(*, folder: Folder = None, pipeline: PipelineName = None, table: TableName = None) -> None:
    """Show services, ports, memory and how far the data has come; exit 1 when something is dead."""
    with one_line_errors("status"):
        found = read_status(find_platform(folder, pipeline), table)
    print_status(console, found)
    if found.problems:
        raise typer.Exit(1)


@contextlib.contextmanager
def one_line_errors(command: str) -> Iterator[None]:
    """Turn what a user can cause into a message and exit status 1; SIGTERM and SIGHUP count as Ctrl-C.

    Whatever the block has started it has to stop when a KeyboardInterrupt passes through it.
    """
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with errors.one_line_errors(command, *LIBRARY_ERRORS):
            try:
                yield
            except psycopg2.Error as error:
                # libpq says it in several lines, with guesses of its own.
                raise PlatformError(" ".join(str(error).split()) or type(error).__name__) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _print_endpoints(platform: Platform) -> None:
    here = platform.endpoints
    queried = platform.services.pipeline.is_queried
    connectors = (
        ("Kafka", f"{here.bootstrap_servers}, {_topics(here)}, login in {_relative(here.kafka_reader)}"),
        ("Connect", f"{here.connect_url}/connectors"),
    )
    landing = "" if queried else f"landing in s3://{here.landing_bucket}, "
    rows = (
        ("source", _source(platform)),
        *(() if queried else connectors),
        ("S3", f"{here.s3_endpoint} (no credentials), {landing}lake in {here.lake_uri}"),
        ("Glue", f"{here.aws_endpoint} (and Secrets Manager)"),
        ("logs", _relative(platform.processes.logs)),
    )
    for name, text in rows:
        console.print(f"{name:<8} {text}", highlight=False, soft_wrap=True, markup=False)
    named = "" if platform.options.pipeline == ORDERS else f" PIPELINE={platform.options.pipeline}"
    console.print(f"`make dashboard{named}` shows it live in a browser", highlight=False, soft_wrap=True, markup=False)


def _source(platform: Platform) -> str:
    outside, source = platform.options.outside, platform.endpoints.source
    if outside is not None:
        return f"{outside}, as {source['user']}"
    psql = _relative(platform.services.postgres.program("psql"))
    login = f"-h {source['host']} -p {source['port']} -U {source['user']} {source['dbname']}"
    return f"PGPASSFILE={_relative(platform.recorded.password_file)} {psql} {login}"


def _topics(here: Endpoints) -> str:
    return f"topic {here.topic}" if len(here.topics) == 1 else f"{len(here.topics)} topics"


def _relative(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
