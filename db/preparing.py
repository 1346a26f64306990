"""Loads a database once: a database that is prepared stays as it is. For deployments, which ask again and again."""

import time
from collections.abc import Mapping
from typing import Any, get_args

from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from db import preflight
from db.connecting import LOCK_TIMEOUT_S
from db.errors import LoadError
from db.loading import SQL_FOLDER, LoadOptions, LoadReport, Mode, fill, grant_role, source, transaction
from db.tables import SCHEMA

# Any number will do, as long as every preparation takes the same.
ADVISORY_LOCK = 10_248
RELATIONS = ("cdc_events", "cdc_heartbeat", "outbox_gate", "outbox_pending")


def prepare(connection_parameters: Mapping[str, Any], options: LoadOptions) -> LoadReport | None:
    """Load the database, or return None where that is done already.

    Then only the connector's role changes: it has the password and rights that it should have. What the tables hold is
    its users' by then: sample data and scale no longer count. Raises LoadError when a schema of that name is there
    that isn't whole, or whose outbox is written in another mode; the database is then as it was.
    """
    started = time.monotonic()
    with transaction(connection_parameters) as cursor:
        _wait_for_others(cursor)
        if preflight.has_schema(cursor):
            _check_prepared(cursor, options.mode)
            grant_role(cursor, options.connector_password)
            return None
        preflight.check(cursor, replace=False)
        chunks, totals = source(options, _quiet)
        events = fill(cursor, chunks, totals, options, _quiet)
    return LoadReport(totals, events, time.monotonic() - started)


def _wait_for_others(cursor: Cursor) -> None:
    """One preparation at a time: a request that comes twice finds the work of the first done."""
    cursor.execute("SET LOCAL lock_timeout = 0")
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
    cursor.execute("SET LOCAL lock_timeout = %s", (f"{LOCK_TIMEOUT_S}s",))


def _check_prepared(cursor: Cursor, mode: Mode) -> None:
    missing = [f"the table {SCHEMA}.{name}" for name in RELATIONS if not _has_relation(cursor, name)]
    if not preflight.has_publication(cursor):
        missing.append(f"the publication {preflight.PUBLICATION}")
    if missing:
        raise LoadError(
            f"the schema {SCHEMA} is there, but not {', not '.join(missing)}: drop the schema if you don't need it,"
            " or load it anew with `python -m db.load --replace`"
        )
    present = outbox_mode(cursor)
    if present != mode:
        raise LoadError(
            f"the outbox is there in mode {present or 'unknown'}, and mode {mode} is asked for: set outbox_mode back,"
            f" or stop the connector and load anew with `python -m db.load --replace --mode {mode}`"
        )


def _has_relation(cursor: Cursor, name: str) -> bool:
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.{name}",))
    return cursor.fetchone() == (True,)


def outbox_mode(cursor: Cursor) -> Mode | None:
    """Tell in which mode this database's outbox is written, by the one function that differs; None: in neither."""
    cursor.execute(
        "SELECT prosrc FROM pg_proc WHERE proname = 'outbox_changed' AND pronamespace = %s::regnamespace", (SCHEMA,)
    )
    (body,) = cursor.fetchone() or ("",)
    modes: tuple[Mode, ...] = get_args(Mode)
    for mode in modes:
        if body and body in (SQL_FOLDER / f"05_outbox_{mode}.sql").read_text(encoding="utf-8"):
            return mode
    return None


def _quiet(step: str, done: int, total: int) -> None:
    """Nobody is watching."""
