"""How a user says which database: a DSN without a password, which comes from elsewhere or is asked for."""

import os
import sys
from collections.abc import Mapping

import psycopg2
import typer
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name
from psycopg2.extensions import make_dsn, parse_dsn

from db.connecting import connect, is_here
from db.errors import LoadError, NoPasswordError

_EXAMPLE = "postgresql://user@host:5432/database"
# Everybody on this machine reads them in the process list, where make and its shell have them before we could act.
_SECRETS = ("password", "sslpassword", "oauth_client_secret")
# So that it is known which host, and whether TLS is a must; libpq would take them, too.
_DEFAULTS = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT", "dbname": "PGDATABASE", "user": "PGUSER"}
_WEAK = ("disable", "allow", "prefer")


def parameters(dsn: str) -> dict[str, str]:
    """Take a DSN apart, a URL or `key=value` words as libpq takes them. Raises LoadError, which doesn't repeat it."""
    if not dsn.strip():
        raise LoadError(f"DSN is missing: which database? DSN={_EXAMPLE} (its password is asked for)")
    try:
        given = {key: str(value) for key, value in parse_dsn(dsn).items()}
    except psycopg2.ProgrammingError:
        # What libpq says has the text in it, perhaps with a password.
        raise LoadError(f"DSN isn't one that libpq understands: DSN={_EXAMPLE}, or 'host=… dbname=…'") from None
    for key in _SECRETS:
        if given.get(key):
            raise LoadError(
                f"DSN has a {key}, which all users of this machine can read in the process list: take it out (change it"
                " where others can log in); give it when asked, or in PGPASSWORD or PGPASSFILE"
            )
    if "replication" in given:
        raise LoadError("DSN asks for a replication connection, which reads no catalogue: take replication out")
    if "service" in given:
        # Its host stands in a file of libpq's.
        given = {"sslmode": "require", **given}
    else:
        given = {key: os.environ[name] for key, name in _DEFAULTS.items() if os.environ.get(name)} | given
    if given.get("sslmode") in _WEAK and not all(map(is_here, _hosts(given))):
        raise LoadError(f"DSN has sslmode={given['sslmode']}: a password only goes to another machine over TLS")
    return given


def _hosts(given: Mapping[str, str]) -> list[str]:
    return [host for key in ("host", "hostaddr") for host in given.get(key, "").split(",") if host]


def connected(given: Mapping[str, str]) -> tuple[Connection, dict[str, str]]:
    """Connect; ask for a password when the server wants one that nobody has given. Raises LoadError.

    Returns the parameters that worked, too: they have the password then.
    """
    try:
        return connect(given), dict(given)
    except NoPasswordError as error:
        if not sys.stdin.isatty():
            raise LoadError(f"{error}: there is no terminal to ask at: set PGPASSWORD or PGPASSFILE") from None
    password = str(typer.prompt(f"Password of {given.get('user', 'the database user')}", hide_input=True, err=True))
    known = {**given, "password": password}
    return connect(known), known


def shown(given: Mapping[str, str]) -> str:
    """Return the DSN for messages, where no password stands."""
    return make_dsn(**{key: value for key, value in given.items() if key not in _SECRETS})
