"""A database's catalogue: its server, and its tables with their columns, types, keys and identities."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from contract.column_types.catalogue import ColumnType, without_domains

# pg_class.relkind, for what users call a table.
Kind = Literal["table", "partitioned table", "view", "materialized view", "foreign table"]
KINDS: Mapping[str, Kind] = {
    "r": "table",
    "p": "partitioned table",
    "v": "view",
    "m": "materialized view",
    "f": "foreign table",
}
HAS_ROWS = ("table", "partitioned table")
Identity = Literal["default", "nothing", "full", "index"]
IDENTITIES: Mapping[str, Identity] = {"d": "default", "n": "nothing", "f": "full", "i": "index"}
# Used by the job to find changes in a table that it queries: a right on the table includes them, rights on all
# its columns by name don't.
SYSTEM_COLUMNS = ("xmin", "tableoid")
_TEXT_TYPES = ("text", "varchar", "bpchar")
_NOT_PUBLISHED = {
    "view": "a view has no changes of its own: capture the tables that it reads, and make the view in the lake",
    "materialized view": "PostgreSQL doesn't publish a materialized view: capture the tables that it reads",
    "foreign table": "its rows are in another server: capture them there",
}


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A relation's schema and name, as the catalogue has them: no quotes, any sign."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The server, and the role that inspects it.

    `version` is PostgreSQL's number (160014). Senders: current and maximum number. `hosted` is True on RDS and Aurora.
    """

    database: str
    version: int
    encoding: str
    standby: bool
    hosted: bool
    senders: int
    max_senders: int
    slot_keep: str
    role: str
    large_objects: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column. `type_text` as `format_type` writes it, such as `numeric(10,2)[]`; `modifier` is atttypmod, -1: none.

    `sql`: its name as SQL takes it. `generated`: computed from others (stored or virtual). `toastable`: a value may be
    stored out of line. `readable`: the role has the right to read it.
    """

    name: str
    sql: str = ""
    position: int
    type: ColumnType
    modifier: int
    type_text: str
    generated: bool = False
    toastable: bool = False
    readable: bool = True

    @property
    def base_type(self) -> tuple[ColumnType, int]:
        """Its type and modifier; for a domain, those of its base."""
        return without_domains(self.type, self.modifier)

    @property
    def is_text(self) -> bool:
        kind, _ = self.base_type
        return kind.schema == "pg_catalog" and kind.name in _TEXT_TYPES

    @property
    def may_be_long(self) -> bool:
        """Whether a value may be so long that it is stored out of line: about 2 kB."""
        if self.type.name in ("varchar", "bpchar") and 0 <= self.modifier <= 500:
            return False
        return self.toastable and self.type.name != "numeric"

    @property
    def hashable(self) -> bool:
        """Whether the connector hashes it: its task fails for values of other types."""
        return self.is_text or self.base_type[0].kind == "enum"


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueIndex:
    """A unique index over whole columns of all rows; `sql` is its name as SQL takes it.

    `identity`: it can be a REPLICA IDENTITY, having no nullable column; `is_identity`: it is one.
    """

    sql: str
    columns: tuple[str, ...]
    primary: bool
    identity: bool
    is_identity: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A relation that holds rows: a table, or a partition. Its own replica identity counts, not the root's.

    `sql` is its name as SQL takes it.
    """

    name: TableName
    sql: str = ""
    identity: Identity = "default"
    unlogged: bool = False
    indexes: tuple[UniqueIndex, ...] = ()

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The primary key's columns in its order; empty without one."""
        return next((index.columns for index in self.indexes if index.primary), ())

    @property
    def identity_columns(self) -> tuple[str, ...] | None:
        """The columns by which an update or a delete identifies its row; None for all."""
        if self.identity == "full":
            return None
        if self.identity == "default":
            return self.primary_key
        return next((index.columns for index in self.indexes if index.is_identity), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Leaf):
    """A relation that users consider a table, and what a role may do with it.

    `rows` is the planner's estimate (None: never analysed). `parents`: what it inherits from (not as a partition);
    `has_children`: others inherit from it in that way. `owned`: our user is a member of the owner; `has_policy`: a
    policy shows the role all rows; `restricted`: another may hide some all the same. `schema_usable`: the role has
    USAGE on the schema; `schema_grantable`: our user can grant it. `whole`: the role may read all columns, later ones
    included; `reads_system`: SYSTEM_COLUMNS, too.
    """

    oid: int = 0
    kind: Kind
    row_security: bool = False
    has_policy: bool = False
    restricted: bool = False
    owner: str = ""
    owned: bool = False
    schema_sql: str = ""
    schema_owner: str = ""
    schema_usable: bool = True
    schema_grantable: bool = False
    whole: bool = True
    reads_system: bool = False
    rows: int | None = None
    parents: tuple[TableName, ...] = ()
    has_children: bool = False
    columns: tuple[Column, ...]
    partitions: tuple[Leaf, ...] = ()

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The relations with its rows: itself, or its partitions."""
        return (self,) if self.kind == "table" else self.partitions

    @property
    def quoted(self) -> dict[str, str]:
        """The columns, in order, by their names as SQL takes them."""
        return {column.name: column.sql for column in self.columns}

    @property
    def generated(self) -> frozenset[str]:
        """The columns computed from others."""
        return frozenset(column.name for column in self.columns if column.generated)

    @property
    def granted(self) -> frozenset[str]:
        """The columns that the role has the right to read, SYSTEM_COLUMNS included."""
        system = SYSTEM_COLUMNS if self.reads_system else ()
        return frozenset({*system, *(column.name for column in self.columns if column.readable)})

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that the role can't read, in order."""
        return tuple(column.name for column in self.columns if not (self.schema_usable and column.readable))

    @property
    def unpublished(self) -> str | None:
        """Why the log can't deliver its changes; None if it can."""
        if reason := _NOT_PUBLISHED.get(self.kind):
            return reason
        for leaf in (self, *self.partitions):
            if leaf.unlogged:
                which = "" if leaf is self else f"its partition {leaf.name} is "
                return f"{which}unlogged: its changes aren't in the log (ALTER TABLE … SET LOGGED)"
        if self.has_children:
            return (
                "other tables inherit from it: its snapshot would have their rows, and changes come under their names;"
                " capture them, and join them in the lake"
            )
        return None

    @property
    def refuses_later(self) -> str | None:
        """Why PostgreSQL would refuse updates and deletes in a partition that is added once it is published."""
        if self.kind != "partitioned table" or self.primary_key:
            return None
        return (
            "without a primary key, a partition that is added later has no replica identity, and PostgreSQL would"
            " refuse updates and deletes in it: add a primary key, which new partitions get, too"
        )

    def column(self, name: str) -> Column:
        """Return a column. Raises KeyError."""
        return {column.name: column for column in self.columns}[name]


@dataclass(frozen=True, kw_only=True)
class Database:
    """The catalogue's content. `tables` by name, without partitions, which are in their root."""

    server: Server
    tables: tuple[Table, ...]
    sequences: int
