"""What a pipeline needs of its source database, and what the database has of it: the facts that a plan is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract.capture_objects import CONNECTOR_ROLE
from db import source_queries as queries

# By which the job finds what changed in a table that it queries: a right on the table includes them, rights on all of
# its columns by name don't.
SYSTEM_COLUMNS = ("xmin", "tableoid")
OPERATIONS = ("insert", "update", "delete", "truncate")


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTable:
    """A table to capture. `key`: the columns that tell its rows apart, empty for one whose events are only appended.

    `leave_out`: columns that the role mustn't read; `hashed`: columns that travel as SHA-256; `by_xmin`: the role reads
    SYSTEM_COLUMNS, too.
    """

    schema: str
    name: str
    key: tuple[str, ...]
    leave_out: frozenset[str] = frozenset()
    hashed: frozenset[str] = frozenset()
    by_xmin: bool = False


@dataclass(frozen=True, kw_only=True)
class SourceObjects:
    """What shall be there: a publication of exactly these tables, a role that may read them, a schema of ours."""

    publication: str
    slot: str
    schema: str
    tables: tuple[WantedTable, ...]
    role: str = CONNECTOR_ROLE
    operations: tuple[str, ...] = OPERATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A table that holds rows: what its replica identity is (pg_class.relreplident) and could be.

    `sql` is its name as SQL takes it, `columns` the identity's columns, None for all; `indexes`: the columns of those
    that may be an identity, by their quoted name; `primary_key`: its columns.
    """

    sql: str
    identity: str
    columns: tuple[str, ...] | None
    primary_key: tuple[str, ...]
    indexes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentTable:
    """A wanted table as the database has it. `kind` is pg_class.relkind; `sql` its name as SQL takes it.

    `schema_sql`, `quoted` (its columns, in order): likewise. `has_children`: others inherit from it, not as partitions.
    `generated`: columns that others make; `hashable`: those that Debezium hashes when told to; `readable`: those that
    the role may read, SYSTEM_COLUMNS included; `whole`: it may read all, later ones included. `ours`: whoever prepares
    is a member of the owner, who is `owner`. `leaves`: itself, or the partitions that hold its rows.
    """

    oid: int
    sql: str
    kind: str
    unlogged: bool
    has_children: bool
    row_security: bool
    has_policy: bool
    owner: str
    ours: bool
    schema_sql: str
    schema_usable: bool
    schema_grantable: bool
    schema_owner: str
    quoted: Mapping[str, str]
    generated: frozenset[str]
    hashable: frozenset[str]
    readable: frozenset[str]
    whole: bool
    leaves: tuple[Leaf, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SourceState:
    """The database, as far as a plan depends on it.

    `user` prepares, and may what the following flags say. The role's flags are None while it isn't there. `published`:
    the publication's tables by number with their SQL names, None without one; `published_in_part`: those of which it
    lists the columns, or None where it leaves out rows. `elsewhere`: tables that another pipeline's publication has.
    """

    database: str
    version: int
    wal_level: str
    standby: bool
    hosted: bool
    slot_exists: bool
    free_slots: int
    user: str
    superuser: bool
    createrole: bool
    replication: bool
    may_create: bool
    owns_database: bool
    grants_rds_replication: bool
    role_logs_in: bool | None
    role_replicates: bool | None
    role_is_administrator: bool
    role_connects: bool
    names: Mapping[str, str]
    own_schema: bool
    own_tables: frozenset[str]
    own_rights: frozenset[str]
    published: Mapping[int, str] | None
    published_in_part: Mapping[int, frozenset[str] | None]
    publication_for_all: bool
    publication_via_root: bool
    publication_operations: frozenset[str]
    publication_owner: str | None
    publication_ours: bool
    elsewhere: frozenset[int] = frozenset()
    tables: Mapping[tuple[str, str], PresentTable] = field(default_factory=dict)


def read(cursor: Cursor, wanted: SourceObjects) -> SourceState:
    """Read the state; changes nothing."""
    cursor.execute(queries.STATE, _parameters(wanted))
    names = [column.name for column in cursor.description or ()]
    row: dict[str, Any] = dict(zip(names, cursor.fetchone() or (), strict=True))
    published = row.pop("published")
    return SourceState(
        **{
            **row,
            "own_tables": frozenset(row["own_tables"]),
            "own_rights": frozenset(row["own_rights"]),
            "publication_operations": frozenset(row["publication_operations"]),
            "elsewhere": frozenset(row["elsewhere"]),
            "published_in_part": {
                int(oid): columns and frozenset(columns) for oid, columns in row["published_in_part"].items()
            },
            "published": None if published is None else {int(oid): name for oid, name in published.items()},
        },
        tables=_tables(cursor, wanted),
    )


def _parameters(wanted: SourceObjects) -> dict[str, object]:
    return {
        "role": wanted.role,
        "slot": wanted.slot,
        "schema": wanted.schema,
        "publication": wanted.publication,
        "schemas": [table.schema for table in wanted.tables],
        "tables": [table.name for table in wanted.tables],
        "system": list(SYSTEM_COLUMNS),
    }


def _tables(cursor: Cursor, wanted: SourceObjects) -> dict[tuple[str, str], PresentTable]:
    cursor.execute(queries.TABLES, _parameters(wanted))
    names = [column.name for column in cursor.description or ()]
    found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    leaves = _leaves(cursor, [row["oid"] for row in found])
    return {
        (row.pop("schema"), row.pop("name")): PresentTable(
            **{
                **row,
                "readable": frozenset(row["readable"]),
                "generated": frozenset(row["generated"]),
                "hashable": frozenset(row["hashable"]),
            },
            leaves=tuple(leaves.get(row["oid"], ())),
        )
        for row in found
    }


def _leaves(cursor: Cursor, tables: list[int]) -> dict[int, list[Leaf]]:
    cursor.execute(queries.LEAVES, {"oids": tables})
    leaves: dict[int, list[Leaf]] = {}
    for table, sql, identity, primary_key, identity_index, indexes in cursor.fetchall():
        columns: tuple[str, ...] | None = {"d": tuple(primary_key or ()), "f": None}.get(
            identity, tuple(identity_index or ())
        )
        leaves.setdefault(table, []).append(
            Leaf(
                sql=sql,
                identity=identity,
                columns=columns,
                primary_key=tuple(primary_key or ()),
                indexes={name: tuple(of) for name, of in (indexes or {}).items()},
            )
        )
    return leaves
