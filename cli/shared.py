"""What all commands share: how they end, the options that mean the same everywhere, and JSON."""

import contextlib
import dataclasses
import json
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from contract import errors

if TYPE_CHECKING:
    import settings.environment

# Libraries' errors, whose first line says what is wrong. A library that isn't loaded can't have raised one.
LIBRARY_ERRORS = (
    ("psycopg2", "Error"),
    ("confluent_kafka", "KafkaException"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
)

Pipeline = Annotated[
    str | None,
    typer.Option(
        "--pipeline",
        "-p",
        envvar="LAKE_PIPELINE",
        metavar="NAME",
        help="The pipeline, a file in pipelines/.",
        show_default="orders",
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        "-t",
        metavar="NAME",
        help="One of its tables: schema.table, or its name in the lake; may be given again.",
        show_default="all",
    ),
]
Repair = Annotated[bool, typer.Option("--repair", help="Repair the rows that differ, and compare again.")]
Patience = Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait before reporting differences.")]
Environment = Annotated[
    str, typer.Option("--env", "-e", metavar="NAME", help="The environment, a file in environments/.")
]
Anywhere = Annotated[
    str | None, typer.Option("--env", "-e", metavar="NAME", help="The environment; without it the local platform.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")]
Folder = Annotated[
    Path | None,
    typer.Option(
        help="Where the platform keeps everything.", file_okay=False, show_default="build/platform, -<pipeline>"
    ),
]


# An empty value, as a shell's unset variable gives (`--where ""` mustn't mean all rows), or bytes that aren't UTF-8.
_NO_TEXT = re.compile(r"(--[a-z-]+=)?|.*[\ud800-\udfff].*", re.DOTALL)
# Options that exclude each other: a command would ignore all but one.
_ONE_OF = ("env folder", "topic table", "all_ table", "sql file", "json form", "against deployed settings")


class _Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if any(map(_NO_TEXT.fullmatch, args)):
            raise typer.BadParameter(f"{shlex.join(args)}: a value is empty or not UTF-8: give another", ctx)
        rest = super().parse_args(ctx, args)
        given = [each for each in self.params if "COMMANDLINE" in str(ctx.get_parameter_source(each.name))]
        for names in map(str.split, _ONE_OF):
            if len(found := [each.opts[0] for each in given if each.name in names]) > 1:
                raise typer.BadParameter(f"give one of {' and '.join(found)}", ctx)
        return rest

    def invoke(self, ctx: Any) -> Any:
        # Those that select the platform of this call, for the commands that an error names.
        options = (("-p", ctx.params.get("pipeline")), ("--folder", ctx.params.get("folder")))
        selecting = (f" {name} {shlex.quote(str(value))}" for name, value in options if value is not None)
        with one_line_errors(str(ctx.info_name), "".join(selecting)):
            return super().invoke(ctx)


class Commands(typer.Typer):
    """A group of commands, each of which ends as `one_line_errors` says."""

    def __init__(self, help_: str, **options: Any) -> None:
        # Tracebacks that show local variables would show passwords.
        super().__init__(help=help_, no_args_is_help=True, pretty_exceptions_enable=False, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        return super().command(name, **{"cls": _Command, **options})


@contextlib.contextmanager
def one_line_errors(command: str, options: str = "") -> Iterator[None]:
    """Turn what a user can cause into a line and an exit status; SIGTERM and SIGHUP count as Ctrl-C, unless ignored.

    Whatever the block has started it has to stop when a KeyboardInterrupt passes through it.
    """
    # nohup has SIGHUP ignored.
    ends = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, signal.default_int_handler) for number in ends}
    try:
        with errors.one_line_errors(command, options=options):
            try:
                yield
            except typer.Abort:
                # Ctrl-C or the input's end at a question.
                raise KeyboardInterrupt from None
            except Exception as error:
                library = (getattr(sys.modules[place], name) for place, name in LIBRARY_ERRORS if place in sys.modules)
                if not isinstance(error, tuple(library)):
                    raise
                # libpq says it in several lines, with guesses of its own.
                raise errors.UserError(" ".join(str(error).split()) or type(error).__name__) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def print_json(found: Any) -> None:
    """Print what a command has found; dataclasses by their fields."""
    typer.echo(json.dumps(found, default=_plain, indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else str(value)


def load(name: str) -> "settings.environment.Environment":
    """Load an environment when a command runs: importing its types takes long."""
    from settings.load import load

    return load(name)


def answer(*, yes: bool) -> None:
    """End the command: 0 for yes, 1 for no."""
    raise typer.Exit(0 if yes else errors.NO)
