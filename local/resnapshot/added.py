"""Brings a running connector to another set of tables: those that are new to it are read, the others aren't again.

The order matters: the publication has a table before the connector asks for its changes, and the connector captures it
before it is asked to read it, so no change falls between (docs/decisions/0034).
"""

import time
from collections.abc import Callable, Mapping, Sequence

from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from db.source.signals import Reading, check_readable
from local.errors import PlatformError
from local.resnapshot.log_tables import Reader, Say, Signals, read_again
from plugins.connector_settings import SourceSettings
from plugins.source.captured import INCLUDED_TABLES, CapturedTable, shown

LOOK_S = 0.2
RESTART_S = 10


def new_tables(running: Mapping[str, str], wanted: SourceSettings) -> list[CapturedTable]:
    """Return the tables that a connector which runs as `running` doesn't capture yet; none where nothing runs.

    A connector's first start reads all of its tables by itself.
    """
    if INCLUDED_TABLES not in running:
        return []
    captured = running[INCLUDED_TABLES].split(",")
    return [table for table in wanted.tables if table.pattern not in captured and table.name not in captured]


def removed_tables(running: Mapping[str, str], wanted: SourceSettings) -> list[str]:
    """Name the tables that a connector which runs as `running` captures, and is no longer to."""
    kept = {name for table in wanted.tables for name in (table.pattern, table.name)}
    captured = running.get(INCLUDED_TABLES, "").split(",")
    return [shown(pattern) for pattern in captured if pattern and pattern not in kept]


def capture_added(
    cursor: Cursor,
    settings: SourceSettings,
    added: Sequence[CapturedTable],
    *,
    configure: Callable[[], None],
    reader: Reader,
    timeout_s: float,
    say: Say,
) -> None:
    """Let `configure` give the connector its new configuration, and have the added tables read once it has.

    Their topics and the publication are the caller's. Raises LoadError, PlatformError; run again, it goes on with the
    tables that no connector captures, so a caller that was stopped in between re-snapshots what it has added.
    """
    if settings.signal_table is None:
        raise PlatformError(
            "a table can't be added without a signal table: prepare the database (`./lake source prepare`)"
        )
    for captured in added:
        check_readable(cursor, settings.database_user, (captured.schema, captured.table), captured.leave_out)
    before = slot_session(cursor, settings.slot_name)
    configure()
    _await_other_session(cursor, settings.slot_name, before, reader, timeout_s)
    schema, _, table = settings.signal_table.partition(".")
    readings = [Reading(table=(captured.schema, captured.table), pattern=captured.pattern) for captured in added]
    if readings:
        signals = Signals(
            table=(schema, table),
            publication=settings.publication_name,
            role=settings.database_user,
            left_out={(captured.schema, captured.table): captured.leave_out for captured in added},
        )
        read_again(cursor, signals, readings, reader, timeout_s=timeout_s, say=say)


def slot_session(cursor: Cursor, slot: str) -> int | None:
    """Return the process that serves the slot's reader."""
    cursor.execute("SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s", (slot,))
    found = cursor.fetchone()
    return found[0] if found else None


def _await_other_session(cursor: Cursor, slot: str, before: int | None, reader: Reader, timeout_s: float) -> None:
    """Wait until the connector reads the slot by its new configuration: it passes over what it isn't to capture."""
    started = time.monotonic()
    while (now := slot_session(cursor, slot)) is None or now == before:
        waited = time.monotonic() - started
        # Right after its start it may still say why it had failed before.
        if waited > RESTART_S and (reason := reader.failure()):
            raise PlatformError(f"the connector has failed: {reason}")
        if waited > timeout_s:
            raise PlatformError(
                f"the connector doesn't read by its new tables after {timeout_s:.0f} s: see the connector's log"
            )
        time.sleep(LOOK_S)
