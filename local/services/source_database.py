"""The source database: its rows, how far Debezium has read it, and how to log in to one that isn't ours.

An outside database is never started or changed. The platform needs no other login than the connector's role: its read
access suffices for checks, too. Its password comes from CDC_CONNECTOR_PASSWORD, PGPASSWORD, an earlier start, libpq's
password file (PGPASSFILE, ~/.pgpass) or a prompt; it is kept in a file in the platform's folder, to which the
connector's configuration refers.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import psycopg2
import typer
from psycopg2 import sql
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name

from contract.source import OUTBOX_TABLE, SCHEMA, SHOWS_ALL_ROWS
from db import log_in
from db.connecting import OWN_NAMES, LoadError, LoginError, NoPasswordError, connect, tls, value
from db.source.objects import SourceObjects
from db.source.plan import source_problems
from db.source.replication import Expected, Replication, read_state, table_at
from local.errors import PlatformError
from local.files import kept_password
from settings.pipeline import CapturedTableSettings

PASSWORD_VARIABLES = ("CDC_CONNECTOR_PASSWORD", "PGPASSWORD")
DEFAULT_PORT = 5432
_SHOWS_ALL = SHOWS_ALL_ROWS.format(relations="ARRAY[to_regclass(%s)::oid]")
# Accepted DSN parts; user and password are the caller's alone: the role has its own.
_TAKEN = {"host", "port", "dbname", "sslmode", "sslrootcert", "user", "password"}
# A person waits for it.
ANSWER_S = 5


@dataclass(frozen=True, kw_only=True)
class OutsideDatabase:
    """An outside database's address. `sslmode` as in libpq; `sslrootcert` is the user's file, as an absolute path."""

    host: str
    port: int
    dbname: str
    sslmode: str
    sslrootcert: str | None = None

    @classmethod
    def of(cls, dsn: str, *, database: str) -> Self:
        """Read a DSN: a URI or `host=… port=…`; its database defaults to the pipeline's, its user isn't used.

        Raises PlatformError or LoadError, which never repeat a password.
        """
        given = log_in.of_dsn(dsn)
        host = given.get("host", "")
        if not host or host.startswith("/") or "," in host or given.get("hostaddr"):
            raise PlatformError("DSN must name one host, which the connector can reach: sockets and hostaddr don't do")
        port = given.get("port", str(DEFAULT_PORT))
        if not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise PlatformError(f"DSN: {port!r} isn't a port")
        if others := sorted(key for key, value in given.items() if value and key not in _TAKEN):
            raise PlatformError(f"DSN has {', '.join(others)}, which connector and job can't use: take it out")
        root = given.get("sslrootcert")
        if root == "system":
            raise PlatformError(
                "DSN: only libpq knows sslrootcert=system: name the file with the system's authorities, such as"
                " /etc/ssl/certs/ca-certificates.crt, and sslmode=verify-full"
            )
        if root is not None and not Path(root).is_file():
            raise PlatformError(
                f"DSN: sslrootcert={root} is no file: name the one with the authority's certificate (PEM)"
            )
        return cls(
            host=host,
            port=int(port),
            dbname=given.get("dbname") or database,
            sslmode=tls(given)["sslmode"],
            sslrootcert=root and str(Path(root).resolve()),
        )

    def parameters(self, role: str) -> dict[str, object]:
        """Return libpq's parameters, including how to verify the server, without a password."""
        return {"host": self.host, "port": self.port, "dbname": self.dbname, **tls(asdict(self)), "user": role}

    def __str__(self) -> str:
        return f"{self.dbname} at {self.host}:{self.port}"


def find_password(database: OutsideDatabase, role: str, kept: Path) -> str:
    """Return the password that logs the role in; `kept`: the file with the one of an earlier start.

    Raises PlatformError without one, and LoadError where no other password would help.
    """
    refusals = []
    for where, given in _candidates(kept, f"Password of {role} on {database}"):
        try:
            with contextlib.closing(connect({**database.parameters(role), **given})) as connection:
                password = str(connection.info.password or "")
        except (LoginError, NoPasswordError) as error:
            refusals.append(f"{error} ({where})")
            continue
        return password
    raise PlatformError(f"{refusals[-1]}: give the role's password in {PASSWORD_VARIABLES[0]}")


GIVE_PASSWORD = f"`./lake up` takes the role's password from {PASSWORD_VARIABLES[0]}"


def refusal(parameters: Mapping[str, Any], remedy: str = GIVE_PASSWORD) -> str | None:
    """Return in one line why the database refuses the role, with the remedy for its password; None where it doesn't."""
    try:
        connect({**parameters, "connect_timeout": ANSWER_S}).close()
    except (LoginError, NoPasswordError) as error:
        return f"{error}: {remedy}"
    except LoadError as error:
        return str(error)
    return None


