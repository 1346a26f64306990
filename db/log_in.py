"""Gets login parameters from options, a DSN without a password, an AWS secret, or a prompt.

boto3 and typer are imported late: importing boto3 takes longer than a whole load, and few need it; Lambda has no typer.
"""

import configparser
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg2
from psycopg2.extensions import parse_dsn

from contract.source import DATABASE
from db.connecting import Connection, LoadError, NoPasswordError, UnreachableError, connect, stays_here, tls

if TYPE_CHECKING:
    from boto3 import Session
    from botocore.exceptions import ClientError

DEFAULTS: dict[str, str | int] = {"host": "localhost", "port": 5432, "dbname": DATABASE, "user": "postgres"}
_EXAMPLE = "postgresql://user@host:5432/database"
# Any user on this machine can read them in the process list.
_SECRETS = ("password", "sslpassword", "oauth_client_secret")
# libpq reads them too; we need them to know the host, and whether TLS is required.
_VARIABLES = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT", "dbname": "PGDATABASE", "user": "PGUSER"}
_VARIABLES |= {"sslrootcert": "PGSSLROOTCERT"}
_WEAK = ("disable", "allow", "prefer")
# The secret's keys → psycopg2's.
_KEYS = {"host": "host", "port": "port", "username": "user", "password": "password", "dbname": "dbname"}
_HINTS = {
    "ResourceNotFoundException": "check its name and the region",
    "AccessDeniedException": "ask for secretsmanager:GetSecretValue on it",
    "InvalidRequestException": "it may be marked for deletion",
    "DecryptionFailure": "ask for kms:Decrypt on its key",
    "ExpiredTokenException": "log in to AWS again",
    "UnrecognizedClientException": "log in to AWS again",
}


def parameters(*, secret: str | None, **given: str | int | None) -> dict[str, str | int]:
    """Merge the defaults, the secret, and the user's options, which win (a tunnel's port, say)."""
    chosen = {key: value for key, value in given.items() if value is not None}
    return DEFAULTS | (of_secret(secret) if secret else {}) | chosen


def add_password(parameters: dict[str, str | int]) -> None:
    """Take the user's password from PGPASSWORD or ask for it, unless the secret has it."""
    if "password" not in parameters:
        parameters["password"] = ask_password("PGPASSWORD", f"Password of {parameters['user']}", confirm=False)


def ask_password(variable: str, prompt: str, *, confirm: bool) -> str:
    """Take a password from the environment or ask for it, hidden."""
    if password := os.environ.get(variable):
        return password
    need_terminal(f"set {variable}")
    import typer

    return str(typer.prompt(prompt, hide_input=True, confirmation_prompt=confirm))


def need_terminal(instead: str) -> None:
    """Raise LoadError, which says what to do instead, unless there is a terminal to ask on."""
    if not sys.stdin.isatty():
        raise LoadError(f"there is no terminal to ask at: {instead}")


def of_dsn(dsn: str) -> dict[str, str]:
    """Parse a DSN, a URL or libpq's `key=value` words. Raises LoadError, which doesn't repeat it."""
    if not dsn.strip():
        raise LoadError(f"DSN is missing: which database? --dsn {_EXAMPLE} (its password is asked for)")
    try:
        given = {key: str(value) for key, value in parse_dsn(dsn).items()}
    except psycopg2.ProgrammingError:
        # libpq's message contains the text, perhaps with a password.
        raise LoadError(f"DSN isn't one that libpq understands: --dsn {_EXAMPLE}, or 'host=… dbname=…'") from None
    for key in _SECRETS:
        if given.get(key):
            raise LoadError(
                f"DSN has a {key}, which all users of this machine can read in the process list: take it out (change it"
                " where others can log in); give it when asked, or in PGPASSWORD or PGPASSFILE"
            )
    if "replication" in given:
        raise LoadError("DSN asks for a replication connection, which reads no catalogue: take replication out")
    service = given.pop("service", os.environ.get("PGSERVICE", ""))
    given = (_of_service(service) if service else {}) | given
    given = {key: os.environ[name] for key, name in _VARIABLES.items() if os.environ.get(name)} | given
    if given.get("sslmode") in _WEAK and not stays_here(given):
        raise LoadError(f"DSN has sslmode={given['sslmode']}: a password only goes to another machine over TLS")
    return given


