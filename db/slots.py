"""Drops the connector's replication slot: one that nobody reads keeps the server from freeing its write-ahead log."""

import contextlib
import time
from collections.abc import Mapping
from typing import Any

import psycopg2
from psycopg2 import errors
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from db.connecting import connect
from db.errors import LoadError, explain

PATIENCE_S = 30.0
PAUSE_S = 0.5


def drop_slot(connection_parameters: Mapping[str, Any], name: str) -> bool:
    """Drop the slot `name` of this database, ending the session that reads it; True if there was one.

    Another database's slot of that name stays. Raises LoadError when it can't be dropped within PATIENCE_S seconds,
    because its reader comes back again and again.
    """
    deadline = time.monotonic() + PATIENCE_S
    with contextlib.closing(connect(connection_parameters)) as connection:
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                if not _has_slot(cursor, name):
                    return False
                while not _dropped(cursor, name):
                    if time.monotonic() > deadline:
                        raise LoadError(f"the replication slot {name} is still in use: delete its connector first")
                    time.sleep(PAUSE_S)
        except psycopg2.Error as error:
            raise LoadError(f"cannot drop the replication slot {name}: {explain(error)}") from error
    return True


def _has_slot(cursor: Cursor, name: str) -> bool:
    cursor.execute(
        "SELECT FROM pg_replication_slots WHERE slot_name = %s AND database = current_database()",
        (name,),
    )
    return cursor.fetchone() is not None


def _dropped(cursor: Cursor, name: str) -> bool:
    """Try once; False while a session still has the slot."""
    cursor.execute("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s", (name,))
    try:
        cursor.execute("SELECT pg_drop_replication_slot(%s)", (name,))
    except errors.ObjectInUse:
        return False
    except errors.UndefinedObject:
        # Somebody else was faster.
        return True
    return True
