"""Whom to connect to, as whom, and with which password: what the user says, a secret, or a question."""

import os
import sys

import typer

from contract.source import DATABASE
from db.errors import LoadError

DEFAULTS: dict[str, str | int] = {"host": "localhost", "port": 5432, "dbname": DATABASE, "user": "postgres"}


def connection_parameters(secret_id: str | None, given: dict[str, str | int | None]) -> dict[str, str | int]:
    """Join the defaults, what the secret says, and what the user says, who has the last word (a tunnel's port, say)."""
    chosen = {key: value for key, value in given.items() if value is not None}
    return DEFAULTS | (secret(secret_id) if secret_id else {}) | chosen


def add_password(parameters: dict[str, str | int]) -> None:
    """Take the user's password from PGPASSWORD or ask for it, where no secret has said it."""
    if "password" not in parameters:
        parameters["password"] = ask_password("PGPASSWORD", f"Password of {parameters['user']}", confirm=False)


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
