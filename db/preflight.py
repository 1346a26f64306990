"""Checks before a load. They never change the database."""

from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract.source import CONNECTOR_ROLE, PUBLICATION, SCHEMA
from db.errors import LoadError
from db.source import objects as source_objects
from db.source.objects import SourceObjects, SourceState

OUTBOX = SourceObjects(publication=PUBLICATION, slot="", schema=SCHEMA, tables=())


def check(cursor: Cursor, *, replace: bool) -> None:
    """Raise LoadError unless this database can be loaded."""
    state = read(cursor)
    if state.wal_level != "logical":
        raise LoadError(
            f"wal_level is {state.wal_level}, change data capture needs logical:"
            " set it in postgresql.conf (on Aurora and RDS: rds.logical_replication=1) and restart the server"
        )
    if replace:
        _check_nobody_reads(cursor)
    elif state.own_schema:
        raise LoadError(f"the schema {SCHEMA} is already there: add --replace to drop it and load it again")
    elif state.published is not None:
        raise LoadError(f"the publication {PUBLICATION} is already there: add --replace to take it over")
    check_role(state)


def read(cursor: Cursor) -> SourceState:
    """Read the state of an outbox's schema, publication and role in the database."""
    return source_objects.read(cursor, OUTBOX)


def has_slot(cursor: Cursor) -> bool:
    """Tell whether a replication slot, active or not, is waiting for this database's changes."""
    cursor.execute("SELECT 1 FROM pg_replication_slots WHERE database = current_database()")
    return cursor.fetchone() is not None


def check_role(state: SourceState) -> None:
    """Raise LoadError if a role of the connector's name is an administrator: it would get a known password."""
    if state.role_is_administrator:
        raise LoadError(f"the role {CONNECTOR_ROLE} is there with an administrator's rights: rename or demote it first")


def _check_nobody_reads(cursor: Cursor) -> None:
    """Refuse while a connector streams: its tables would vanish."""
    cursor.execute("SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND active LIMIT 1")
    if row := cursor.fetchone():
        raise LoadError(f"the replication slot {row[0]} is in use: stop the connector, then load with --replace")
