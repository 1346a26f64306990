"""Makes the Avro schema of the change events from the outbox table: `./lake dev generate schema`.

The job reads it (FilebasedSchemaProvider). Types are named as by Debezium's AvroConverter, so that the file says
what each value means on the wire: days, ISO timestamps, JSON text.
"""

import contextlib
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psycopg2
import typer

from contract.errors import one_line_errors
from contract.events import ADDED_TYPES
from contract.source import DATABASE, OUTBOX_TABLE, SCHEMA
from db.loading import LoadOptions, load
from local.errors import PlatformError
from local.services.passing_postgres import passing_postgres
from local.services.postgres import ConnectionParameters

TARGET = Path(__file__).resolve().parents[2] / "pipelines" / "orders" / "cdc_events.avsc"
TABLE = f"{SCHEMA}.{OUTBOX_TABLE}"

AvroType = str | dict[str, str]


def _named(avro_type: str, name: str) -> AvroType:
    return {"type": avro_type, "connect.name": name}


# PostgreSQL's name of a type -> what Debezium's events carry (time.precision.mode adaptive, the connector's default)
TYPES: dict[str, AvroType] = {
    "smallint": "int",
    "integer": "int",
    "bigint": "long",
    "real": "float",
    "double precision": "double",
    "boolean": "boolean",
    "text": "string",
    "character": "string",
    "character varying": "string",
    "uuid": _named("string", "io.debezium.data.Uuid"),
    "json": _named("string", "io.debezium.data.Json"),
    "jsonb": _named("string", "io.debezium.data.Json"),
    "date": _named("int", "io.debezium.time.Date"),
    "timestamp without time zone": _named("long", "io.debezium.time.MicroTimestamp"),
    "timestamp with time zone": _named("string", "io.debezium.time.ZonedTimestamp"),
}


class SchemaError(PlatformError):
    """The schema can't be made; the message is one line."""


@dataclass(frozen=True)
class TableColumn:
    """One column as information_schema describes it."""

    name: str
    data_type: str
    nullable: bool


def avro_schema(table: str, columns: list[TableColumn]) -> dict[str, Any]:
    """Return the Avro record of a table's change events: the columns in their order, then the added fields.

    Raises SchemaError for a type whose values JSON events can't carry as they are.
    """
    unsupported = [f"{column.name} ({column.data_type})" for column in columns if column.data_type not in TYPES]
    if unsupported:
        raise SchemaError(f"{table}: no Avro type for {', '.join(unsupported)}")
    fields = [_field(column.name, TYPES[column.data_type], nullable=column.nullable) for column in columns]
    fields += [_field(name, avro_type, nullable=True) for name, avro_type in ADDED_TYPES.items()]
    namespace, _, name = table.rpartition(".")
    return {"type": "record", "name": name, "namespace": namespace, "fields": fields}


def read_columns(parameters: Mapping[str, Any], table: str) -> list[TableColumn]:
    """Read a table's columns; SchemaError when the server can't be reached or has no such table."""
    schema, _, name = table.rpartition(".")
    try:
        with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT column_name, data_type, is_nullable = 'YES' FROM information_schema.columns"
                " WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
                (schema or "public", name),
            )
            columns = [TableColumn(*row) for row in cursor.fetchall()]
    except psycopg2.Error as error:
        raise SchemaError(f"{table}: {str(error).splitlines()[0]}") from error
    if not columns:
        raise SchemaError(f"{table}: no such table, or no right to see it, in database {parameters['dbname']}")
    return columns


@contextlib.contextmanager
def passing_database() -> Iterator[ConnectionParameters]:
    """Start a PostgreSQL server that holds the loaded source database, and remove it at the end."""
    with tempfile.TemporaryDirectory() as folder, passing_postgres(Path(folder)) as server:
        parameters = server.connection_parameters()
        load(parameters, LoadOptions(connector_password=secrets.token_urlsafe(12)), lambda *_: None)
        yield parameters


def _field(name: str, avro_type: AvroType, *, nullable: bool) -> dict[str, Any]:
    return (
        {"name": name, "type": ["null", avro_type], "default": None} if nullable else {"name": name, "type": avro_type}
    )


def main(
    host: Annotated[str | None, typer.Option(help="The database server; without it a temporary one is loaded.")] = None,
    port: Annotated[int, typer.Option(help="Its port.")] = 5432,
    dbname: Annotated[str, typer.Option(help="The database.")] = DATABASE,
    user: Annotated[str, typer.Option(help="Who logs in; the password is asked for, or PGPASSWORD.")] = "postgres",
    table: Annotated[str, typer.Option(help="The table whose events the schema describes.")] = TABLE,
    output: Annotated[Path, typer.Option(help="The file to write.")] = TARGET,
) -> None:
    """Write the Avro schema of a table's change events."""
    with one_line_errors("error"):
        if host is None:
            with passing_database() as parameters:
                columns = read_columns(parameters, table)
        else:
            password = os.environ.get("PGPASSWORD") or typer.prompt("Password", hide_input=True)
            given = {"host": host, "port": port, "dbname": dbname, "user": user, "password": password}
            columns = read_columns({**given, "connect_timeout": 10}, table)
        schema = avro_schema(table, columns)
    output.write_text(json.dumps(schema, indent=2) + "\n")
    typer.echo(f"{output.name}: {len(schema['fields'])} fields")
