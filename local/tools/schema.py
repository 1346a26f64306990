"""Generates the Avro schema of the outbox's events, which the job reads: `./lake dev generate schema`."""

import contextlib
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from capture.entry import Entry
from capture.pipeline_file import avro_schema, schema_text
from contract.errors import one_line_errors
from contract.source import OUTBOX_TABLE, SCHEMA
from db.connecting import connect
from db.loading import LoadOptions, load
from db.rewriting import KEY
from db.source.inspection import inspect
from local.services.postgres import temporary_postgres

TARGET = Path(__file__).resolve().parents[2] / "pipelines" / "orders" / "cdc_events.avsc"


def outbox_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    with contextlib.closing(connect(parameters)) as connection:
        [table] = [table for table in inspect(connection, [SCHEMA]).tables if table.name.name == OUTBOX_TABLE]
    return avro_schema(SCHEMA, Entry(table=table, lake_table=OUTBOX_TABLE, key=(KEY,)), table)


def main() -> None:
    """Write the schema of what db/sql creates."""
    with one_line_errors("error"), tempfile.TemporaryDirectory() as folder, temporary_postgres(Path(folder)) as server:
        parameters = server.connection_parameters()
        load(parameters, LoadOptions(connector_password=secrets.token_urlsafe(12), empty=True), lambda *_: None)
        schema = outbox_schema(parameters)
    TARGET.write_text(schema_text(schema), encoding="utf-8")
    typer.echo(f"{TARGET.name}: {len(schema['fields'])} fields")
