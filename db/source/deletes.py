"""Finds keys that no longer exist at the source, as of a position in the log.

Our own event deletes a row that only the lake has. Its position must be newer than everything the lake was sent about
the row, and older than the event of a writer who inserts the key at this moment. So the position is taken first; then
all open transactions are waited for; and only then are the keys looked up. A transaction that the lookup doesn't see
began after the position was taken, so its changes come after it (docs/decisions/0034).
"""

import time
from collections.abc import Iterable, Sequence

from psycopg2 import sql

from db.connecting import Cursor, LoadError, value
from db.source.inspection import read_tables

LOOK_S = 0.2
Name = tuple[str, str]
Key = tuple[str, ...]


def horizon_lsn(cursor: Cursor, *, timeout_s: float) -> int:
    """Return a log position, once all transactions that may have written before it have ended.

    `cursor` is in autocommit. Changes that a later statement doesn't see are after the position, never at it. Raises
    LoadError if a transaction stays open for longer than `timeout_s`.
    """
    position = value(cursor, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn - 1")
    # Our own id is higher than those of all open transactions; a snapshot's xmax only exceeds the last ended one.
    first_later = value(cursor, "SELECT pg_current_xact_id()::text")
    # All transactions before that one have ended, including prepared ones.
    ended = "SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8"
    deadline = time.monotonic() + timeout_s
    while not value(cursor, ended, [first_later]):
        if time.monotonic() > deadline:
            raise LoadError(
                f"a transaction is open for more than {timeout_s:.0f} s (docs/aws/alarms.md#replication-slot-lag):"
                " end it and run this again"
            )
        time.sleep(LOOK_S)
    return int(position)


def deleted_keys(cursor: Cursor, table: Name, key: Sequence[str], keys: Iterable[Key]) -> list[Key]:
    """Return the `keys` that have no row in the table; a key is its columns' values as text.

    Raises LoadError for a missing column.
    """
    columns = {column.name: column for one in read_tables(cursor, [table]).values() for column in one.columns}
    if missing := [name for name in key if name not in columns]:
        raise LoadError(f"the source's table {'.'.join(table)} has no column {', '.join(missing)}")
    names = [sql.Identifier(f"k{number}") for number in range(len(key))]
    # Equal values with different texts are two keys in the lake: citext's 'A' and 'a'.
    same = [
        sql.SQL("t.{0} OPERATOR({1}.=) g.{2}::{3} AND concat(t.{0}) = concat(g.{2}::{3})").format(
            sql.Identifier(column.name), sql.Identifier(column.type.operators), name, sql.SQL(column.type_text)
        )
        for column, name in zip(map(columns.__getitem__, key), names, strict=True)
    ]
    query = sql.SQL(
        "SELECT g.place FROM unnest({given}) WITH ORDINALITY AS g({names}, place)"
        " WHERE NOT EXISTS (SELECT FROM {table} t WHERE {same}) ORDER BY 1"
    )
    parts = {"names": sql.SQL(", ").join(names), "table": sql.Identifier(*table), "same": sql.SQL(" AND ").join(same)}
    wanted = [*keys]
    given = [sql.SQL("{}::text[]").format(sql.Literal(list(values))) for values in zip(*wanted, strict=True)]
    cursor.execute(query.format(given=sql.SQL(", ").join(given), **parts))
    return [wanted[place - 1] for (place,) in cursor.fetchall()]
