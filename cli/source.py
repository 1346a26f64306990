"""`./lake source`: describe and prepare your database; load and migrate the outbox's."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.shared import Commands, DryRun
from contract.errors import UserError, one_line_errors

if TYPE_CHECKING:
    from db.loading import LoadOptions, LoadReport

app = Commands("A source database: describe and prepare your own, load and migrate the outbox's.")

Name = Annotated[str, typer.Argument(help="The pipeline's name: small letters and digits.")]
Dsn = Annotated[
    str,
    typer.Option(
        metavar="DSN",
        help="The database, as libpq takes it; its password comes from PGPASSWORD or PGPASSFILE, or is asked for.",
    ),
]
ChangePassword = Annotated[
    bool, typer.Option("--change-password", help="Give an existing role a new password; its other pipelines too.")
]
# How to log in to load and to migrate.
Secret = Annotated[
    str | None,
    typer.Option(
        "--secret-id",
        metavar="NAME|ARN",
        help="AWS secret, as RDS writes it, to take the options below and the password from.",
    ),
]
Host = Annotated[str | None, typer.Option(help="Server's host name or address.", show_default="localhost")]
Hostaddr = Annotated[
    str | None,
    typer.Option(
        metavar="IP",
        help="Connect to this address instead, such as a tunnel's; the certificate must still be --host's.",
    ),
]
Port = Annotated[int | None, typer.Option(min=1, max=65535, help="Server's port.", show_default="5432")]
Dbname = Annotated[str | None, typer.Option(help="The source database; it must exist.", show_default="devdb")]
User = Annotated[
    str | None, typer.Option(help="User that may create schemas, publications and roles.", show_default="postgres")
]


@app.command()
def describe(
    name: Name,
    *,
    dsn: Dsn = "",
    tables: Annotated[str, typer.Option(help="Patterns: 'orders,sales.*,!*_log'. All without.")] = "",
    schema: Annotated[str, typer.Option(help="The schemas, separated by commas. All without.")] = "",
    how: Annotated[
        Literal["log", "query"] | None, typer.Option(help="From the log, or with SELECT alone, without a slot.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Add what the existing file lacks.")] = False,
    look: Annotated[bool, typer.Option("--look", help="Look for odd values in large tables, too.")] = False,
) -> None:
    """Write pipelines/NAME.toml and its Avro schemas; report losses and what the database needs.

    Example: ./lake source describe mine --dsn postgresql://me@db.example:5432/shop --tables 'sales.*,!*_log'
    """
    from capture.commands import make_pipeline

    with _each_line():
        schemas = [part.strip() for part in schema.split(",") if part.strip()]
        make_pipeline(name, dsn, tables=tables, schemas=schemas, how=how or "", update=update, look=look)


@app.command()
def prepare(name: Name, *, dsn: Dsn = "", dry_run: DryRun = False, change_password: ChangePassword = False) -> None:
    """Create the pipeline's publication, role, rights, replica identities and our two tables.

    Example: ./lake source prepare mine --dsn postgresql://dba@db.example:5432/shop --dry-run
    """
    from capture import commands

    with _each_line():
        commands.prepare(name, dsn, dry=dry_run, change_password=change_password)


@contextlib.contextmanager
def _each_line() -> Iterator[None]:
    from db.source.plan import UnpreparableError
    from settings.load import SettingsFileError

    def each(*problems: str) -> UserError:
        return UserError("\nerror: ".join(problems))

    with one_line_errors("error"):
        try:
            yield
        except UnpreparableError as error:
            raise each(*error.lines, "nothing was changed") from error
        except SettingsFileError as error:
            raise each(*str(error).splitlines()) from error


@app.command()
def load(
    *,
    secret: Secret = None,
    host: Host = None,
    hostaddr: Hostaddr = None,
    port: Port = None,
    dbname: Dbname = None,
    user: User = None,
    connector_secret_id: Annotated[
        str | None, typer.Option(metavar="NAME|ARN", help="AWS secret that has the password for the connector's role.")
    ] = None,
    scale: Annotated[int, typer.Option(min=1, help="Multiplier for the 829 sample orders.")] = 1,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Plain-text Northwind dump, instead of the sample rows."),
    ] = None,
    empty: Annotated[bool, typer.Option("--empty", help="Tables without rows.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Drop what an earlier load left.")] = False,
    change_password: ChangePassword = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask for confirmation.")] = False,
) -> None:
    """Load the outbox's database: Northwind tables, outbox with its triggers, publication, connector role.

    One transaction: everything or nothing. Passwords come from PGPASSWORD and CDC_CONNECTOR_PASSWORD, from AWS Secrets
    Manager, or are asked for.

    Example: ./lake source load --host 127.0.0.1 --port 5432 --dbname shop --replace --yes
    """
    from contract.source import CONNECTOR_ROLE
    from db import log_in
    from db.loading import LoadOptions

    with one_line_errors("error", interrupted="interrupted, nothing was loaded"):
        parameters = log_in.parameters(secret=secret, host=host, hostaddr=hostaddr, port=port, dbname=dbname, user=user)
        if not yes:
            _confirm(f"{parameters['dbname']} at {parameters['host']}:{parameters['port']}", replace=replace)
        log_in.add_password(parameters)
        options = LoadOptions(
            connector_password=_connector_password(connector_secret_id),
            change_password=change_password,
            scale=scale,
            dump=from_,
            empty=empty,
            replace=replace,
        )
        report = _load_showing_progress(parameters, options)
    rows = sum(report.rows.values())
    typer.echo(f"loaded {rows:,} rows and {report.events:,} order events in {report.seconds:.1f} s")
    if report.kept_password:
        typer.echo(f"the role {CONNECTOR_ROLE} was there and keeps its password: --change-password gives it this one")


def _confirm(target: str, *, replace: bool) -> None:
    from contract.source import SCHEMA
    from db.log_in import need_terminal

    need_terminal("confirm with --yes")
    action = f"Drop the schema {SCHEMA} and load it again" if replace else f"Create the schema {SCHEMA}"
    if not typer.confirm(f"{action} in {target}?"):
        raise UserError("not confirmed, nothing was loaded")


def _connector_password(secret_id: str | None) -> str:
    from contract.source import CONNECTOR_ROLE
    from db import log_in

    if secret_id:
        return str(log_in.of_secret(secret_id)["password"])
    return log_in.ask_password("CDC_CONNECTOR_PASSWORD", f"Password for the role {CONNECTOR_ROLE}", confirm=True)


def _load_showing_progress(parameters: dict[str, str | int], options: "LoadOptions") -> "LoadReport":
    from rich import progress
    from rich.console import Console

    from db import loading

    tasks: dict[str, progress.TaskID] = {}
    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as display:

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = display.add_task(step, total=total)
            display.update(tasks[step], completed=done)

        return loading.load(parameters, options, show)


@app.command()
def migrate(
    *,
    secret: Secret = None,
    host: Host = None,
    hostaddr: Hostaddr = None,
    port: Port = None,
    dbname: Dbname = None,
    user: User = None,
    max_wait_s: Annotated[
        float, typer.Option("--max-wait", min=0, help="Seconds to wait for transactions that have the tables.")
    ] = 60,
) -> None:
    """Bring the outbox up to this checkout's version, in place: tables, rows, slot and publication stay.

    Writers wait only for moments. After an interruption, run it again to resume. The password
    comes from PGPASSWORD, from AWS Secrets Manager, or is asked for.

    Example: ./lake source migrate --host 127.0.0.1 --port 5432 --dbname shop
    """
    from db import log_in
    from db.migrating import migrate as bring_up

    with one_line_errors("error", interrupted="interrupted: call it again for what is left"):
        parameters = log_in.parameters(secret=secret, host=host, hostaddr=hostaddr, port=port, dbname=dbname, user=user)
        log_in.add_password(parameters)
        done = bring_up(parameters, max_wait_s=max_wait_s)
    what = "migrated" if done.changed else "up to date already"
    steps = f", new: {', '.join(done.steps)}" if done.steps else ""
    rows = f", {done.orders:,} orders' rows looked at" if done.orders else ""
    typer.echo(f"{what}{steps}{rows}")
