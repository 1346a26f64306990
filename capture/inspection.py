"""Reads from a database's catalogue what a pipeline has to know of it: server, tables, columns, types, keys.

A few queries, however many tables there are: a table's columns refer to types by number, and each type and each length
of it (`atttypmod`) is described once. Nothing is written, and no row of a user's table is read. Catalogues and
functions are those of PostgreSQL 14 to 18 ("System Catalogs").
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name
from psycopg2.extensions import cursor as Cursor  # noqa: N812

from capture import catalogue_queries as queries
from db.errors import LoadError, explain

# pg_class.relkind, as far as it may hold what users call a table.
Kind = Literal["table", "partitioned table", "view", "materialized view", "foreign table"]
KINDS: Mapping[str, Kind] = {
    "r": "table",
    "p": "partitioned table",
    "v": "view",
    "m": "materialized view",
    "f": "foreign table",
}
Identity = Literal["default", "nothing", "full", "index"]
IDENTITIES: Mapping[str, Identity] = {"d": "default", "n": "nothing", "f": "full", "i": "index"}


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A relation's schema and name, as the catalogue has them: no quotes, any sign."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The server, and the role that looks at it.

    `version` is PostgreSQL's number (160014). Slots and senders: how many there may be and are. `owns_database`,
    `may_create` (a schema or publication in it): the role's rights. `hosted` is True on RDS and Aurora.
    """

    database: str
    version: int
    encoding: str
    wal_level: str
    standby: bool
    hosted: bool
    slots: int
    max_slots: int
    senders: int
    max_senders: int
    slot_keep: str
    role: str
    superuser: bool
    replication: bool
    createrole: bool
    may_create: bool
    large_objects: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """A type of the catalogue. `kind` is pg_type.typtype in words; `parts` what it is made of.

    `parts`: a domain's base, an array's elements, a range's bounds, a composite's fields: name (empty but for fields),
    type and its modifier. `labels` are an enum's. `extension`: what it came with, None for PostgreSQL's own and the
    user's.
    """

    oid: int
    schema: str
    name: str
    kind: Literal["base", "array", "composite", "domain", "enum", "range", "multirange", "pseudo"]
    parts: tuple[tuple[str, "ColumnType", int], ...] = ()
    labels: tuple[str, ...] = ()
    extension: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column. `type_text` as `format_type` writes it, such as `numeric(10,2)[]`; `modifier` is atttypmod, -1: none.

    `generated`: computed from others (stored or virtual). `toastable`: a value may be stored out of line. `readable`:
    the role that looks may read it.
    """

    name: str
    position: int
    type: ColumnType
    modifier: int
    type_text: str
    nullable: bool
    has_default: bool
    generated: bool
    toastable: bool
    readable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueIndex:
    """A unique index over whole columns of all rows. `identity`: it may be a REPLICA IDENTITY (no nullable column)."""

    name: str
    columns: tuple[str, ...]
    primary: bool
    identity: bool
    is_identity: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A leaf of a partitioned table: its own replica identity counts, not the root's."""

    name: TableName
    identity: Identity
    has_primary_key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A relation that users take for a table. `rows` is the planner's estimate (None: never analysed).

    `parents`: what it inherits from (not as a partition); `children`: whether others inherit from it. `readable`: the
    role that looks may read at least one column; `owned`: it is a member of the owner.
    """

    name: TableName
    kind: Kind
    unlogged: bool
    identity: Identity
    row_security: bool
    owner: str
    owned: bool
    readable: bool
    rows: int | None
    parents: tuple[TableName, ...]
    has_children: bool
    columns: tuple[Column, ...]
    indexes: tuple[UniqueIndex, ...]
    partitions: tuple[Partition, ...]

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The primary key's columns in its order; empty without one."""
        return next((index.columns for index in self.indexes if index.primary), ())

    def column(self, name: str) -> Column:
        """Return a column. Raises KeyError."""
        try:
            return next(column for column in self.columns if column.name == name)
        except StopIteration:
            raise KeyError(name) from None


@dataclass(frozen=True, kw_only=True)
class Database:
    """What the catalogue says. `tables` by name, without partitions, which are in their root."""

    server: Server
    tables: tuple[Table, ...]
    sequences: int
    publications: Mapping[str, "Publication"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A publication: its tables, what it publishes (insert, update, delete, truncate) and whether for all tables."""

    name: str
    all_tables: bool
    via_root: bool
    operations: frozenset[str]
    tables: frozenset[TableName]


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
    types = _types(cursor, {row[3] for row in found})
    texts = _type_texts(cursor, {(row[3], row[4]) for row in found})
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


def _types(cursor: Cursor, wanted: set[int]) -> dict[int, ColumnType]:
    cursor.execute(queries.TYPES, {"types": sorted(wanted)})
    rows = {row["oid"]: row for row in _rows(cursor)}
    made: dict[int, ColumnType] = {}

    def make(oid: int) -> ColumnType:
        # No type of PostgreSQL is part of itself, so this ends.
        if oid not in made:
            row = rows[oid]
            parts = tuple((name, make(part), modifier) for name, part, modifier in row.pop("parts") or ())
            made[oid] = ColumnType(**{**row, "labels": tuple(row["labels"] or ())}, parts=parts)
        return made[oid]

    return {oid: make(oid) for oid in wanted}


def _type_texts(cursor: Cursor, wanted: set[tuple[int, int]]) -> dict[tuple[int, int], str]:
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
