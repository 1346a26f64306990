"""What the command lines of this folder share: whom to connect to, and as whom."""

import os
import sys
from typing import Annotated

import typer

from contract.source import DATABASE
from db.errors import LoadError

DEFAULTS: dict[str, str | int] = {"host": "localhost", "port": 5432, "dbname": DATABASE, "user": "postgres"}

SecretId = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|ARN", help="AWS secret, as RDS writes it, to take the options below and the password from."
    ),
]
Host = Annotated[str | None, typer.Option(help="Server's host name or address.", show_default="localhost")]
HostAddress = Annotated[
    str | None,
    typer.Option(
        "--hostaddr",
        metavar="IP",
        help="Connect to this address instead, such as a tunnel's; the certificate must still be --host's.",
    ),
]
Port = Annotated[int | None, typer.Option(min=1, max=65535, help="Server's port.", show_default="5432")]
DatabaseName = Annotated[str | None, typer.Option(help="The source database; it must exist.", show_default=DATABASE)]
UserName = Annotated[
    str | None, typer.Option(help="User that may create schemas, publications and roles.", show_default="postgres")
]


def connection_parameters(secret_id: str | None, given: dict[str, str | int | None]) -> dict[str, str | int]:
    """Join the defaults, what the secret says, and what the user says, who has the last word (a tunnel's port, say)."""
    chosen = {key: value for key, value in given.items() if value is not None}
    return DEFAULTS | (secret(secret_id) if secret_id else {}) | chosen


def secret(secret_id: str) -> dict[str, str | int]:
    """Read a secret as RDS writes it. Raises LoadError."""
    # Here and not above: importing boto3 takes longer than a whole load, and few need it.
    from db.secret import connection_parameters as read

    return read(secret_id)


def ask_password(variable: str, prompt: str, *, confirm: bool) -> str:
    """Take a password from the environment or ask for it, hidden."""
    if password := os.environ.get(variable):
        return password
    need_terminal(f"set {variable}")
    return str(typer.prompt(prompt, hide_input=True, confirmation_prompt=confirm))


def need_terminal(instead: str) -> None:
    """Raise LoadError, which says what to do instead, unless there is somebody to ask."""
    if not sys.stdin.isatty():
        raise LoadError(f"there is no terminal to ask at: {instead}")
