"""Connects to the database, and says in one line why it can't."""

import os
from collections.abc import Mapping
from typing import Any

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name

from db.errors import LoadError, LoginError, UnreachableError

CONNECT_TIMEOUT_S = 10
LOCK_TIMEOUT_S = 30
OLDEST_SERVER = 140000
WRONG_PASSWORD = "password authentication failed"  # noqa: S105  what the server says
# What libpq says → what the user can do about it.
_HINTS = {
    WRONG_PASSWORD: "check the user and the password",
    "no password supplied": "give the password when asked, or in PGPASSWORD",
    "Connection refused": "is PostgreSQL running there?",
    "timeout expired": "check host, port and firewall",
    "could not translate host name": "check the host's name",
    "does not exist": "create it, or check --dbname and --user",
    "server does not support SSL": "a password only goes to another machine over TLS",
}


def connect(parameters: Mapping[str, Any]) -> Connection:
    """Open a connection; `parameters` as for psycopg2.connect (host, port, dbname, user, password).

    A password goes over the network with TLS only. Raises LoadError with one line: UnreachableError when that may pass,
    LoginError when the password isn't taken.
    """
    settings = {"sslmode": _ssl_mode(str(parameters.get("host", ""))), **parameters}
    try:
        opened: Connection = psycopg2.connect(
            **settings,
            connect_timeout=CONNECT_TIMEOUT_S,
            application_name="db.load",
            options=f"{os.environ.get('PGOPTIONS', '')} -c lock_timeout={LOCK_TIMEOUT_S}s",
            client_encoding="UTF8",
        )
    except psycopg2.OperationalError as error:
        text = _explain(error, parameters)
        if WRONG_PASSWORD in str(error):
            raise LoginError(text) from error
        # A server that answers has refused us; it would again.
        refused = "FATAL" in str(error) and "starting up" not in text and "shutting down" not in text
        raise (LoadError if refused else UnreachableError)(text) from error
    if opened.server_version < OLDEST_SERVER:
        opened.close()
        raise LoadError(f"PostgreSQL {opened.server_version // 10000} is too old: 14 or newer is needed")
    return opened


def _ssl_mode(host: str) -> str:
    """Require TLS, except on this machine; the user's own stricter choice in PGSSLMODE stands."""
    chosen = os.environ.get("PGSSLMODE", "")
    if chosen in ("verify-ca", "verify-full"):
        return chosen
    here = host in ("", "localhost", "::1") or host.startswith(("127.", "/"))
    return "prefer" if here else "require"


def _explain(error: psycopg2.Error, parameters: Mapping[str, Any]) -> str:
    text = " ".join(str(error).split())
    for prefix in ("failed: FATAL: ", "failed: ", "error: "):
        text = text.rsplit(prefix, 1)[-1]
    target = f"{parameters.get('host')}:{parameters.get('port')}/{parameters.get('dbname')}"
    hint = next((hint for symptom, hint in _HINTS.items() if symptom in text), "")
    return f"cannot connect to {target}: {text.strip()}" + (f" ({hint})" if hint else "")