def _of_service(name: str) -> dict[str, str]:
    """Return a service's entry in libpq's own file: its host decides how the server is verified."""
    system = Path(os.environ.get("PGSYSCONFDIR", "/etc/postgresql-common"), "pg_service.conf")
    files = (Path(os.environ.get("PGSERVICEFILE") or Path.home() / ".pg_service.conf"), system)
    found = configparser.ConfigParser(interpolation=None, delimiters="=", strict=False)
    try:
        found.read(reversed(files), encoding="utf-8")
        return dict(found[name])
    except (KeyError, configparser.Error, UnicodeDecodeError):
        raise LoadError(f"DSN has service={name}, which isn't in {' or '.join(map(str, files))}") from None


def connected(given: Mapping[str, str]) -> tuple[Connection, dict[str, str]]:
    """Connect; ask for a password if the server wants one that wasn't given. Raises LoadError.

    Also returns the parameters that worked, including the password.
    """
    given = {**given, **tls(given)}
    try:
        return connect(given), dict(given)
    except NoPasswordError as error:
        if not sys.stdin.isatty():
            raise LoadError(f"{error}: there is no terminal to ask at: set PGPASSWORD or PGPASSFILE") from None
    import typer

    password = str(typer.prompt(f"Password of {given.get('user', 'the database user')}", hide_input=True, err=True))
    known = {**given, "password": password}
    return connect(known), known


def of_secret(secret_id: str, session: "Session | None" = None) -> dict[str, str | int]:
    """Return the secret's host, port, user, password and dbname, under psycopg2's names.

    Without a session, boto3 finds region and credentials in its usual way. Raises LoadError with one line,
    UnreachableError if the cause may pass; they never repeat the secret's content.
    """
    values = _values(secret_id, session)
    parameters: dict[str, str | int] = {
        ours: str(values[theirs]) for theirs, ours in _KEYS.items() if values.get(theirs) not in (None, "")
    }
    if missing := [key for key in ("user", "password") if key not in parameters]:
        raise LoadError(f"the secret {secret_id} has no {' and no '.join(missing)}: it must be JSON as RDS writes it")
    if "port" in parameters:
        port = str(parameters["port"])
        if not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65_535:
            raise LoadError(f"the secret {secret_id} has a port that isn't a number from 1 to 65535")
        parameters["port"] = int(port)
    return parameters


def _values(secret_id: str, session: "Session | None") -> Mapping[str, object]:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

    # Seconds and attempts: the AWS command line's defaults would keep a user waiting for minutes.
    config = Config(connect_timeout=5, read_timeout=10, retries={"mode": "standard", "max_attempts": 3})
    try:
        client = (session or boto3).client("secretsmanager", config=config)
        text = client.get_secret_value(SecretId=secret_id).get("SecretString", "")
    except ClientError as error:
        raise _explained(secret_id, error) from error
    except NoRegionError as error:
        raise LoadError("no AWS region: set AWS_REGION, or choose a profile with AWS_PROFILE") from error
    except NoCredentialsError as error:
        raise LoadError("no AWS credentials: log in, or choose a profile with AWS_PROFILE") from error
    except BotoCoreError as error:
        raise UnreachableError(f"cannot read the secret {secret_id}: {' '.join(str(error).split())}") from error
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        # `from` would include the text.
        raise LoadError(f"the secret {secret_id} isn't a JSON object: it must be as RDS writes it") from None
    return values


def _explained(secret_id: str, error: "ClientError") -> LoadError:
    details = error.response.get("Error", {})
    code, status = details.get("Code", ""), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    hint = f" ({_HINTS[code]})" if code in _HINTS else ""
    said = " ".join(details.get("Message", str(error)).split()).rstrip(".")
    may_pass = "Throttl" in code or status == 429 or status >= 500
    return (UnreachableError if may_pass else LoadError)(f"cannot read the secret {secret_id}: {said}{hint}")
