"""Finds keys that no longer exist at the source, as of a position in the log.

A row that only the lake has is deleted there by an event of our own. Its position must be newer than all that the lake
was sent of the row, and older than what somebody who inserts the key at this moment writes. So the position is taken
first; every transaction that is open then is waited for; and only then the keys are looked up. A transaction that the
look doesn't see began after the position was taken, and whatever it writes is behind it (docs/decisions/0034).
"""

import time
from collections.abc import Iterable, Sequence

from psycopg2 import sql
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from db.errors import LoadError
from db.source.inspection import read_tables

LOOK_S = 0.2
KEYS_PER_LOOK = 10_000
Name = tuple[str, str]
Key = tuple[str, ...]


def horizon_lsn(cursor: Cursor, *, timeout_s: float) -> int:
    """Return a log position, once all transactions that may have written before it have ended.

    `cursor` commits by itself. Changes that a later statement doesn't see are behind the position, never at it. Raises
    LoadError when a transaction is open for longer than `timeout_s`.
    """
    cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn - 1")
    (position,) = cursor.fetchone() or (0,)
    # A snapshot's xmax is behind the last transaction that has ended, not behind those that are open: our own is.
    cursor.execute("SELECT pg_current_xact_id()::text")
    (first_later,) = cursor.fetchone() or ("0",)
    deadline = time.monotonic() + timeout_s
    while not _have_ended(cursor, first_later):
        if time.monotonic() > deadline:
            raise LoadError(
                f"a transaction is open for more than {timeout_s:.0f} s (docs/aws/alarms.md#replication-slot-lag):"
                " end it and run this again"
            )
        time.sleep(LOOK_S)
    return int(position)


def _have_ended(cursor: Cursor, first_later: str) -> bool:
    """Tell whether all transactions before that one have ended, prepared ones too."""
    cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8", (first_later,))
    (ended,) = cursor.fetchone() or (False,)
    return bool(ended)


def deleted_keys(cursor: Cursor, table: Name, key: Sequence[str], keys: Iterable[Key]) -> list[Key]:
    """Return those of `keys`, each its columns' values as text, that the table has no row of."""
    wanted = list(keys)
    gone: list[Key] = []
    for start in range(0, len(wanted), KEYS_PER_LOOK):
        gone += _deleted_keys(cursor, table, key, wanted[start : start + KEYS_PER_LOOK])
    return gone


def _deleted_keys(cursor: Cursor, table: Name, key: Sequence[str], keys: Sequence[Key]) -> list[Key]:
    if not keys:
        return []
    kinds = _types(cursor, table, key)
    given = sql.SQL(", ").join(
        sql.SQL("({}, {})").format(
            sql.Literal(number),
            sql.SQL(", ").join(
                sql.SQL("{}::{}").format(sql.Literal(value), sql.SQL(kind))
                for value, kind in zip(values, kinds, strict=True)
            ),
        )
        for number, values in enumerate(keys)
    )
    names = [sql.Identifier(f"k{number}") for number in range(len(key))]
    same = [
        sql.SQL("t.{} = g.{}").format(sql.Identifier(column), name) for column, name in zip(key, names, strict=True)
    ]
    cursor.execute(
        sql.SQL(
            "SELECT number FROM (VALUES {given}) AS g(number, {names})"
            " WHERE NOT EXISTS (SELECT FROM {table} t WHERE {same}) ORDER BY number"
        ).format(
            names=sql.SQL(", ").join(names),
            given=given,
            table=sql.Identifier(*table),
            same=sql.SQL(" AND ").join(same),
        )
    )
    return [keys[number] for (number,) in cursor.fetchall()]


def _types(cursor: Cursor, table: Name, key: Sequence[str]) -> list[str]:
    """Return the types of a table's columns as SQL writes them. Raises LoadError for a column that isn't there."""
    found = {column.name: column.type_text for one in read_tables(cursor, [table]).values() for column in one.columns}
    if missing := [name for name in key if name not in found]:
        raise LoadError(f"the source's table {'.'.join(table)} has no column {', '.join(missing)}")
    return [found[name] for name in key]
