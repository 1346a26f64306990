"""A database of your own: what is captured of it (`make pipeline`), and what that takes there (`make prepare`)."""

import contextlib
from collections.abc import Iterator
from typing import Annotated

import typer

from capture import commands
from contract.errors import UserError, one_line_errors
from db.source_preparing import UnpreparableError
from settings.files import SettingsFileError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)

Name = Annotated[str, typer.Option(envvar="NAME", help="The pipeline's name: small letters and digits.")]
Dsn = Annotated[
    str,
    typer.Option(
        envvar="DSN",
        metavar="DSN",
        help="The database, as libpq takes it; its password comes from PGPASSWORD or PGPASSFILE, or is asked for.",
    ),
]


@app.command()
def pipeline(
    name: Name = "",
    dsn: Dsn = "",
    tables: Annotated[str, typer.Option(envvar="TABLES", help="Patterns: 'orders,sales.*,!*_log'. All without.")] = "",
    schema: Annotated[str, typer.Option(envvar="SCHEMA", help="The schemas, separated by commas. All without.")] = "",
    how: Annotated[str, typer.Option(envvar="HOW", help="log, or query: by SELECT alone, without a slot.")] = "",
    update: Annotated[bool, typer.Option("--update", help="Add what a file that is there lacks.")] = False,
    look: Annotated[bool, typer.Option("--look", help="Look for odd values in large tables, too.")] = False,
) -> None:
    """Write pipelines/NAME.toml and its Avro schemas; say what would be lost, and what the database needs."""
    with _errors():
        schemas = [part.strip() for part in schema.split(",") if part.strip()]
        commands.make_pipeline(name, dsn, tables=tables, schemas=schemas, how=how, update=update, look=look)


@app.command()
def prepare(
    name: Name = "",
    dsn: Dsn = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the SQL and change nothing.")] = False,
) -> None:
    """Give a pipeline's database its publication, role, rights, replica identities and the two tables of ours."""
    with _errors():
        commands.prepare(name, dsn, dry=dry_run)


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Show a user's error: a line each, no traceback."""
    with one_line_errors("error"):
        try:
            yield
        except UnpreparableError as error:
            raise UserError(_each(*error.lines, "nothing was changed")) from error
        except SettingsFileError as error:
            raise UserError(_each(*str(error).splitlines())) from error


def _each(*problems: str) -> str:
    return "\nerror: ".join(problems)


if __name__ == "__main__":
    app()