def _candidates(kept: Path, question: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the places where a password may be; the last one prompts."""
    for name in PASSWORD_VARIABLES:
        if os.environ.get(name):
            yield f"by {name}", {"password": os.environ[name]}
    if password := kept_password(kept):
        yield f"by {kept}", {"password": password}
    yield "by libpq's password file", {}
    if sys.stdin.isatty():
        yield "as typed", {"password": typer.prompt(question, hide_input=True)}


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A replication slot: whether something reads it, and the unconfirmed bytes of WAL.

    `held_bytes`: the WAL that the server retains because of it.
    """

    active: bool
    behind_bytes: int | None
    held_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class OutboxQueue:
    """Changes not in the outbox yet: how many, the oldest's age in seconds, how many fail, and one reason."""

    entries: int
    seconds: float
    failing: int
    error: str | None


class SourceDatabase:
    """One database, read with the login in `parameters`: libpq's, with `dbname` and a password."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._parameters = dict(parameters)
        self.name = str(parameters["dbname"])

    def parameters(self) -> dict[str, Any]:
        return dict(self._parameters)

    def create_if_missing(self) -> None:
        with _cursor({**self._parameters, "dbname": "postgres"}) as cursor:
            if value(cursor, "SELECT 1 FROM pg_database WHERE datname = %s", (self.name,)) is None:
                cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self.name)))

    def is_loaded(self) -> bool:
        """Tell whether the outbox exists; the loader works all or nothing."""
        return bool(self._value(f"SELECT to_regclass('{SCHEMA}.{OUTBOX_TABLE}') IS NOT NULL"))

    def outbox_rows(self) -> int:
        return int(self._value(f"SELECT count(*) FROM {SCHEMA}.{OUTBOX_TABLE}"))

    def outbox_queue(self) -> OutboxQueue:
        """Return how far the outbox is behind the tables."""
        with _cursor(self._parameters) as cursor:
            cursor.execute(
                "SELECT entries, coalesce(extract(epoch FROM clock_timestamp() - oldest), 0)::float, failing, error"
                f" FROM {SCHEMA}.outbox_lag"
            )
            entries, seconds, failing, error = cursor.fetchone()
        return OutboxQueue(entries=entries, seconds=seconds, failing=failing, error=error)

    def wal_position(self) -> str:
        return str(self._value("SELECT pg_current_wal_lsn()::text"))

    def replication(self, slot: str, wanted: Expected) -> Replication:
        with _cursor(self._parameters) as cursor:
            return read_state(cursor, slot, wanted)

    def table_at(self, slot: str, publication: str, position: int) -> str | None:
        """Return the table of the change at a position of the log, as schema.table; None when unknown."""
        with contextlib.suppress(psycopg2.Error), _cursor(self._parameters) as cursor:
            return table_at(cursor, slot, publication, position)
        return None

    def source_problems(self, wanted: SourceObjects, pipeline: str) -> list[str]:
        """Describe changes since a pipeline's database was prepared, a line each (db/source/plan.py)."""
        with _cursor(self._parameters) as cursor:
            return source_problems(cursor, wanted, pipeline)

    def with_default(self, schema: str, table: str, columns: Sequence[str]) -> set[str]:
        """Return which of these columns have a DEFAULT or an identity, or filled existing rows when they were added."""
        with _cursor(self._parameters) as cursor:
            cursor.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(format('%%I.%%I', %s::text, %s::text))"
                " AND attname = ANY(%s) AND NOT attisdropped AND attgenerated = ''"
                " AND (atthasdef OR atthasmissing OR attidentity <> '')",
                (schema, table, list(columns)),
            )
            return {name for (name,) in cursor.fetchall()}

    def slot(self, name: str, position: str) -> Slot | None:
        """Return the slot and how far its confirmed position is behind `position`; None when there is no such slot."""
        with _cursor(self._parameters) as cursor:
            cursor.execute(
                "SELECT active, (%s::pg_lsn - confirmed_flush_lsn)::bigint,"
                " (pg_current_wal_lsn() - restart_lsn)::bigint"
                " FROM pg_replication_slots WHERE slot_name = %s",
                (position, name),
            )
            row = cursor.fetchone()
        return None if row is None else Slot(active=row[0], behind_bytes=row[1], held_bytes=row[2])

    def _value(self, query: str) -> Any:
        with _cursor(self._parameters) as cursor:
            return value(cursor, query)


@contextlib.contextmanager
def _cursor(parameters: Mapping[str, Any]) -> Iterator[Any]:
    limits: dict[str, Any] = {"connect_timeout": ANSWER_S, "options": f"{OWN_NAMES} -c lock_timeout={ANSWER_S}s"}
    with contextlib.closing(psycopg2.connect(**parameters, **limits)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            yield cursor


def has_rows(connection: Connection, table: CapturedTableSettings) -> bool:
    """Tell whether the table has a row. Raises psycopg2.Error, also where a row policy may hide some."""
    name = sql.Identifier(table.schema_name, table.table_name)
    rows = name if table.query is None else sql.Composed([sql.SQL("("), sql.SQL(table.query), sql.SQL("\n)")])
    with connection, connection.cursor() as cursor:
        if table.query is not None or not value(cursor, _SHOWS_ALL, [name.as_string(connection)]):
            cursor.execute("SET LOCAL row_security = off")
        return bool(value(cursor, sql.SQL("SELECT EXISTS (SELECT FROM {} AS q)").format(rows)))
