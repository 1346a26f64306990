"""A pipeline's requirements on its source database, and the database's state: the facts for a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contract.source import CONNECTOR_ROLE
from db.connecting import Cursor, rows
from db.source import catalogue_queries
from db.source.catalogue import Table
from db.source.inspection import read_tables


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTable:
    """A table to capture. `key`: the columns that identify its rows, empty for one whose events are only appended.

    `leave_out`: columns that the role mustn't read; `hashed`: columns that travel as SHA-256; `by_xmin`: the role reads
    SYSTEM_COLUMNS, too.
    """

    schema: str
    name: str
    key: tuple[str, ...]
    leave_out: frozenset[str] = frozenset()
    hashed: frozenset[str] = frozenset()
    by_xmin: bool = False

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, kw_only=True)
class SourceObjects:
    """The required objects: a publication of exactly these tables, a role that may read them, a schema of ours."""

    publication: str = ""
    slot: str = ""
    schema: str = ""
    tables: tuple[WantedTable, ...] = ()
    role: str = CONNECTOR_ROLE


@dataclass(frozen=True, kw_only=True)
class SourceState:
    """The database, as far as a plan depends on it.

    `user` prepares, with the rights in the following flags. The role's flags are None if it doesn't exist. `published`:
    the publication's tables by number with their SQL names, None without one; `published_in_part`: for those with a
    column list, the listed columns, or None with a row filter. `elsewhere`: tables in another pipeline's publication.
    `slot_of`: the database of the server's slot of this name, None without one.
    """

    database: str
    version: int
    wal_level: str
    standby: bool
    hosted: bool
    slot_of: str | None
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
    own_tables: Sequence[str]
    own_rights: Sequence[str]
    published: Mapping[int, str] | None
    published_in_part: Mapping[int, frozenset[str] | None]
    publication_for_all: bool
    publication_via_root: bool
    publication_operations: Sequence[str]
    publication_owner: str | None
    publication_ours: bool
    elsewhere: Sequence[int] = ()
    tables: Mapping[tuple[str, str], Table] = field(default_factory=dict)

    @property
    def role_exists(self) -> bool:
        return self.role_logs_in is not None


def read(cursor: Cursor, wanted: SourceObjects) -> SourceState:
    """Read the state."""
    cursor.execute(catalogue_queries.STATE, vars(wanted))
    (row,) = rows(cursor)
    published, in_part = row.pop("published"), row.pop("published_in_part")
    return SourceState(
        **row,
        # JSON has no numbers as keys.
        published=None if published is None else {int(oid): name for oid, name in published.items()},
        published_in_part={int(oid): columns and frozenset(columns) for oid, columns in in_part.items()},
        tables=read_tables(cursor, [(table.schema, table.name) for table in wanted.tables], wanted.role),
    )
