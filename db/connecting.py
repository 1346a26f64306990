"""Connects to the database, and says in one line why it can't."""

import os
from collections.abc import Mapping
from typing import Any

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name

from contract import rds_ca
from db.errors import LoadError, LoginError, NoPasswordError, UnreachableError

CONNECT_TIMEOUT_S = 10
LOCK_TIMEOUT_S = 30
OLDEST_SERVER = 140000
WRONG_PASSWORD = "password authentication failed"  # noqa: S105  what the server says
NO_PASSWORD = "no password supplied"  # noqa: S105  what libpq says
# What libpq says → what the user can do about it.
_HINTS = {
    WRONG_PASSWORD: "check the user and the password",
    NO_PASSWORD: "give the password when asked, or in PGPASSWORD",
    "Connection refused": "is PostgreSQL running there?",
    "timeout expired": "check host, port and firewall",
    "could not translate host name": "check the host's name",
    "does not exist": "create it, or check --dbname and --user",
    "server does not support SSL": "a password only goes to another machine over TLS",
    "certificate verify failed": "it must be signed by RDS's authority in contract/rds-ca.pem, or by PGSSLROOTCERT's",
    "does not match host name": "give the server's own name as --host, and a tunnel's address as --hostaddr",
}
_WRONG_SERVER = ("certificate verify failed", "does not match host name")


def connect(parameters: Mapping[str, Any]) -> Connection:
    """Open a connection; `parameters` as for psycopg2.connect (host, port, dbname, user, password).

    A password goes over the network with TLS only. Raises LoadError with one line: UnreachableError when that may pass,
    LoginError when the password isn't taken, NoPasswordError when there is none.
    """
    ours = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "application_name": "db.load",
        "options": os.environ.get("PGOPTIONS", ""),
    }
    settings = {**ours, **_tls(str(parameters.get("host", "")), str(parameters.get("hostaddr", ""))), **parameters}
    settings |= {"options": f"{settings['options']} -c lock_timeout={LOCK_TIMEOUT_S}s", "client_encoding": "UTF8"}
    try:
        opened: Connection = psycopg2.connect(**settings)
    except psycopg2.OperationalError as error:
        text = _explain(error, parameters)
        if WRONG_PASSWORD in str(error):
            raise LoginError(text) from error
        if NO_PASSWORD in str(error):
            raise NoPasswordError(text) from error
        # A server that answers has refused us, or isn't the one that we want; it would be so again.
        refused = "FATAL" in str(error) and "starting up" not in text and "shutting down" not in text
        refused = refused or any(symptom in text for symptom in _WRONG_SERVER)
        raise (LoadError if refused else UnreachableError)(text) from error
    if opened.server_version < OLDEST_SERVER:
        opened.close()
        raise LoadError(f"PostgreSQL {opened.server_version // 10000} is too old: 14 or newer is needed")
    return opened


def _tls(host: str, address: str) -> dict[str, str]:
    """Verify RDS's servers by Amazon's certificate authority; require TLS of all others, except on this machine.

    The user's own stricter choice in PGSSLMODE stands, and so does another authority in PGSSLROOTCERT.
    """
    if rds_ca.is_rds(host):
        return {"sslmode": "verify-full", "sslrootcert": os.environ.get("PGSSLROOTCERT") or str(rds_ca.BUNDLE)}
    chosen = os.environ.get("PGSSLMODE", "")
    if chosen in ("verify-ca", "verify-full"):
        return {"sslmode": chosen}
    return {"sslmode": "prefer" if is_here(host) and is_here(address) else "require"}


def is_here(host: str) -> bool:
    """Tell whether a host, an address or a socket's folder is this machine."""
    return host in ("", "localhost", "::1") or host.startswith(("127.", "/"))


def _explain(error: psycopg2.Error, parameters: Mapping[str, Any]) -> str:
    text = " ".join(str(error).split())
    for prefix in ("failed: FATAL: ", "failed: ", "error: "):
        text = text.rsplit(prefix, 1)[-1]
    host, port, dbname = (str(parameters.get(key) or "") for key in ("host", "port", "dbname"))
    target = f"{host or 'the default host'}{port and f':{port}'}{dbname and f'/{dbname}'}"
    hint = next((hint for symptom, hint in _HINTS.items() if symptom in text), "")
    return f"cannot connect to {target}: {text.strip()}" + (f" ({hint})" if hint else "")
