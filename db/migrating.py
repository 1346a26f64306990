"""Migrates a prepared database's outbox to this code's version, in place, while its users keep writing.

First views, functions and triggers in one transaction that blocks writers for moments; then the outbox's rows,
in pieces. docs/decisions/0013 says why.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg2 import errors

from contract.source import SCHEMA
from db import outbox
from db.connecting import LOCK_TIMEOUT_S, Cursor, LaterError, NewerError, transaction, value

# An arbitrary key; every preparation takes this one.
ADVISORY_LOCK = 10_248
MAX_WAIT_S = 60.0
# Timeout for replacing views: a dump may hold them while writers queue behind us.
LOCK_WAIT_MS = 500
PAUSE_S = 1.0
# Maximum: about 0.1 s of work, during which other writers of the outbox wait. Slower pieces are reduced.
PIECE_ORDERS = 200
PIECE_MS = 800
REFRESH_PAUSE_S = 0.05
IN_THE_WAY = (errors.QueryCanceled, errors.LockNotAvailable, errors.DeadlockDetected)
NOTHING_CHANGED = "nothing was changed"
_HOLDERS = f"""
SELECT coalesce(format('pid %s (%s)', a.pid, coalesce(nullif(a.application_name, ''), a.backend_type)),
                'a prepared transaction'),
       to_char(a.xact_start, 'HH24:MI:SS')
FROM pg_locks l
JOIN pg_class c ON c.oid = l.relation AND c.relnamespace = '{SCHEMA}'::REGNAMESPACE
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.granted AND l.pid IS DISTINCT FROM pg_backend_pid() AND l.database = (
    SELECT oid FROM pg_database WHERE datname = current_database()
) AND (l.mode NOT IN ('AccessShareLock', 'RowShareLock') OR c.relkind = 'v')
-- One that has just ended keeps nobody waiting; a prepared one has no process.
AND (a.pid IS NULL OR a.xact_start IS NOT NULL)
ORDER BY a.xact_start NULLS FIRST LIMIT 1
"""


class UnfinishedError(LaterError):
    """A part is done: call again for the rest."""


@dataclass(frozen=True, kw_only=True)
class Migration:
    """A migration's result: new steps, whether anything changed, orders checked."""

    steps: tuple[str, ...]
    changed: bool
    orders: int


def migrate(
    connection_parameters: Mapping[str, Any], *, max_wait_s: float = MAX_WAIT_S, refresh_s: float | None = None
) -> Migration:
    """Migrate the outbox; do nothing if it is up to date.

    Waits up to `max_wait_s` for active writers. Raises NewerError if the database is ahead of this code; LaterError if
    writers keep the tables locked; UnfinishedError if rows are left to check after `refresh_s` seconds (None: all are
    checked); LoadError with PostgreSQL's reason, leaving the outbox unchanged.
    """
    steps, changed = _while_in_use(connection_parameters, time.monotonic() + max_wait_s)
    orders = _refresh(connection_parameters, refresh_s, max_wait_s)
    return Migration(steps=steps, changed=changed, orders=orders)


def wait_for_others(cursor: Cursor) -> None:
    """Allow one preparation at a time: a repeated request finds the first one's work done."""
    cursor.execute("SET LOCAL lock_timeout = 0")
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
    cursor.execute("SET LOCAL lock_timeout = %s", (f"{LOCK_TIMEOUT_S}s",))


def _while_in_use(parameters: Mapping[str, Any], deadline: float) -> tuple[tuple[str, ...], bool]:
    while True:
        try:
            with transaction(parameters, failing=NOTHING_CHANGED) as cursor:
                return _apply(cursor, deadline)
        except _InUseError:
            if time.monotonic() > deadline:
                raise LaterError(
                    f"the tables are in use{_holder(parameters)} ({NOTHING_CHANGED}): end it, or try again"
                ) from None
            time.sleep(PAUSE_S)


def _apply(cursor: Cursor, deadline: float) -> tuple[tuple[str, ...], bool]:
    """Return the new steps, and whether anything changed."""
    wait_for_others(cursor)
    found = outbox.present(cursor)
    if outbox.is_newer(cursor, found):
        raise NewerError(
            f"the database's outbox is of a newer version than this code ({NOTHING_CHANGED}): update the code"
        )
    target = outbox.wanted()
    if changed := found != target:
        try:
            outbox.lock(cursor, max(0.0, deadline - time.monotonic()))
            cursor.execute("SET LOCAL lock_timeout = %s", (LOCK_WAIT_MS,))
            outbox.upgrade(cursor, found)
        except IN_THE_WAY as error:
            raise _InUseError from error
    return tuple(step for step in target.steps if step not in found.steps), changed


def _refresh(parameters: Mapping[str, Any], seconds: float | None, max_wait_s: float) -> int:
    """Bring the rows up to date, in smaller pieces while others hold locks."""
    started = moved = time.monotonic()
    orders, size = 0, PIECE_ORDERS
    while (looked_at := _refresh_piece(parameters, size)) != 0:
        now = time.monotonic()
        if looked_at is None:
            if now - moved > max_wait_s:
                raise LaterError(f"outbox rows are in use{_holder(parameters)} (the rest is looked at next time)")
            size = max(size // 2, 1)
            time.sleep(REFRESH_PAUSE_S)
            continue
        moved, orders, size = now, orders + looked_at, min(size * 2, PIECE_ORDERS)
        if seconds is not None and now - started > seconds:
            raise UnfinishedError(f"{orders:,} orders' outbox rows brought up to date so far: the rest follows")
    return orders


def _refresh_piece(parameters: Mapping[str, Any], size: int) -> int | None:
    """Check up to `size` orders and return how many: 0 at the end, None if others held locks."""
    with transaction(parameters, failing="the rest is looked at next time") as cursor:
        # No piece is smaller than one order: for that there is only the limit of waiting for locks.
        cursor.execute("SET LOCAL statement_timeout = %s", (PIECE_MS if size > 1 else 0,))
        try:
            return int(value(cursor, f"SELECT {SCHEMA}.outbox_refresh_step(%s)", [size]))
        except IN_THE_WAY:
            cursor.connection.rollback()
            return None


def _holder(parameters: Mapping[str, Any]) -> str:
    with transaction(parameters, failing=NOTHING_CHANGED) as cursor:
        cursor.execute(_HOLDERS)
        row = cursor.fetchone()
    return f" by {row[0]}{f' since {row[1]}' if row[1] else ''}" if row else ""


class _InUseError(Exception):
    """Another session uses a table that we have to change."""
