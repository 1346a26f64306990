"""Prepares a deployment's database: loads it once, and later keeps its outbox up to date in place."""

import time
from collections.abc import Mapping
from typing import Any

from db import outbox, preflight
from db.loading import LoadOptions, LoadReport, fill, grant_role, source, transaction
from db.migrating import migrate, wait_for_others


def prepare(
    connection_parameters: Mapping[str, Any], options: LoadOptions, *, refresh_s: float | None = None
) -> LoadReport | None:
    """Load the database, or return None if that is done already.

    Then migrate its outbox to this code's version, and set the password and rights of the connector's role. By then the
    tables belong to their users: sample data and scale no longer count. Raises LoadError for an incomplete schema of
    that name or if the connector's role is an administrator, both without changes; and what `db.migrating.migrate`
    raises, which gets `refresh_s`.
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
        # Even if the migration failed: the connector may need its new password.
        with transaction(connection_parameters) as cursor:
            grant_role(cursor, options.connector_password)
    return None


def _quiet(*_: object) -> None:
    pass
