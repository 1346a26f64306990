"""Reads from a database's catalogue what a pipeline has to know of it (capture/catalogue.py).

A few queries, however many tables there are: a table's columns refer to types by number, and each type and each length
of it (`atttypmod`) is described once. Nothing is written, and no row of a user's table is read. Catalogues and
functions are those of PostgreSQL 14 to 18 ("System Catalogs").
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name
from psycopg2.extensions import cursor as Cursor  # noqa: N812

from capture import catalogue_queries as queries
from capture.catalogue import (
    IDENTITIES,
    KINDS,
    Column,
    Database,
    Partition,
    Publication,
    Server,
    Table,
    TableName,
    UniqueIndex,
)
from contract.column_types.catalogue import TYPES, ColumnType, column_types
from db.errors import LoadError, explain


def inspect(connection: Connection, schemas: Sequence[str] = ()) -> Database:
    """Read the database's catalogue, of these schemas or of all that are users' own. Raises LoadError.

    All in one transaction that sees one state.
    """
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # What an unqualified name means to us is nobody's business: names come qualified, and types by number.
            cursor.execute("SET LOCAL search_path = pg_catalog")
            return Database(
                server=_server(cursor),
                tables=_tables(cursor, list(schemas)),
                sequences=_sequences(cursor, list(schemas)),
                publications=_publications(cursor),
            )
    except UnicodeDecodeError as error:
        # A database in SQL_ASCII takes any bytes.
        raise LoadError("cannot read the catalogue: a name in it isn't UTF-8, and nothing could name it") from error
    except psycopg2.Error as error:
        raise LoadError(f"cannot read the catalogue: {explain(error)}") from error


def _server(cursor: Cursor) -> Server:
    cursor.execute(queries.SERVER)
    (row,) = _rows(cursor)
    return Server(**row)


def _sequences(cursor: Cursor, schemas: list[str]) -> int:
    cursor.execute(queries.SEQUENCES, {"schemas": schemas})
    (count,) = cursor.fetchone() or (0,)
    return int(count)


def _publications(cursor: Cursor) -> dict[str, Publication]:
    cursor.execute(queries.PUBLICATIONS)
    return {
        row["name"]: Publication(
            name=row["name"],
            all_tables=row["all_tables"],
            via_root=row["via_root"],
            operations=frozenset(row["operations"]),
            tables=frozenset(TableName(*table) for table in row["tables"]),
        )
        for row in _rows(cursor)
    }


def _tables(cursor: Cursor, schemas: list[str]) -> tuple[Table, ...]:
    cursor.execute(queries.RELATIONS, {"schemas": schemas})
    relations = list(_rows(cursor))
    # A foreign table may be a partition of one of ours, and stays a relation of its own.
    roots = {row["oid"]: row for row in relations if row["root"] is None}
    partitions: dict[int, list[Partition]] = {}
    for row in relations:
        if row["root"] is not None and row["kind"] != "p":
            partitions.setdefault(row["root"], []).append(_partition(row))
    columns = _columns(cursor, list(roots))
    indexes = _indexes(cursor, list(roots))
    return tuple(
        _table(row, columns.get(oid, ()), indexes.get(oid, ()), partitions.get(oid, ())) for oid, row in roots.items()
    )


def _partition(row: Mapping[str, Any]) -> Partition:
    return Partition(
        name=TableName(row["schema"], row["name"]),
        identity=IDENTITIES[row["identity"]],
        has_primary_key=row["has_primary_key"],
    )


def _table(
    row: Mapping[str, Any], columns: Sequence[Column], indexes: Sequence[UniqueIndex], partitions: Sequence[Partition]
) -> Table:
    return Table(
        name=TableName(row["schema"], row["name"]),
        kind=KINDS[row["kind"]],
        unlogged=row["unlogged"],
        identity=IDENTITIES[row["identity"]],
        row_security=row["row_security"],
        owner=row["owner"],
        owned=row["owned"],
        readable=any(column.readable for column in columns),
        rows=row["rows"],
        parents=tuple(TableName(*parent) for parent in row["parents"] or ()),
        has_children=row["has_children"],
        columns=tuple(columns),
        indexes=tuple(indexes),
        partitions=tuple(partitions),
    )


def _columns(cursor: Cursor, relations: list[int]) -> dict[int, list[Column]]:
    """Read the columns of relations, in order. Types are read once, with what they are made of."""
    cursor.execute(queries.COLUMNS, {"relations": relations})
    found = cursor.fetchall()
    types = types_of(cursor, {row[3] for row in found})
    texts = type_texts(cursor, {(row[3], row[4]) for row in found})
    columns: dict[int, list[Column]] = {}
    for relation, name, position, type_oid, modifier, nullable, has_default, generated, toastable, readable in found:
        columns.setdefault(relation, []).append(
            Column(
                name=name,
                position=position,
                type=types[type_oid],
                modifier=modifier,
                type_text=texts[type_oid, modifier],
                nullable=nullable,
                has_default=has_default,
                generated=generated,
                toastable=toastable,
                readable=readable,
            )
        )
    return columns


def types_of(cursor: Cursor, wanted: set[int]) -> dict[int, ColumnType]:
    """Read types by their numbers, with what they are made of."""
    cursor.execute(TYPES.replace("{types}", "%(types)s::oid[]"), {"types": sorted(wanted)})
    return column_types(_rows(cursor))


def type_texts(cursor: Cursor, wanted: set[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Write types with their modifiers, such as `numeric(10,2)`."""
    pairs = sorted(wanted)
    cursor.execute(queries.TYPE_TEXTS, {"types": [oid for oid, _ in pairs], "modifiers": [mod for _, mod in pairs]})
    return {(oid, modifier): text for oid, modifier, text in cursor.fetchall()}


def _indexes(cursor: Cursor, relations: list[int]) -> dict[int, list[UniqueIndex]]:
    cursor.execute(queries.UNIQUE_INDEXES, {"relations": relations})
    found: dict[int, list[UniqueIndex]] = {}
    for row in _rows(cursor):
        relation = row.pop("relation")
        found.setdefault(relation, []).append(UniqueIndex(**{**row, "columns": tuple(row["columns"])}))
    return found


def _rows(cursor: Cursor) -> Iterator[dict[str, Any]]:
    names = [column.name for column in cursor.description or ()]
    for row in cursor.fetchall():
        yield dict(zip(names, row, strict=True))
