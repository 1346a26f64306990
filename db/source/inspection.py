"""Reads what a pipeline needs from a database's catalogue (catalogue.py).

A few queries, however many tables there are: a table's columns refer to types by number, and each type and each length
of it (`atttypmod`) is described once. Nothing is written, and no row of a user's table is read. Catalogues and
functions are those of PostgreSQL 14 to 18 ("System Catalogs").
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import psycopg2

from contract.column_types.catalogue import TYPES, ColumnType, column_types
from db.connecting import Connection, Cursor, LoadError, explain, rows, value
from db.source import catalogue_queries as queries
from db.source.catalogue import (
    IDENTITIES,
    KINDS,
    SYSTEM_COLUMNS,
    Column,
    Database,
    Leaf,
    Server,
    Table,
    TableName,
    UniqueIndex,
)


def inspect(connection: Connection, schemas: Sequence[str] = ()) -> Database:
    """Read the database's catalogue, of these schemas or of all user schemas. Raises LoadError.

    All in one transaction that sees one state.
    """
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(queries.SERVER)
            (server,) = rows(cursor)
            tables = _tables(cursor, {"schemas": list(schemas), "names": None, "role": None})
            sequences = value(cursor, queries.SEQUENCES, {"schemas": list(schemas)})
            return Database(server=Server(**server), tables=tables, sequences=int(sequences))
    except UnicodeDecodeError as error:
        # A database in SQL_ASCII accepts any bytes.
        raise LoadError("cannot read the catalogue: a name in it isn't UTF-8, and nothing could name it") from error
    except psycopg2.Error as error:
        raise LoadError(f"cannot read the catalogue: {explain(error)}") from error


def read_tables(
    cursor: Cursor, names: Collection[tuple[str, str]], role: str | None = None
) -> dict[tuple[str, str], Table]:
    """Read those of the tables, by schema and name, that exist, and the rights of the role (or our user)."""
    schemas, relations = [schema for schema, _ in names], [name for _, name in names]
    found = _tables(cursor, {"schemas": schemas, "names": relations, "role": role})
    return {(table.name.schema, table.name.name): table for table in found}


def _tables(cursor: Cursor, asked: Mapping[str, Any]) -> tuple[Table, ...]:
    cursor.execute(queries.RELATIONS, {**asked, "system": list(SYSTEM_COLUMNS)})
    relations = list(rows(cursor))
    roots = [row for row in relations if row["oid"] == row["root"]]
    columns = _columns(cursor, [row["oid"] for row in roots], asked["role"])
    indexes = _indexes(cursor, [row["oid"] for row in relations])
    partitions: dict[int, list[Leaf]] = {}
    for row in relations:
        if row["oid"] != row["root"]:
            partitions.setdefault(row["root"], []).append(Leaf(**_leaf(row, indexes)))
    return tuple(
        Table(
            **_leaf(row, indexes),
            kind=KINDS[row.pop("kind")],
            parents=tuple(TableName(*parent) for parent in row.pop("parents") or ()),
            columns=tuple(columns.get(row["oid"], ())),
            partitions=tuple(partitions.get(row.pop("root"), ())),
            **row,
        )
        for row in roots
    )


def _leaf(row: dict[str, Any], indexes: Mapping[int, Sequence[UniqueIndex]]) -> dict[str, Any]:
    """Extract a leaf's fields from a row."""
    return {
        "name": TableName(row.pop("schema"), row.pop("name")),
        "sql": row.pop("sql"),
        "identity": IDENTITIES[row.pop("identity")],
        "unlogged": row.pop("unlogged"),
        "indexes": tuple(indexes.get(row["oid"], ())),
    }


def _columns(cursor: Cursor, relations: list[int], role: str | None) -> dict[int, list[Column]]:
    """Read the columns of relations, in order. Types are read once, with their component types."""
    cursor.execute(queries.COLUMNS, {"relations": relations, "role": role})
    found = list(rows(cursor))
    types = types_of(cursor, {row["type"] for row in found})
    texts = type_texts(cursor, {(row["type"], row["modifier"]) for row in found})
    columns: dict[int, list[Column]] = {}
    for row in found:
        relation, oid = row.pop("relation"), row.pop("type")
        column = Column(type=types[oid], type_text=texts[oid, row["modifier"]], **row)
        columns.setdefault(relation, []).append(column)
    return columns


def types_of(cursor: Cursor, wanted: set[int]) -> dict[int, ColumnType]:
    """Read types by their numbers, with their component types."""
    cursor.execute(TYPES.replace("{types}", "%(types)s::oid[]"), {"types": sorted(wanted)})
    return column_types(rows(cursor))


def type_texts(cursor: Cursor, wanted: set[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Format types with their modifiers, such as `numeric(10,2)`."""
    pairs = sorted(wanted)
    cursor.execute(queries.TYPE_TEXTS, {"types": [oid for oid, _ in pairs], "modifiers": [mod for _, mod in pairs]})
    return {(oid, modifier): text for oid, modifier, text in cursor.fetchall()}


def _indexes(cursor: Cursor, relations: list[int]) -> dict[int, list[UniqueIndex]]:
    cursor.execute(queries.UNIQUE_INDEXES, {"relations": relations})
    found: dict[int, list[UniqueIndex]] = {}
    for row in rows(cursor):
        relation = row.pop("relation")
        found.setdefault(relation, []).append(UniqueIndex(**{**row, "columns": tuple(row["columns"])}))
    return found
