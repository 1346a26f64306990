"""Connects to the database; failures are one-line errors."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import psycopg2
from psycopg2 import extensions, sql

from contract import rds_ca
from contract.errors import UserError

Connection = extensions.connection
Cursor = extensions.cursor


class LoadError(UserError):
    """The load can't continue. Its text is one line: what, where, what to do. The database is unchanged."""


class LaterError(LoadError):
    """It can't continue now; the cause may pass, so try again later."""


class UnreachableError(LaterError):
    """The database or its secret can't be reached now; that may pass."""


class LoginError(LoadError):
    """The server rejects this user's password: it is wrong, or it is being changed."""


class NoPasswordError(LoadError):
    """The server wants a password, and there is none."""


class NewerError(LoadError):
    """The database's outbox is newer than this code."""


def explain(error: psycopg2.Error) -> str:
    """Return PostgreSQL's reason in one line."""
    diagnosis = error.diag
    if diagnosis.message_primary is None:
        return f"the connection broke: {' '.join(str(error).split())}"
    parts = [diagnosis.message_primary, diagnosis.message_detail, diagnosis.message_hint]
    where = next((line for line in (diagnosis.context or "").splitlines() if line.startswith("COPY ")), None)
    text = "; ".join(" ".join(part.split()) for part in (*parts, where) if part)
    return f"PostgreSQL refused: {text}"


CONNECT_TIMEOUT_S = 10
# A connection to a server that is gone ends after a minute, not after two hours.
LIVENESS = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
LOCK_TIMEOUT_S = 30
# A user's operators and functions, wherever they may be created, can't stand in for the server's.
OWN_NAMES = "-c search_path=pg_catalog"
OLDEST_SERVER = 140000
VERIFIED = "verify-full"
# libpq's default; other drivers need it explicitly.
LIBPQS_ROOT = "~/.postgresql/root.crt"
WRONG_PASSWORD = "password authentication failed"  # noqa: S105  what the server says
NO_PASSWORD = "no password supplied"  # noqa: S105  what libpq says
# libpq's message → what the user can do about it.
_HINTS = {
    WRONG_PASSWORD: "check the user and the password",
    NO_PASSWORD: "give the password when asked, or in PGPASSWORD",
    "pg_hba.conf": "the server's pg_hba.conf must let this user in from here",
    "Connection refused": "is PostgreSQL running there?",
    "timeout expired": "check host, port and firewall",
    "could not translate host name": "check the host's name",
    "does not exist": "create it, or check --dbname and --user",
    "server does not support SSL": "a password only goes to another machine over TLS",
    "certificate verify failed": "it must be signed by RDS's authority in contract/rds-ca.pem, or by PGSSLROOTCERT's",
    "does not match host name": "give the server's own name as --host, and a tunnel's address as --hostaddr",
}
# It starts, recovers or stops, or it is full.
_PASSING = ("the database system is", "too many", "remaining connection slots")
_WRONG_SERVER = ("certificate verify failed", "does not match host name")


def connect(parameters: Mapping[str, Any]) -> Connection:
    """Open a connection; `parameters` as for psycopg2.connect (host, port, dbname, user, password).

    A password is sent over the network only with TLS. Raises LoadError with one line: UnreachableError if the cause may
    pass, LoginError if the password is rejected, NoPasswordError if there is none.
    """
    ours = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "application_name": "db.load",
        "options": os.environ.get("PGOPTIONS", ""),
        **LIVENESS,
    }
    settings = {**ours, **tls(parameters), **parameters}
    # A transaction is idle while the other side, the lake or AWS, is asked.
    limits = f"-c lock_timeout={LOCK_TIMEOUT_S}s -c idle_in_transaction_session_timeout=0"
    settings |= {"options": f"{settings['options']} {limits} {OWN_NAMES}", "client_encoding": "UTF8"}
    try:
        opened: Connection = psycopg2.connect(**settings)
    except psycopg2.OperationalError as error:
        text = _explain(error, parameters)
        if WRONG_PASSWORD in str(error):
            raise LoginError(text) from error
        if NO_PASSWORD in str(error):
            raise NoPasswordError(text) from error
        # Refused, or the wrong server: retrying won't help.
        refused = "FATAL" in str(error) and not any(symptom in text for symptom in _PASSING)
        refused = refused or any(symptom in text for symptom in _WRONG_SERVER)
        raise (LoadError if refused else UnreachableError)(text) from error
    if opened.server_version < OLDEST_SERVER:
        opened.close()
        raise LoadError(f"PostgreSQL {opened.server_version // 10000} is too old: 14 or newer is needed")
    return opened


