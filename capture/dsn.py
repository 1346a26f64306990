"""How a user says which database: a DSN without a password, which comes from elsewhere or is asked for."""

import configparser
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import psycopg2
import typer
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name
from psycopg2.extensions import parse_dsn

from db.connecting import connect, hosts_of, is_here, tls
from db.errors import LoadError, NoPasswordError

_EXAMPLE = "postgresql://user@host:5432/database"
# Everybody on this machine reads them in the process list, where make and its shell have them before we could act.
_SECRETS = ("password", "sslpassword", "oauth_client_secret")
# So that it is known which host, and whether TLS is a must; libpq would take them, too.
_DEFAULTS = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT", "dbname": "PGDATABASE", "user": "PGUSER"}
_DEFAULTS |= {"sslrootcert": "PGSSLROOTCERT"}
_WEAK = ("disable", "allow", "prefer")


def parameters(dsn: str) -> dict[str, str]:
    """Take a DSN apart, a URL or `key=value` words as libpq takes them. Raises LoadError, which doesn't repeat it."""
    if not dsn.strip():
        raise LoadError(f"DSN is missing: which database? --dsn {_EXAMPLE} (its password is asked for)")
    try:
        given = {key: str(value) for key, value in parse_dsn(dsn).items()}
    except psycopg2.ProgrammingError:
        # What libpq says has the text in it, perhaps with a password.
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
    given = {key: os.environ[name] for key, name in _DEFAULTS.items() if os.environ.get(name)} | given
    if given.get("sslmode") in _WEAK and not all(map(is_here, [*hosts_of(given), given.get("hostaddr", "")])):
        raise LoadError(f"DSN has sslmode={given['sslmode']}: a password only goes to another machine over TLS")
    return given


def _of_service(name: str) -> dict[str, str]:
    """Return what libpq's own file says of a service: which host it is decides how the server is verified."""
    system = Path(os.environ.get("PGSYSCONFDIR", "/etc/postgresql-common"), "pg_service.conf")
    files = (Path(os.environ.get("PGSERVICEFILE") or Path.home() / ".pg_service.conf"), system)
    found = configparser.ConfigParser(interpolation=None, delimiters="=", strict=False)
    try:
        found.read(reversed(files), encoding="utf-8")
        return dict(found[name])
    except (KeyError, configparser.Error):
        raise LoadError(f"DSN has service={name}, which isn't in {' or '.join(map(str, files))}") from None


def connected(given: Mapping[str, str]) -> tuple[Connection, dict[str, str]]:
    """Connect; ask for a password when the server wants one that nobody has given. Raises LoadError.

    Returns the parameters that worked, too: they have the password then.
    """
    given = {**given, **tls(given)}
    try:
        return connect(given), dict(given)
    except NoPasswordError as error:
        if not sys.stdin.isatty():
            raise LoadError(f"{error}: there is no terminal to ask at: set PGPASSWORD or PGPASSFILE") from None
    password = str(typer.prompt(f"Password of {given.get('user', 'the database user')}", hide_input=True, err=True))
    known = {**given, "password": password}
    return connect(known), known
