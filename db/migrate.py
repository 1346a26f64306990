"""Command line of the migrations: `python -m db.migrate --host ... --dbname ...`."""

from typing import Annotated

import typer

from contract.errors import one_line_errors
from db.command_line import (
    DatabaseName,
    Host,
    HostAddress,
    Port,
    SecretId,
    UserName,
    ask_password,
    connection_parameters,
)
from db.migrating import MAX_WAIT_S, Migration, migrate

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
    max_wait_s: Annotated[
        float, typer.Option("--max-wait", min=0, help="Seconds to wait for transactions that have the tables.")
    ] = MAX_WAIT_S,
) -> None:
    """Bring the outbox up to this checkout's version, in place: tables, rows, slot and publication stay.

    Writers go on; they wait for moments. Interrupted, it goes on where it was when it is called again. The password
    comes from PGPASSWORD, from AWS Secrets Manager, or is asked for.
    """
    with one_line_errors("error", interrupted="interrupted: call it again for what is left"):
        given = {"host": host, "hostaddr": hostaddr, "port": port, "dbname": dbname, "user": user}
        parameters = connection_parameters(secret_id, given)
        if "password" not in parameters:
            parameters["password"] = ask_password("PGPASSWORD", f"Password of {parameters['user']}", confirm=False)
        done = migrate(parameters, max_wait_s=max_wait_s)
    typer.echo(_report(done))


def _report(done: Migration) -> str:
    what = "migrated" if done.changed else "up to date already"
    steps = f", new: {', '.join(done.steps)}" if done.steps else ""
    rows = f", {done.orders:,} orders' rows looked at" if done.orders else ""
    return f"{what}{steps}{rows}"


if __name__ == "__main__":
    app()
