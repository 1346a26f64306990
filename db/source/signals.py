"""Asks a running source connector for a snapshot of tables, or of some of their rows, through its signal table.

Debezium 3.7 reads a signal from the log ("Sending signals to a Debezium connector"). It ignores a signal that it can't
follow with only a line in its log, so tables and condition are checked first (docs/decisions/0034).
"""

import json
import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import psycopg2
from psycopg2 import errors, sql

from contract.table_names import listed
from db.connecting import Cursor, LoadError, check_query, explain, value
from db.source.inspection import read_tables

# Maximum of rows that one signal names by their keys: a condition of some 100 KB.
KEYS_PER_SIGNAL = 1_000
# A connector that restarts during an incremental snapshot reads the tables' names from its offset, without quotes,
# and fails for good on any other ("Unexpected input", TableIdParser of 3.7). A blocking one leaves no name there.
_READABLE = re.compile(r"\w+\Z")
ODD_NAME = (
    "Debezium 3.7 fails on a name that is more than letters, digits and underscores: leave --where out, and all of it"
    " is read while the other tables wait (docs/your-database/repair.md)"
)
Name = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A table, by schema and name, whose rows are to be read again: all, or those that match an SQL condition.

    `pattern` is Debezium's of the table. It is used if a signal can't spell the name; then all other tables wait.
    """

    table: Name
    where: str | None = None
    pattern: str | None = None

    @property
    def blocks(self) -> bool:
        """Whether the connector reads nothing else meanwhile."""
        return not can_name(self.table)

    @property
    def shown(self) -> str:
        """The table's name as messages have it."""
        return ".".join(self.table)


def ask_for_snapshot(cursor: Cursor, signal_table: Name, readings: Sequence[Reading], *, publication: str) -> int:
    """Ask for a snapshot; return a log position after the request. Raises LoadError.

    Either all readings block, or none does. First checks, without reading a row, that tables and conditions are valid
    and published.
    """
    for reading in readings:
        check(cursor, reading)
    _check_published(cursor, publication, [signal_table, *(reading.table for reading in readings)])
    try:
        cursor.execute(
            sql.SQL("INSERT INTO {} VALUES (%s, 'execute-snapshot', %s)").format(sql.Identifier(*signal_table)),
            (str(uuid.uuid4()), json.dumps(_data(readings), ensure_ascii=False)),
        )
        position = value(cursor, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    except errors.UndefinedTable as error:
        raise LoadError(
            f"there is no signal table {'.'.join(signal_table)}: prepare the database (`./lake source prepare`),"
            " run this again"
        ) from error
    except psycopg2.Error as error:
        raise LoadError(f"a snapshot can't be asked for in {'.'.join(signal_table)}: {explain(error)}") from error
    return int(position)


def can_name(table: Name) -> bool:
    return all(map(_READABLE.match, table))


def check(cursor: Cursor, reading: Reading) -> None:
    """Raise LoadError for a table that can't be read in this way, and for a condition that PostgreSQL rejects."""
    if reading.blocks and (reading.where is not None or reading.pattern is None):
        raise LoadError(f"{reading.shown} can't be read again by an incremental snapshot: {ODD_NAME}")
    # In brackets and followed by more, as in Debezium: a condition that comments out the rest is rejected.
    query = sql.SQL("SELECT FROM {} WHERE ({}) AND TRUE").format(
        sql.Identifier(*reading.table), sql.SQL("TRUE" if reading.where is None else reading.where)
    )
    try:
        # The connector's session has PostgreSQL's own path.
        check_query(cursor, query.as_string(cursor), search_path='"$user", public')
    except errors.UndefinedTable as error:
        raise LoadError(f"the source has no table {reading.shown}") from error
    except psycopg2.Error as error:
        raise LoadError(f"--where isn't a condition on {reading.shown}: {explain(error)}") from error


def check_readable(cursor: Cursor, role: str, table: Name, left_out: Collection[str]) -> None:
    """Raise LoadError unless a connector can read a table except for the columns left out.

    Debezium 3.7 drops an unreadable table from an incremental snapshot with only a line in its log. If columns are left
    out, its role can't read an added column until the database is prepared again. A generated column, which PostgreSQL
    doesn't send, is missing from Debezium's schema of the table ("Column … not found in result set").
    """
    found, name = read_tables(cursor, [table], role).get(table), ".".join(table)
    if found is None:
        return
    sent = [column for column in found.quoted if column not in left_out]
    if generated := [column for column in sent if column in found.generated]:
        raise LoadError(
            f"{name} can't be read by a snapshot: {listed(generated, 3)} is generated, and PostgreSQL doesn't send it:"
            " put it into leave_out of the pipeline's file (`./lake source describe … --update` does), then"
            " `./lake source prepare` and `./lake up` (on AWS a deployment)"
        )
    if hidden := [column for column in sent if column in found.hidden]:
        raise LoadError(
            f"the role {role} may not read {listed(hidden, 3)} of {name}: prepare the database"
            " (`./lake source prepare`), run this again"
        )


def _check_published(cursor: Cursor, publication: str, tables: Sequence[Name]) -> None:
    """Raise LoadError for tables whose changes, or signals, the connector would never receive."""
    cursor.execute("SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", (publication,))
    published = set(cursor.fetchall())
    if missing := sorted({".".join(table) for table in tables if table not in published}):
        raise LoadError(
            f"the publication {publication} lacks {', '.join(missing)}: prepare the database"
            " (`./lake source prepare`), run this again"
        )


def of_keys(cursor: Cursor, table: Name, key: Sequence[str], keys: Sequence[Sequence[str]]) -> Iterator[Reading]:
    """Yield readings of the rows of `keys`, each its columns' values as text, split by the limit of a signal."""
    columns = sql.SQL(", ").join(map(sql.Identifier, key))
    for start in range(0, len(keys), KEYS_PER_SIGNAL):
        rows = sql.SQL(", ").join(
            sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Literal, values)))
            for values in keys[start : start + KEYS_PER_SIGNAL]
        )
        condition = sql.SQL("({}) IN ({})").format(columns, rows)
        yield Reading(table=table, where=condition.as_string(cursor))


def _data(readings: Sequence[Reading]) -> Mapping[str, object]:
    if any(reading.blocks for reading in readings):
        return {"type": "blocking", "data-collections": [reading.pattern for reading in readings]}
    conditions = [
        {"data-collection": _collection(reading.table), "filter": reading.where}
        for reading in readings
        if reading.where is not None
    ]
    return {
        "type": "incremental",
        "data-collections": [_collection(reading.table) for reading in readings],
        **({"additional-conditions": conditions} if conditions else {}),
    }


def _collection(table: Name) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in table)
