"""Prepares the database of a deployment: loads it once, and from then on keeps its outbox up to date in place."""

import time
from collections.abc import Mapping
from typing import Any

from db import outbox, preflight
from db.loading import LoadOptions, LoadReport, fill, grant_role, source, transaction
from db.migrating import migrate, wait_for_others


def prepare(
    connection_parameters: Mapping[str, Any], options: LoadOptions, *, refresh_s: float | None = None
) -> LoadReport | None:
    """Load the database, or return None where that is done already.

    Then its outbox gets this code's version, and the connector's role the password and rights that it should have. What
    the tables hold is their users' by then: sample data and scale no longer count. Raises LoadError when a schema of
    that name is there that isn't whole or the connector's role is an administrator, both with nothing changed, and what
    `db.migrating.migrate` raises, whose `refresh_s` this is.
    """
    started = time.monotonic()
    with transaction(connection_parameters) as cursor:
        wait_for_others(cursor)
        state = preflight.read(cursor)
        if state.own_schema:
            outbox.check_whole(cursor)
            preflight.check_role(state)
        else:
            preflight.check(cursor, replace=False)
            chunks, totals = source(options, _quiet)
            events = fill(cursor, chunks, totals, options, _quiet)
            return LoadReport(totals, events, time.monotonic() - started)
    try:
        migrate(connection_parameters, refresh_s=refresh_s)
    finally:
        # Whatever became of the migration: the connector may need its new password.
        with transaction(connection_parameters) as cursor:
            grant_role(cursor, options.connector_password)
    return None


def _quiet(*_: object) -> None:
    pass
