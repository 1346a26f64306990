"""What the connector receives: the publication, and our schema with the tables that the connector writes to."""

from collections.abc import Iterator, Mapping, Sequence

from contract.source import HEARTBEAT, SIGNAL, SIGNAL_RIGHTS, quoted
from db.connecting import Cursor, value
from db.source.catalogue import Leaf, Table
from db.source.objects import SourceObjects, SourceState, WantedTable
from db.source.rights import Step, lines, owners_agree, pairs, secret_columns

# The REPLICA IDENTITY that a captured table needs, so that each update and delete identifies its row.
#
# A table is published with its updates and deletes; PostgreSQL then rejects them for every writer if it has no identity
# ("Logical Replication", "Publication"), so the identity is set first. The job doesn't need the old values of other
# columns, which an identity of the key omits: it keeps what an event leaves out.


def identity_statements(key: tuple[str, ...], leaves: Sequence[Leaf]) -> list[str]:
    """Return the ALTER statements, partition by partition; none if the identity includes the whole key."""
    return [
        f"ALTER TABLE {leaf.sql} REPLICA IDENTITY {_smallest(key, leaf)[0]}"
        for leaf in leaves
        if not _is_enough(key, leaf)
    ]


def identity_columns(key: tuple[str, ...], leaf: Leaf) -> frozenset[str] | None:
    """Return the columns of the identity once `identity_statements` have run; None for the whole row."""
    columns = leaf.identity_columns if _is_enough(key, leaf) else _smallest(key, leaf)[1]
    return None if columns is None else frozenset(columns)


def _is_enough(key: tuple[str, ...], leaf: Leaf) -> bool:
    if leaf.identity == "nothing":
        return False
    columns = leaf.identity_columns
    return columns is None or (bool(columns) and set(key) <= set(columns))


def _smallest(key: tuple[str, ...], leaf: Leaf) -> tuple[str, tuple[str, ...] | None]:
    """Return the smallest identity with the key, and its columns: the primary key, a unique index, or the whole row."""
    if leaf.primary_key and set(key) <= set(leaf.primary_key):
        return "DEFAULT", leaf.primary_key
    exact = [index for index in leaf.indexes if index.identity and key and set(index.columns) == set(key)]
    return (f"USING INDEX {exact[0].sql}", exact[0].columns) if exact else ("FULL", None)


# The first version with column lists.
COLUMN_LISTS = 150000
OPERATIONS = ("insert", "update", "delete", "truncate")
_OPTIONS = f"publish = '{', '.join(OPERATIONS)}', publish_via_partition_root = true"
# A column list, each with its name as SQL takes it; None for all, later ones included.
Columns = Mapping[str, str] | None
OWN_TABLES = {
    HEARTBEAT: "id SMALLINT PRIMARY KEY DEFAULT 1 CHECK (id = 1), beat_at TIMESTAMPTZ NOT NULL DEFAULT now()",
    # As in Debezium's documentation, except `data`: 2,048 signs would be too few for many tables.
    SIGNAL: "id VARCHAR(42) PRIMARY KEY, type VARCHAR(32) NOT NULL, data TEXT",
}
OWN_RIGHTS = {HEARTBEAT: ("SELECT", "UPDATE (beat_at)"), SIGNAL: SIGNAL_RIGHTS}


def own_schema_steps(wanted: SourceObjects, state: SourceState) -> Iterator[Step]:
    """Create the missing parts of our schema, and grant the connector its rights there."""
    schema, role = state.names[wanted.schema], state.names[wanted.role]
    missing = None if state.may_create or state.own_schema else _may_create(state)
    making = [] if state.own_schema else [f"CREATE SCHEMA {schema}"]
    for table, columns in OWN_TABLES.items():
        if table not in state.own_tables:
            making.append(f"CREATE TABLE {schema}.{table} ({columns})")
            if table == HEARTBEAT:
                making.append(f"INSERT INTO {schema}.{table} DEFAULT VALUES")
    yield Step(purpose="Ours: the connector's heartbeat, and signals to it", statements=tuple(making), missing=missing)
    granting = [] if "USAGE" in state.own_rights else [f"GRANT USAGE ON SCHEMA {schema} TO {role}"]
    for table, rights in OWN_RIGHTS.items():
        lacking = [right for right in rights if f"{table} {right}" not in state.own_rights]
        if lacking:
            granting.append(f"GRANT {', '.join(lacking)} ON {schema}.{table} TO {role}")
    yield Step(purpose="The connector beats, and marks its snapshots", statements=tuple(granting), missing=missing)


def was_read(cursor: Cursor, schema: str) -> bool:
    """Whether a connector has ever beaten here: the heartbeat isn't the row that came with its table any more."""
    query = (
        f"SELECT NOT EXISTS (SELECT FROM {quoted(schema)}.{HEARTBEAT} AS h JOIN pg_catalog.pg_attribute AS a"  # noqa: S608  a name of ours
        " ON a.attrelid = h.tableoid AND a.attname = 'id' AND a.xmin = h.xmin)"
    )
    return bool(value(cursor, query))


