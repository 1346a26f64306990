"""Command line of the loader: `python -m db.load --host ... --dbname ...`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from contract.capture_objects import CONNECTOR_ROLE
from contract.errors import one_line_errors
from contract.source import SCHEMA
from db.command_line import (
    DatabaseName,
    Host,
    HostAddress,
    Port,
    SecretId,
    UserName,
    ask_password,
    connection_parameters,
    need_terminal,
    secret,
)
from db.errors import LoadError
from db.loading import LoadOptions, LoadReport, load

# Tracebacks that show local variables would show passwords.
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    *,
    secret_id: SecretId = None,
    host: Host = None,
    hostaddr: HostAddress = None,
    port: Port = None,
    dbname: DatabaseName = None,
    user: UserName = None,
    connector_secret_id: Annotated[
        str | None,
        typer.Option(metavar="NAME|ARN", help="AWS secret that has the password for the connector's role."),
    ] = None,
    scale: Annotated[int, typer.Option(min=1, help="So many times the 829 generated orders.")] = 1,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Plain-text Northwind dump, in place of generated rows."),
    ] = None,
    empty: Annotated[bool, typer.Option("--empty", help="Tables without rows.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Drop what an earlier load left.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask for confirmation.")] = False,
) -> None:
    """Load the source database: Northwind tables, outbox with its triggers, publication, connector role.

    One transaction: everything or nothing. Passwords come from PGPASSWORD and CDC_CONNECTOR_PASSWORD, from AWS Secrets
    Manager, or are asked for.
    """
    with one_line_errors("error", interrupted="interrupted, nothing was loaded"):
        given = {"host": host, "hostaddr": hostaddr, "port": port, "dbname": dbname, "user": user}
        parameters = connection_parameters(secret_id, given)
        if not yes:
            _confirm(f"{parameters['dbname']} at {parameters['host']}:{parameters['port']}", replace=replace)
        if "password" not in parameters:
            parameters["password"] = ask_password("PGPASSWORD", f"Password of {parameters['user']}", confirm=False)
        options = LoadOptions(
            connector_password=_connector_password(connector_secret_id),
            scale=scale,
            dump=from_,
            empty=empty,
            replace=replace,
        )
        report = _load_showing_progress(parameters, options)
    rows = sum(report.rows.values())
    typer.echo(f"loaded {rows:,} rows and {report.events:,} order events in {report.seconds:.1f} s")


def _connector_password(secret_id: str | None) -> str:
    if secret_id:
        return str(secret(secret_id)["password"])
    return ask_password("CDC_CONNECTOR_PASSWORD", f"Password for the role {CONNECTOR_ROLE}", confirm=True)


def _confirm(target: str, *, replace: bool) -> None:
    need_terminal("confirm with --yes")
    action = f"Drop the schema {SCHEMA} and load it anew" if replace else f"Create the schema {SCHEMA}"
    if not typer.confirm(f"{action} in {target}?"):
        raise LoadError("not confirmed, nothing was loaded")


def _load_showing_progress(parameters: dict[str, str | int], options: LoadOptions) -> LoadReport:
    tasks: dict[str, TaskID] = {}
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as display:

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = display.add_task(step, total=total)
            display.update(tasks[step], completed=done)

        return load(parameters, options, show)


if __name__ == "__main__":
    app()
