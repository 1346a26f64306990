"""Rewrites outbox rows, so that each creates an event with a new log position, and deletes of missing rows.

Row locks order a key's events (docs/decisions/0021): rows written here are newer than any earlier event, and older
than a writer's next one. Nothing here waits for a lock while it holds one, so no writer can deadlock with it.
All functions need a connection in autocommit and raise LoadError.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence

import psycopg2
from psycopg2 import errors

from contract.source import OUTBOX_TABLE, SCHEMA
from db.connecting import Cursor, LoadError, check_query, explain, value

KEY = "order_id"
OUTBOX = f"{SCHEMA}.{OUTBOX_TABLE}"
PIECE_ROWS = 200
MESSAGE_BYTES = 4_000_000
# Prefix of messages that advance the log position by the byte; decoding ignores them.
MESSAGE_PREFIX = "resnapshot"


def select_keys(cursor: Cursor, where: str | None) -> list[int]:
    """Return the keys of the outbox's rows, or of those that match a WHERE condition, in order."""
    condition = "" if where is None else f" WHERE ({where}\n)"
    return _select(cursor, f"SELECT {KEY} FROM {OUTBOX}{condition}", where)


def select_matching(cursor: Cursor, rows: str, where: str) -> list[int]:
    """Return the keys of those of `rows`, a JSON array of outbox rows, that match the condition."""
    given = cursor.mogrify("%s", [rows]).decode()
    populated = f"jsonb_populate_recordset(NULL::{OUTBOX}, {given}) AS {OUTBOX_TABLE}"
    return _select(cursor, f"SELECT {KEY} FROM {populated} WHERE ({where}\n)", where)


def _select(cursor: Cursor, query: str, where: str | None) -> list[int]:
    """Run a query with the user's condition in it, which may not write."""
    what = "cannot read the outbox's keys" if where is None else f"--where {where}"
    with _explained(what), _transaction(cursor, "READ ONLY"):
        check_query(cursor, query, search_path=f"{SCHEMA}, public")
        cursor.execute(f"{query} ORDER BY 1")
        return [key for (key,) in cursor.fetchall()]


def present(cursor: Cursor, keys: Iterable[int]) -> list[int]:
    """Return those of the keys that have a row now."""
    with _explained("cannot read the outbox's keys"):
        cursor.execute(f"SELECT {KEY} FROM {OUTBOX} WHERE {KEY} = ANY(%s)", (list(keys),))
        return [key for (key,) in cursor.fetchall()]


def too_large(cursor: Cursor, keys: Sequence[int], limit: int) -> dict[int, int]:
    """Return the rows whose event would have more than `limit` bytes: key → approximate size."""
    found: dict[int, int] = {}
    with _explained("cannot measure the outbox's rows"):
        for piece in _pieces(keys):
            cursor.execute(
                # Documents travel as strings inside JSON: with each quote escaped.
                f"SELECT * FROM (SELECT {KEY}, octet_length(to_jsonb(row_to_json(e)::text)::text) AS size"
                f" FROM {OUTBOX} e WHERE {KEY} = ANY(%s)) AS row WHERE size > %s",
                (piece, limit),
            )
            found.update(cursor.fetchall())
    return found


def rewrite_rows(cursor: Cursor, keys: Sequence[int]) -> None:
    """Rewrite these rows unchanged, so that each creates an event; rows deleted meanwhile need none.

    Rows that a writer holds come last, and are waited for while holding no other row.
    """
    statement = (
        f"WITH free AS (SELECT {KEY} FROM {OUTBOX} WHERE {KEY} = ANY(%s) ORDER BY {KEY} FOR UPDATE SKIP LOCKED)"
        f" UPDATE {OUTBOX} e SET {KEY} = e.{KEY} FROM free WHERE e.{KEY} = free.{KEY} RETURNING e.{KEY}"
    )
    held: list[int] = []
    with _explained("cannot rewrite the outbox's rows"):
        for piece in _pieces(keys):
            cursor.execute(statement, (piece,))
            written = {row[0] for row in cursor.fetchall()}
            held += [number for number in piece if number not in written]
        for number in held:
            _rewrite_row(cursor, number)


def _rewrite_row(cursor: Cursor, number: int) -> None:
    try:
        cursor.execute(f"UPDATE {OUTBOX} SET {KEY} = {KEY} WHERE {KEY} = %s", (number,))
    except errors.LockNotAvailable as error:
        raise LoadError(
            f"{KEY} {number} is locked by a transaction that doesn't end: see pg_locks, end it and run this again"
        ) from error


def emit_deletes(cursor: Cursor, keys: Sequence[int]) -> None:
    """Create a delete event for each key without a row, by inserting and deleting a row in one transaction.

    A row that another session inserts meanwhile, before or after, stays; the primary key decides the order.
    """
    with _explained("cannot make the delete events"):
        for key in keys:
            with _transaction(cursor):
                cursor.execute(f"INSERT INTO {OUTBOX} ({KEY}) VALUES (%s) ON CONFLICT DO NOTHING", (key,))
                if cursor.rowcount == 1:
                    cursor.execute(f"DELETE FROM {OUTBOX} WHERE {KEY} = %s", (key,))


def wal_position(cursor: Cursor) -> int:
    """Return the minimum position of the log's next change."""
    with _explained("cannot read the log's position"):
        return int(value(cursor, "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"))


def advance_wal(cursor: Cursor, position: int) -> None:
    """Write messages that no consumer reads to the log until it has reached `position`."""
    with _explained("cannot advance the log"):
        now = wal_position(cursor)
        while now < position:
            size = min(MESSAGE_BYTES, position - now)
            cursor.execute("SELECT pg_logical_emit_message(FALSE, %s, repeat('-', %s))", (MESSAGE_PREFIX, size))
            now = wal_position(cursor)


def _pieces(keys: Sequence[int]) -> Iterator[list[int]]:
    for start in range(0, len(keys), PIECE_ROWS):
        yield list(keys[start : start + PIECE_ROWS])


@contextlib.contextmanager
def _transaction(cursor: Cursor, mode: str = "READ WRITE") -> Iterator[None]:
    cursor.execute(f"BEGIN {mode}")
    try:
        yield
    except BaseException:
        if cursor.connection.closed == 0:
            cursor.execute("ROLLBACK")
        raise
    cursor.execute("COMMIT")


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except psycopg2.Error as error:
        raise LoadError(f"{what}: {explain(error)}") from error