def listed(table: WantedTable, there: Table, version: int) -> Columns:
    """Return a table's published columns, without those left out, which then don't leave the database."""
    if not secret_columns(table, there) or sent_anyway(table, there, version):
        return None
    return _publishable(table, there)


def sent_anyway(table: WantedTable, there: Table, version: int) -> str | None:
    """Return why PostgreSQL sends columns that are left out; None if it doesn't."""
    if not secret_columns(table, there):
        return None
    if version < COLUMN_LISTS:
        return "PostgreSQL can leave columns out from version 15 on"
    columns = _publishable(table, there)
    # A partition that is added later has the root's primary key as its identity.
    later = [frozenset(there.primary_key)] if there.kind == "partitioned table" else []
    identities = [*later, *(identity_columns(table.key, leaf) for leaf in there.leaves)]
    if None in identities:
        return "its replica identity is the whole row (FULL)"
    if any(identity - columns.keys() for identity in identities if identity is not None):
        return "its replica identity has a column that is left out, or generated"
    # Debezium 3.7 finds a value's column by its position among all columns, once it has read the table again
    # (PostgresSchema.refreshFromIncrementalSnapshot): after the first gap, values would go to the wrong columns.
    if list(columns) != [name for name in there.quoted if name not in there.generated][: len(columns)]:
        return "columns that are captured come after it"
    return None


def _publishable(table: WantedTable, there: Table) -> Mapping[str, str]:
    """Return the columns that a list may have: PostgreSQL accepts no generated column."""
    return {name: sql for name, sql in there.quoted.items() if name not in table.leave_out | there.generated}


def sends(state: SourceState, oid: int, columns: Columns) -> bool:
    """Tell whether the publication, which has a table, sends exactly these columns, of all rows."""
    if oid not in state.published_in_part:
        return columns is None
    return columns is not None and state.published_in_part[oid] == frozenset(columns)


def publication_step(wanted: SourceObjects, state: SourceState) -> Step:
    """Publish exactly the wanted tables and ours: a row filter, or another column list, would omit changes."""
    found = pairs(wanted, state)
    tables: dict[str, Columns] = {f"{state.names[wanted.schema]}.{table}": None for table in OWN_TABLES}
    tables |= {there.sql: listed(table, there, state.version) for table, there in found}
    if state.published is not None:
        return _changed_publication(wanted, state, state.published, tables)
    name, owned = state.names[wanted.publication], [there for _, there in found]
    return Step(
        purpose="What the connector is sent: exactly these tables, a partitioned one under its own name",
        statements=(f"CREATE PUBLICATION {name} FOR TABLE\n    {_entries(tables)}\nWITH ({_OPTIONS})",),
        missing=_both(None if state.may_create else _may_create(state), owners_agree(owned, state, "publish")),
    )


def _changed_publication(
    wanted: SourceObjects, state: SourceState, published: Mapping[int, str], tables: Mapping[str, Columns]
) -> Step:
    name = state.names[wanted.publication]
    right = {sql for oid, sql in published.items() if sql in tables and sends(state, oid, tables[sql])}
    dropping = [sql for sql in published.values() if sql not in right]
    adding = {sql: columns for sql, columns in tables.items() if sql not in right}
    statements = []
    if dropping:
        statements.append(f"ALTER PUBLICATION {name} DROP TABLE\n    {lines(dropping)}")
    unread = [sql for oid, sql in published.items() if sql not in tables and oid not in state.elsewhere]
    if unread:
        statements.append(f"REVOKE SELECT ON\n    {lines(unread)}\nFROM {state.names[wanted.role]}")
    # First, because a partitioned table's column list needs publish_via_partition_root.
    if not state.publication_via_root or {*state.publication_operations} != {*OPERATIONS}:
        statements.append(f"ALTER PUBLICATION {name} SET ({_OPTIONS})")
    if adding:
        statements.append(f"ALTER PUBLICATION {name} ADD TABLE\n    {_entries(adding)}")
    theirs = f"alter the publication {name}, which belongs to {state.publication_owner}"
    added = [there for _, there in pairs(wanted, state) if there.sql in adding]
    return Step(
        purpose="What the connector is sent: exactly the pipeline's tables",
        statements=tuple(statements),
        missing=_both(None if state.publication_ours else theirs, owners_agree(added, state, "publish")),
    )


def _entries(tables: Mapping[str, Columns]) -> str:
    return lines(
        sql if columns is None else f"{sql} ({', '.join(columns.values())})" for sql, columns in tables.items()
    )


def _both(*missing: str | None) -> str | None:
    return ", nor ".join(right for right in missing if right) or None


def _may_create(state: SourceState) -> str:
    return f"create in the database {state.database} (CREATE on it, or be its owner)"
