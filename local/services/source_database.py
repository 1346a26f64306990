"""The source database: whether it is loaded, its rows, and how far Debezium has read it."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg2
from psycopg2 import sql
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name

from contract.source import OUTBOX_TABLE, SCHEMA
from db.source import objects as source_objects
from db.source.objects import SourceObjects
from db.source.plan import source_problems
from db.source.replication import Expected, Replication, read_state, table_at
from settings.pipeline import CapturedTableSettings

CONNECT_TIMEOUT_S = 5


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
        """Create the database, empty, unless it exists."""
        with _cursor({**self._parameters, "dbname": "postgres"}) as cursor:
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (self.name,))
            if cursor.fetchone() is None:
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
        with _cursor(self._parameters) as cursor:
            return table_at(cursor, slot, publication, position)

    def source_problems(self, wanted: SourceObjects, pipeline: str) -> list[str]:
        """Describe changes since a pipeline's database was prepared, a line each (db/source/plan.py)."""
        with _cursor(self._parameters) as cursor:
            return source_problems(wanted, source_objects.read(cursor, wanted), pipeline)

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
            cursor.execute(query)
            row = cursor.fetchone()
        return row[0] if row else None


@contextlib.contextmanager
def _cursor(parameters: Mapping[str, Any]) -> Iterator[Any]:
    with contextlib.closing(psycopg2.connect(**parameters, connect_timeout=CONNECT_TIMEOUT_S)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            yield cursor


def has_rows(connection: Connection, table: CapturedTableSettings) -> bool:
    """Tell whether the table has a row. Raises psycopg2.Error."""
    name = sql.Identifier(table.schema_name, table.table_name)
    rows = name if table.query is None else sql.Composed([sql.SQL("("), sql.SQL(table.query), sql.SQL("\n)")])
    with connection, connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT EXISTS (SELECT FROM {} AS q)").format(rows))
        (found,) = cursor.fetchone() or (False,)
        return bool(found)
