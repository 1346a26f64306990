"""What leaves the database: the publication, and the schema of ours with the tables that the connector writes to."""

from collections.abc import Iterator

from contract.capture_objects import HEARTBEAT, SIGNAL, SIGNAL_RIGHTS
from db.source_objects import PresentTable, SourceObjects, SourceState
from db.source_rights import owners_agree
from db.source_steps import Step, lines

OWN_TABLES = {
    HEARTBEAT: "id SMALLINT PRIMARY KEY DEFAULT 1 CHECK (id = 1), beat_at TIMESTAMPTZ NOT NULL DEFAULT now()",
    # As Debezium's documentation has it, but for `data`, which 2,048 signs would cut off for many tables.
    SIGNAL: "id VARCHAR(42) PRIMARY KEY, type VARCHAR(32) NOT NULL, data TEXT",
}
OWN_RIGHTS = {HEARTBEAT: ("SELECT", "UPDATE (beat_at)"), SIGNAL: SIGNAL_RIGHTS}


def own_schema_steps(wanted: SourceObjects, state: SourceState) -> Iterator[Step]:
    """Make what is missing of our schema, and let the connector do there what it has to."""
    schema, role = state.names[wanted.schema], state.names[wanted.role]
    missing = None if state.may_create or state.own_schema else _may_create(state)
    making = [] if state.own_schema else [f"CREATE SCHEMA {schema}"]
    for table, columns in OWN_TABLES.items():
        if table not in state.own_tables:
            making.append(f"CREATE TABLE {schema}.{table} ({columns})")
            if table == HEARTBEAT:
                making.append(f"INSERT INTO {schema}.{table} DEFAULT VALUES")
    if making:
        yield Step(
            purpose="Ours: the connector's heartbeat, and signals to it", statements=tuple(making), missing=missing
        )
    granting = [] if "USAGE" in state.own_rights else [f"GRANT USAGE ON SCHEMA {schema} TO {role}"]
    for table, rights in OWN_RIGHTS.items():
        lacking = [right for right in rights if f"{table} {right}" not in state.own_rights]
        if lacking:
            granting.append(f"GRANT {', '.join(lacking)} ON {schema}.{table} TO {role}")
    if granting:
        yield Step(purpose="The connector beats, and marks its snapshots", statements=tuple(granting), missing=missing)


def publication_steps(wanted: SourceObjects, state: SourceState) -> Iterator[Step]:
    """Publish exactly the wanted tables and ours, whole: a row filter or a column list would leave changes out."""
    found = [state.tables[table.schema, table.name] for table in wanted.tables]
    names = [*(f"{state.names[wanted.schema]}.{table}" for table in OWN_TABLES), *(there.sql for there in found)]
    if state.published is None:
        yield from _new_publication(wanted, state, names, found)
    else:
        yield from _changed_publication(wanted, state, names, found)


def _new_publication(
    wanted: SourceObjects, state: SourceState, names: list[str], found: list[PresentTable]
) -> Iterator[Step]:
    name = state.names[wanted.publication]
    yield Step(
        purpose="What leaves the database: exactly these tables, a partitioned one under its own name",
        statements=(f"CREATE PUBLICATION {name} FOR TABLE\n    {lines(names)}\nWITH ({_options(wanted)})",),
        missing=_both(None if state.may_create else _may_create(state), owners_agree(found, state, "publish")),
    )


def _changed_publication(
    wanted: SourceObjects, state: SourceState, names: list[str], found: list[PresentTable]
) -> Iterator[Step]:
    name, published = state.names[wanted.publication], dict(state.published or {})
    whole = {sql for oid, sql in published.items() if oid not in state.published_in_part}
    dropping = [sql for sql in published.values() if sql not in names or sql not in whole]
    adding = [sql for sql in names if sql not in whole]
    statements = []
    if dropping:
        statements.append(f"ALTER PUBLICATION {name} DROP TABLE\n    {lines(dropping)}")
    unread = [sql for oid, sql in published.items() if sql not in names and oid not in state.elsewhere]
    if unread:
        statements.append(f"REVOKE SELECT ON\n    {lines(unread)}\nFROM {state.names[wanted.role]}")
    if adding:
        statements.append(f"ALTER PUBLICATION {name} ADD TABLE\n    {lines(adding)}")
    if not state.publication_via_root or state.publication_operations != set(wanted.operations):
        statements.append(f"ALTER PUBLICATION {name} SET ({_options(wanted)})")
    if statements:
        theirs = f"alter the publication {name}, which belongs to {state.publication_owner}"
        yield Step(
            purpose="What leaves the database: exactly the pipeline's tables",
            statements=tuple(statements),
            missing=_both(
                None if state.publication_ours else theirs,
                owners_agree([there for there in found if there.sql in adding], state, "publish"),
            ),
        )


def _options(wanted: SourceObjects) -> str:
    return f"publish = '{', '.join(wanted.operations)}', publish_via_partition_root = true"


def _both(*missing: str | None) -> str | None:
    return ", nor ".join(right for right in missing if right) or None


def _may_create(state: SourceState) -> str:
    return f"create in the database {state.database} (CREATE on it, or be its owner)"
