"""Drops the connector's replication slot: an unread slot keeps the server from freeing its write-ahead log."""

import contextlib
from collections.abc import Mapping
from typing import Any

import psycopg2
from psycopg2 import errors

from db.connecting import connect
from db.errors import LoadError, explain


def drop_slot(connection_parameters: Mapping[str, Any], name: str) -> bool:
    """End the session that reads this database's slot `name`, and drop it; False while a session still has it.

    Another database's slot of that name stays. Call again after False: an ended session needs a moment to release it.
    Raises LoadError with one line.
    """
    with contextlib.closing(connect(connection_parameters)) as connection:
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
                    " WHERE slot_name = %s AND database = current_database()",
                    (name,),
                )
                if cursor.fetchone() is None:
                    return True
                cursor.execute("SELECT pg_drop_replication_slot(%s)", (name,))
        except errors.ObjectInUse:
            return False
        except errors.UndefinedObject:
            # Another session dropped it first.
            return True
        except psycopg2.Error as error:
            raise LoadError(f"cannot drop the replication slot {name}: {explain(error)}") from error
    return True
