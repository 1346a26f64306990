"""What a pipeline requires of its database: captured tables, or the columns of its queries and the rights to read."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import psycopg2

from capture.entry import key_of
from contract.column_types.catalogue import result_modifier
from contract.source import own_schema
from db.connecting import Connection, Cursor, LoadError, check_query, connect, explain, value
from db.source.catalogue import HAS_ROWS, Column, Database, Server, Table, TableName
from db.source.inspection import inspect, type_texts, types_of
from db.source.objects import SourceObjects, WantedTable
from db.source.plan import Plan
from db.source.reading import ReadObjects, hidden_rows, rights_missing, sees_all_rows
from settings.pipeline import CapturedTableSettings, Pipeline


def source_objects(pipeline: Pipeline) -> SourceObjects:
    """Return the requirements. Raises LoadError for the outbox's pipeline, whose database the loader prepares."""
    if pipeline.outbox is not None:
        raise LoadError(
            f"pipelines/{pipeline.name}.toml captures an outbox: `./lake source load` and `./lake source migrate`"
            " prepare its database"
        )
    return SourceObjects(
        publication=pipeline.source.publication,
        slot=pipeline.source.slot,
        schema=own_schema(pipeline.name),
        role=pipeline.source.role,
        tables=tuple(map(wanted_table, pipeline.tables)),
    )


def read_objects(pipeline: Pipeline) -> ReadObjects:
    """Return what the role of a pipeline of queries reads."""
    return ReadObjects(
        role=pipeline.source.role,
        tables=tuple(wanted_table(table) for table in pipeline.tables if table.query is None),
        queries={table.name: table.query for table in pipeline.tables if table.query is not None},
        sees_writers=any(table.column for table in pipeline.tables),
    )


def wanted_table(table: CapturedTableSettings) -> WantedTable:
    """Return the requirements of one table of the file."""
    return WantedTable(
        schema=table.schema_name,
        name=table.table_name,
        key=table.key,
        leave_out=frozenset(table.leave_out),
        hashed=frozenset(table.hash),
        by_xmin=table.is_queried and table.detect != "hash",
    )


def add_query_columns(connection: Connection, database: Database, pipeline: Pipeline) -> Database:
    """Return the catalogue with the pipeline's queries among the tables. Raises LoadError."""
    made = [query_table(connection, table) for table in pipeline.tables if table.query is not None]
    return replace(database, tables=(*database.tables, *made))


def query_table(connection: Connection, settings: CapturedTableSettings) -> Table:
    """Describe a query as a view without reading its rows. Raises LoadError."""
    name = TableName(settings.schema_name, settings.table_name)
    try:
        with connection, connection.cursor() as cursor:
            # As in the job: a name without its schema isn't found.
            check_query(cursor, settings.query or "")
            cursor.execute(f"SELECT * FROM ({settings.query}\n) AS q LIMIT 0")  # noqa: S608  the user's own query
            found = [
                (column.name, column.type_code, result_modifier(column.type_code, column.precision, column.scale))
                for column in cursor.description or ()
            ]
            types = types_of(cursor, {oid for _, oid, _ in found})
            texts = type_texts(cursor, {(oid, modifier) for _, oid, modifier in found})
    except psycopg2.Error as error:
        raise LoadError(f"{name}: {explain(error)} (a query names each table with its schema)") from error
    columns = (
        Column(name=column, position=position, type=types[oid], modifier=modifier, type_text=texts[oid, modifier])
        for position, (column, oid, modifier) in enumerate(found, 1)
    )
    return Table(name=name, kind="view", columns=tuple(columns))


# Changes that queries can't see in any database.
UNSEEN = (
    "A query sees rows as they are when it looks: of several changes between two looks the last one arrives, and a row"
    " that came and went between them never does. Deletes are keys that are gone."
)
_BEGINS_AN_INDEX = """
SELECT EXISTS (
    SELECT FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
    WHERE n.nspname = %s AND c.relname = %s AND a.attname = %s AND x.indisvalid AND x.indpred IS NULL
)
"""
_SEES_WRITERS = "SELECT pg_has_role('pg_read_all_stats', 'USAGE')"


