"""Prepares the database of a deployment: loads it once, and from then on keeps its outbox up to date in place."""

import time
from collections.abc import Mapping
from typing import Any

from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract.source import HEARTBEAT_TABLE, OUTBOX_TABLE, PUBLICATION, SCHEMA
from db import preflight
from db.errors import LoadError
from db.loading import LoadOptions, LoadReport, fill, grant_role, source, transaction
from db.migrating import migrate, wait_for_others

RELATIONS = (OUTBOX_TABLE, HEARTBEAT_TABLE, "outbox_gate", "outbox_pending")


def prepare(
    connection_parameters: Mapping[str, Any], options: LoadOptions, *, refresh_s: float | None = None
) -> LoadReport | None:
    """Load the database, or return None where that is done already.

    Then its outbox gets this code's version and the mode of `options`, and the connector's role the password and rights
    that it should have. What the tables hold is their users' by then: sample data and scale no longer count. Raises
    LoadError when a schema of that name is there that isn't whole or the connector's role is an administrator, both
    with nothing changed, and what `db.migrating.migrate` raises, whose `refresh_s` this is.
    """
    started = time.monotonic()
    with transaction(connection_parameters) as cursor:
        wait_for_others(cursor)
        there = preflight.has_schema(cursor)
        if there:
            check_whole(cursor)
            preflight.check_role(cursor)
        else:
            preflight.check(cursor, replace=False)
            chunks, totals = source(options, _quiet)
            events = fill(cursor, chunks, totals, options, _quiet)
            return LoadReport(totals, events, time.monotonic() - started)
    try:
        migrate(connection_parameters, options.mode, refresh_s=refresh_s)
    finally:
        # Whatever became of the migration: the connector may need its new password.
        with transaction(connection_parameters) as cursor:
            grant_role(cursor, options.connector_password)
    return None


def check_whole(cursor: Cursor) -> None:
    """Raise LoadError unless the schema is an outbox that some version of this code has made."""
    missing = [f"the table {SCHEMA}.{name}" for name in RELATIONS if not _has_relation(cursor, name)]
    if not preflight.has_publication(cursor):
        missing.append(f"the publication {PUBLICATION}")
    if missing:
        raise LoadError(
            f"the schema {SCHEMA} is there, but not {', not '.join(missing)}: drop the schema if you don't need it,"
            " or load it anew with `./lake source load --replace`"
        )


def _has_relation(cursor: Cursor, name: str) -> bool:
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.{name}",))
    return cursor.fetchone() == (True,)


def _quiet(step: str, done: int, total: int) -> None:
    """Nobody is watching."""