@contextlib.contextmanager
def transaction(connection_parameters: Mapping[str, Any], *, failing: str = "nothing was loaded") -> Iterator[Cursor]:
    """Connect, and commit when the block ends; an exception rolls back, and PostgreSQL's become LoadError.

    `failing` tells the user what that means.
    """
    with contextlib.closing(connect(connection_parameters)) as connection:
        try:
            with connection, connection.cursor() as cursor:
                yield cursor
        except psycopg2.Error as error:
            raise LoadError(f"{explain(error)} ({failing})") from error


def value(cursor: Cursor, query: str | sql.Composable, values: Sequence[Any] | Mapping[str, Any] | None = None) -> Any:
    """Run a query and return the first column of its first row; None if it has no row."""
    cursor.execute(query, values)
    return (cursor.fetchone() or (None,))[0]


def check_query(cursor: Cursor, query: str, *, search_path: str = "pg_catalog") -> None:
    """Have the server check a query that has a user's text in it: one query, which writes nothing. No row is read.

    Its names are found by `search_path`, which stays until the transaction ends. Raises psycopg2.Error.
    """
    # ts_stat, which every server has, runs a text as a read-only cursor: several statements, or one that writes, fail.
    cursor.execute(
        "SELECT FROM set_config('search_path', %s, TRUE) AS path, ts_stat(left(path, 0) || %s)",
        (search_path, f"SELECT NULL::tsvector FROM ({query}\n) AS q LIMIT 0"),  # noqa: S608
    )


def rows(cursor: Cursor) -> Iterator[dict[str, Any]]:
    """Yield the rows of the last query, each by its columns' names."""
    names = [column.name for column in cursor.description or ()]
    return (dict(zip(names, row, strict=True)) for row in cursor.fetchall())


def tls(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return libpq's `sslmode` and `sslrootcert` for a server: the one place that decides how it is verified.

    RDS's servers are always fully verified, with Amazon's certificate authority or the one in `sslrootcert` or
    PGSSLROOTCERT. For other servers `sslmode` decides, else a PGSSLMODE that verifies, else TLS is required; on this
    machine it is optional.
    """
    root = parameters.get("sslrootcert") or os.environ.get("PGSSLROOTCERT")
    if any(map(rds_ca.is_rds, _list(parameters.get("host")))):
        return {"sslmode": VERIFIED, "sslrootcert": str(root or rds_ca.BUNDLE)}
    chosen = os.environ.get("PGSSLMODE", "")
    default = "prefer" if stays_here(parameters) else "require"
    mode = str(parameters.get("sslmode") or (chosen if chosen.startswith("verify-") else default))
    # With a certificate libpq treats `require` as this; Java doesn't.
    mode = "verify-ca" if root and mode == "require" else mode
    if not mode.startswith("verify-"):
        return {"sslmode": mode}
    return {"sslmode": mode, "sslrootcert": str(root or os.path.expanduser(LIBPQS_ROOT))}  # noqa: PTH111  never fails


def stays_here(parameters: Mapping[str, Any]) -> bool:
    """Tell whether all hosts and addresses that libpq would try are on this machine; its default is a socket."""
    address = parameters.get("hostaddr") or os.environ.get("PGHOSTADDR")
    return all(map(is_here, (*_list(parameters.get("host")), *_list(address))))


def _list(hosts: object) -> list[str]:
    return [host for host in str(hosts or "").split(",") if host]


def is_here(host: str) -> bool:
    """Tell whether a host, an address or a socket's folder is on this machine."""
    return host in ("", "localhost", "::1") or host.startswith("/") or re.fullmatch(r"127(\.\d+){3}", host) is not None


def _explain(error: psycopg2.Error, parameters: Mapping[str, Any]) -> str:
    text = " ".join(str(error).split())
    for prefix in ("failed: FATAL: ", "failed: ", "error: "):
        text = text.rsplit(prefix, 1)[-1]
    host, port, dbname = (str(parameters.get(key) or "") for key in ("host", "port", "dbname"))
    target = f"{host or 'the default host'}{port and f':{port}'}{dbname and f'/{dbname}'}"
    hint = next((hint for symptom, hint in _HINTS.items() if symptom in text), "")
    return f"cannot connect to {target}: {text.strip()}" + (f" ({hint})" if hint else "")