def check(connection: Connection, pipeline: Pipeline, database: Database) -> Plan:
    """Check whether the connection's role can query what the file names: a plan without steps. Raises LoadError."""
    there = {table.name: table for table in database.tables}
    problems, remarks = [], []
    try:
        with connection, connection.cursor() as cursor:
            sees_all = sees_all_rows(cursor)
            for settings in pipeline.tables:
                table = there.get(TableName(settings.schema_name, settings.table_name))
                found = _problems(cursor, settings, table, database.server, sees_all=sees_all)
                problems += [f"{settings.name}: {line}" for line in found]
                remarks += [f"{settings.name}: {line}" for line in _remarks(settings, table)]
    except psycopg2.Error as error:
        raise LoadError(f"cannot look whether it can be queried: {explain(error)}") from error
    return Plan(steps=(), problems=tuple(problems), remarks=tuple(remarks))


def inspect_and_check(connection: Connection, pipeline: Pipeline) -> Plan:
    """Read the catalogue of the file's tables, and `check`. Raises LoadError."""
    schemas = {table.schema_name for table in pipeline.tables if table.query is None}
    database = inspect(connection, sorted(schemas))
    return check(connection, pipeline, add_query_columns(connection, database, pipeline))


def query_problems(parameters: Mapping[str, Any], pipeline: Pipeline) -> list[str]:
    """Return why the user of `parameters` can't query what the file names. Raises LoadError."""
    with contextlib.closing(connect(parameters)) as connection:
        return list(inspect_and_check(connection, pipeline).problems)


def _problems(
    cursor: Cursor, settings: CapturedTableSettings, table: Table | None, server: Server, *, sees_all: bool
) -> Iterator[str]:
    if table is None:
        yield "the database has no such table, or you may not look into its schema"
        return
    yield from rights_missing(wanted_table(settings), table, server.role)
    if missing := [name for name in settings.key if name not in table.quoted]:
        yield f"it has no column {', '.join(missing)}, which is of the key"
    yield from hidden_rows(table, sees_all=table.owned or sees_all)
    if settings.detect == "xmin" and table.kind not in HAS_ROWS:
        yield f'a {table.kind} has no xmin by which changes are found: detect = "hash", or nothing'
    if settings.column is not None:
        yield from _column_problems(cursor, table, settings.column, server)


def _column_problems(cursor: Cursor, table: Table, name: str, server: Server) -> Iterator[str]:
    if name not in table.quoted:
        yield f"it has no column {name} (column)"
        return
    column = table.column(name)
    if column.type.name not in ("timestamp", "timestamptz"):
        yield f"{name} is {column.type_text}, and column asks for a timestamp: take it out"
    if server.standby:
        yield f"{name}: a standby doesn't see who is writing, so changes would be lost by a column: take it out"
    elif not value(cursor, _SEES_WRITERS):
        yield (
            f"{name}: {server.role} doesn't see who is writing, so changes would be lost by a column: GRANT"
            f" pg_read_all_stats TO {server.role}, or take it out"
        )
    if not value(cursor, _BEGINS_AN_INDEX, (table.name.schema, table.name.name, name)):
        yield f"no index begins with {name}, so each look would read the whole table: make one, or take column out"


def _remarks(settings: CapturedTableSettings, table: Table | None) -> Iterator[str]:
    if table is None:
        return
    unique = {index.columns for index in table.indexes if index.identity}
    if settings.query is None and not any(set(columns) <= set(settings.key) for columns in unique):
        yield f"{', '.join(settings.key)} isn't unique by an index: two rows with the same one would stop the job"
    better = key_of(table)
    if better and set(better) != set(settings.key):
        yield f"the database knows its rows by {', '.join(better)}"
