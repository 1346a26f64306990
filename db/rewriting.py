"""Rewrites outbox rows, so that each creates an event with a new log position, and deletes of missing rows.

Row locks order a key's events (docs/decisions/0021): rows written here are newer than any earlier event, and older
than a writer's next one. Nothing here waits for a lock while it holds one, so no writer can deadlock with it.
All functions need a connection in autocommit and raise LoadError.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence

import psycopg2
from psycopg2 import errors, sql
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract.source import OUTBOX_TABLE, SCHEMA
from db.connecting import LoadError, explain

KEY = "order_id"
OUTBOX = sql.Identifier(SCHEMA, OUTBOX_TABLE)
PIECE_ROWS = 200
MESSAGE_BYTES = 4_000_000
# Prefix of messages that advance the log position by the byte; decoding ignores them.
MESSAGE_PREFIX = "resnapshot"


def select_keys(cursor: Cursor, where: str | None) -> list[int]:
    """Return the keys of the outbox's rows, or of those that match a WHERE condition, in order."""
    condition = sql.SQL("" if where is None else f" WHERE ({where}\n)")
    query = sql.SQL("SELECT {} FROM {}{} ORDER BY 1").format(sql.Identifier(KEY), OUTBOX, condition)
    with _condition_explained(where), _read_only(cursor):
        cursor.execute(query)
        return [key for (key,) in cursor.fetchall()]


def select_matching(cursor: Cursor, rows: str, where: str) -> list[int]:
    """Return the keys of those of `rows`, a JSON array of outbox rows, that match the condition."""
    query = sql.SQL("SELECT {} FROM jsonb_populate_recordset(NULL::{}, {}) AS {} WHERE ({}\n) ORDER BY 1").format(
        sql.Identifier(KEY), OUTBOX, sql.Literal(rows), sql.Identifier(OUTBOX_TABLE), sql.SQL(where)
    )
    with _condition_explained(where), _read_only(cursor):
        cursor.execute(query)
        return [key for (key,) in cursor.fetchall()]


def present(cursor: Cursor, keys: Iterable[int]) -> list[int]:
    """Return those of the keys that have a row now."""
    query = sql.SQL("SELECT {key} FROM {outbox} WHERE {key} = ANY(%s)").format(key=sql.Identifier(KEY), outbox=OUTBOX)
    with _explained("cannot read the outbox's keys"):
        cursor.execute(query, (list(keys),))
        return [key for (key,) in cursor.fetchall()]


def too_large(cursor: Cursor, keys: Sequence[int], limit: int) -> dict[int, int]:
    """Return the rows whose event would have more than `limit` bytes: key → approximate size."""
    found: dict[int, int] = {}
    with _explained("cannot measure the outbox's rows"):
        for piece in _pieces(keys):
            cursor.execute(
                # Documents travel as strings inside JSON: with each quote escaped.
                sql.SQL(
                    "SELECT * FROM (SELECT {key}, octet_length(to_jsonb(row_to_json(e)::text)::text) AS size"
                    " FROM {outbox} e WHERE {key} = ANY(%s)) AS row WHERE size > %s"
                ).format(key=sql.Identifier(KEY), outbox=OUTBOX),
                (piece, limit),
            )
            found.update(cursor.fetchall())
    return found


def rewrite_rows(cursor: Cursor, keys: Sequence[int]) -> None:
    """Rewrite these rows unchanged, so that each creates an event; rows deleted meanwhile need none.

    Rows that a writer holds come last, and are waited for while holding no other row.
    """
    key = sql.Identifier(KEY)
    statement = sql.SQL(
        "WITH free AS (SELECT {key} FROM {outbox} WHERE {key} = ANY(%s) ORDER BY {key} FOR UPDATE SKIP LOCKED)"
        " UPDATE {outbox} e SET {key} = e.{key} FROM free WHERE e.{key} = free.{key} RETURNING e.{key}"
    ).format(key=key, outbox=OUTBOX)
    held: list[int] = []
    with _explained("cannot rewrite the outbox's rows"):
        for piece in _pieces(keys):
            cursor.execute(statement, (piece,))
            written = {row[0] for row in cursor.fetchall()}
            held += [number for number in piece if number not in written]
        for number in held:
            _rewrite_row(cursor, number)


def _rewrite_row(cursor: Cursor, number: int) -> None:
    statement = sql.SQL("UPDATE {outbox} SET {key} = {key} WHERE {key} = %s").format(
        key=sql.Identifier(KEY), outbox=OUTBOX
    )
    try:
        cursor.execute(statement, (number,))
    except errors.LockNotAvailable as error:
        raise LoadError(
            f"{KEY} {number} is locked by a transaction that doesn't end: see pg_locks, end it and run this again"
        ) from error


def emit_deletes(cursor: Cursor, keys: Sequence[int]) -> None:
    """Create a delete event for each key without a row, by inserting and deleting a row in one transaction.

    A row that another session inserts meanwhile, before or after, stays; the primary key decides the order.
    """
    insert = sql.SQL("INSERT INTO {} ({}) VALUES (%s) ON CONFLICT DO NOTHING").format(OUTBOX, sql.Identifier(KEY))
    delete = sql.SQL("DELETE FROM {} WHERE {} = %s").format(OUTBOX, sql.Identifier(KEY))
    with _explained("cannot make the delete events"):
        for key in keys:
            with _transaction(cursor):
                cursor.execute(insert, (key,))
                if cursor.rowcount == 1:
                    cursor.execute(delete, (key,))


def wal_position(cursor: Cursor) -> int:
    """Return the minimum position of the log's next change."""
    with _explained("cannot read the log's position"):
        cursor.execute("SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint")
        (position,) = cursor.fetchone() or (0,)
    return int(position)


def advance_wal(cursor: Cursor, position: int) -> None:
    """Write messages that no consumer reads to the log until it has reached `position`."""
    with _explained("cannot advance the log"):
        now = wal_position(cursor)
        while now < position:
            size = min(MESSAGE_BYTES, position - now)
            cursor.execute(
                "SELECT pg_logical_emit_message(FALSE, %s, repeat('-', %s))",
                (MESSAGE_PREFIX, size),
            )
            now = wal_position(cursor)


def _pieces(keys: Sequence[int]) -> Iterator[list[int]]:
    for start in range(0, len(keys), PIECE_ROWS):
        yield list(keys[start : start + PIECE_ROWS])


@contextlib.contextmanager
def _transaction(cursor: Cursor) -> Iterator[None]:
    cursor.execute("BEGIN")
    try:
        yield
    except BaseException:
        if cursor.connection.closed == 0:
            cursor.execute("ROLLBACK")
        raise
    cursor.execute("COMMIT")


@contextlib.contextmanager
def _read_only(cursor: Cursor) -> Iterator[None]:
    """Run the user's condition read-only."""
    cursor.execute("BEGIN READ ONLY")
    try:
        yield
    finally:
        if cursor.connection.closed == 0:
            cursor.execute("ROLLBACK")


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except psycopg2.Error as error:
        raise LoadError(f"{what}: {explain(error)}") from error


@contextlib.contextmanager
def _condition_explained(where: str | None) -> Iterator[None]:
    try:
        yield
    except psycopg2.Error as error:
        raise LoadError(f"--where {where}: {explain(error)}" if where else explain(error)) from error
