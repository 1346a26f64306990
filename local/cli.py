"""The command line: `python -m local up|down|status|…`, called by the Makefile."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated

import psycopg2
import typer
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Table

from contract import errors
from db.outbox import Mode
from local.demo.display import Display
from local.errors import PlatformError
from local.look.status import Status, read_status
from local.platform.platform import Platform
from local.platform.services import PlatformOptions

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_FOLDER = ROOT / "build" / "platform"
BYTES_PER_MB = 1_000_000
# Each says in its first line what is wrong.
LIBRARY_ERRORS = (KafkaException, BotoCoreError, ClientError)

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help="The pipeline on one machine."
)
console = Console()
Folder = Annotated[Path, typer.Option(help="Where the platform keeps everything.", file_okay=False)]


@app.command()
def up(
    *,
    folder: Folder = DEFAULT_FOLDER,
    mode: Annotated[
        Mode | None,
        typer.Option(help="When the outbox is written; a later start may switch.", show_default="transaction"),
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
    options = PlatformOptions(mode=mode, scale=scale, dump=from_, lenses=lenses, job=job, supervised=supervised)
    platform = Platform(folder, options)
    with one_line_errors("up"), Display(console).live() as display:
        platform.up(display.progress)
    _print_endpoints(platform)


@app.command()
def down(*, folder: Folder = DEFAULT_FOLDER) -> None:
    """Stop the platform in order; `up` goes on from where it was."""
    platform = Platform(folder)
    with one_line_errors("down"):
        if not platform.running():
            platform.down()
            console.print(f"nothing runs in {_relative(platform.state_dir)}", highlight=False, soft_wrap=True)
            return
        with Display(console).live() as display:
            platform.down(display.progress)


@app.command()
def status(*, folder: Folder = DEFAULT_FOLDER) -> None:
    """Show services, ports, memory and how far the data has come; exit 1 when something is dead."""
    with one_line_errors("status"):
        found = read_status(Platform(folder))
    _print_status(found)
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
    psql = _relative(platform.services.postgres.program("psql"))
    login = f"-h {here.source['host']} -p {here.source['port']} -U {here.source['user']} {here.source['dbname']}"
    rows = (
        ("source", f"PGPASSFILE={_relative(platform.password_file)} {psql} {login}"),
        ("Kafka", f"{here.bootstrap_servers}, topic {here.topic}, login in {_relative(here.kafka_reader)}"),
        ("Connect", f"{here.connect_url}/connectors"),
        ("S3", f"{here.s3_endpoint} (no credentials), landing in s3://{here.landing_bucket}, lake in {here.lake_uri}"),
        ("Glue", f"{here.aws_endpoint} (and Secrets Manager)"),
        ("logs", _relative(platform.processes.logs)),
    )
    for name, text in rows:
        console.print(f"{name:<8} {text}", highlight=False, soft_wrap=True, markup=False)


def _relative(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _print_status(found: Status) -> None:
    services = Table("service", "state", box=None)
    for name in ("pid", "port", "MB", "restarts"):
        services.add_column(name, justify="right")
    for service in found.services:
        state = "[red]hangs[/]" if service.silent else "[green]running[/]" if service.running else "[red]dead[/]"
        megabytes = None if service.rss_bytes is None else round(service.rss_bytes / BYTES_PER_MB)
        numbers = (service.pid, service.port, megabytes, service.restarts or None)
        services.add_row(service.name, state, *map(_cell, numbers))
    console.print(services)
    data = found.data
    progress = Table("data", "how far it has come", box=None)
    queue = data.outbox_queue
    waiting = f", {queue.entries} changes queued for {queue.seconds:.0f} s" if queue and queue.entries else ""
    progress.add_row("outbox", f"{_cell(data.outbox_rows)} rows{waiting}")
    progress.add_row("topic", f"next offset {_cell(data.topic_end)}")
    progress.add_row("landing", f"next offset {_cell(data.sink_offset)}, {_cell(data.landing_objects)} objects")
    progress.add_row("lake", f"{_cell(data.lake_rows)} rows, last commit {_cell(data.last_commit)}")
    console.print(progress)
    for problem in found.problems:
        console.print(problem, style="red", highlight=False, markup=False, soft_wrap=True)


def _cell(value: object) -> str:
    return "-" if value is None else str(value)
