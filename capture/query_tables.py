"""Queries that stand in a table's place: what their rows' columns are, in the words of the catalogue."""

from dataclasses import replace

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name
from psycopg2.extensions import cursor as Cursor  # noqa: N812

from contract.column_types.canonical import SOURCE_SETTINGS
from contract.column_types.catalogue import result_modifier
from db.errors import LoadError, explain
from db.source.catalogue import Column, Database, Table, TableName
from db.source.inspection import type_texts, types_of
from settings.pipeline import CapturedTableSettings, Pipeline


def add_query_columns(connection: Connection, database: Database, pipeline: Pipeline) -> Database:
    """Return what the catalogue says, with the pipeline's queries among the tables. Raises LoadError."""
    made = [query_table(connection, table) for table in pipeline.tables if table.query is not None]
    return replace(database, tables=(*database.tables, *made))


def query_table(connection: Connection, settings: CapturedTableSettings) -> Table:
    """Describe a query as a view; nothing of it is read. Raises LoadError."""
    name = TableName(settings.schema_name, settings.table_name)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            # As the job has it: a name without its schema would be nothing there.
            cursor.execute("SELECT set_config('search_path', %s, true)", [SOURCE_SETTINGS["search_path"]])
            cursor.execute(f"SELECT * FROM ({settings.query}\n) AS q LIMIT 0")  # noqa: S608  the user's own query
            columns = _columns(cursor)
    except psycopg2.Error as error:
        raise LoadError(f"{name}: {explain(error)} (a query names each table with its schema)") from error
    return Table(name=name, kind="view", columns=columns)


def _columns(cursor: Cursor) -> tuple[Column, ...]:
    found = [
        (column.name, column.type_code, result_modifier(column.type_code, column.precision, column.scale))
        for column in cursor.description or ()
    ]
    types = types_of(cursor, {oid for _, oid, _ in found})
    texts = type_texts(cursor, {(oid, modifier) for _, oid, modifier in found})
    return tuple(
        Column(
            name=name,
            position=position,
            type=types[oid],
            modifier=modifier,
            type_text=texts[oid, modifier],
        )
        for position, (name, oid, modifier) in enumerate(found, 1)
    )
