"""What a pipeline has to know of a database, as its catalogue says it: server, tables, columns, types, keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from contract.column_types.catalogue import ColumnType

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
