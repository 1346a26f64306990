"""What databases' preparations are asked for, by type of resource. Needs no CDK: the gate compares it.

stacks/handlers/preparation.py reads it; stacks/preparation.py adds the hash of what it runs.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contract.source import own_schema
from settings.connectors import ROOT_CERTIFICATE, root_certificate
from settings.environment import Environment
from settings.environment_pipeline import POSTGRESQL, EnvironmentPipeline, OutsideDatabase
from settings.load import PIPELINES
from settings.pipeline import CapturedTableSettings, Pipeline


def preparation(
    environment: Environment, pipeline: EnvironmentPipeline, *, cluster: str, host: str, master: str, secret: str
) -> tuple[str, Mapping[str, Any]]:
    """Return the type of a pipeline's resource and its request.

    Of the environment's own cluster: `cluster` is its identifier, `host` its address, `master` the ARN of its master's
    secret, and `secret` the one of the pipeline's role.
    """
    if pipeline.is_queried:
        return "QueriedSource", _reading(environment, pipeline, host=host, master=master, secret=secret)
    if pipeline.database is not None:
        return "OutsideSource", _outside(environment, pipeline, pipeline.database) | _captured(pipeline)
    here = {"clusterIdentifier": cluster, "masterSecret": master, "connectorSecret": secret}
    if pipeline.captured.outbox:
        settings = environment.database
        return "PreparedSource", here | {
            "database": settings.name,
            "slot": pipeline.captured.source.slot,
            "sampleData": settings.sample_data,
            "sampleScale": settings.sample_scale,
            "setMasterPassword": settings.restore is not None,
        }
    return "PreparedPipeline", here | _captured(pipeline)


def _captured(pipeline: EnvironmentPipeline) -> dict[str, object]:
    source = pipeline.captured.source
    return {
        "database": pipeline.database_name,
        "pipeline": pipeline.name,
        "schema": own_schema(pipeline.name),
        "publication": source.publication,
        "slot": source.slot,
        "role": pipeline.connector_role,
        "tables": table_requests(pipeline.captured),
    }


def _outside(environment: Environment, pipeline: EnvironmentPipeline, database: OutsideDatabase) -> dict[str, object]:
    return {
        "host": database.host,
        "port": database.port,
        "sslmode": database.sslmode,
        "certificate": database.authority or "",
        "connectorSecretArn": database.secret,
        "ownerSecretArn": database.owner_secret or "",
        "record": environment.source_parameter(pipeline, "prepared-by"),
    }


def _reading(
    environment: Environment, pipeline: EnvironmentPipeline, *, host: str, master: str, secret: str
) -> dict[str, object]:
    outside, tables = pipeline.database, pipeline.captured.tables
    return {
        "host": outside.host if outside else host,
        "port": outside.port if outside else POSTGRESQL,
        "sslmode": outside.sslmode if outside else "verify-full",
        "certificate": root_certificate(environment, pipeline).get(ROOT_CERTIFICATE, ""),
        "readerSecretArn": outside.secret if outside else secret,
        # The secret of a user who may grant reading; empty if a DBA has done so.
        "ownerSecretArn": (outside.owner_secret or "") if outside else master,
        "database": pipeline.database_name,
        "pipeline": pipeline.name,
        "role": pipeline.connector_role,
        "tables": table_requests(pipeline.captured),
        "queries": {table.name: table.query for table in tables if table.query is not None},
        "seesWriters": any(table.column for table in tables),
    }


def table_requests(captured: Pipeline, folder: Path = PIPELINES) -> list[dict[str, object]]:
    """Describe a pipeline's tables for the handler; `folder` has their Avro schemas.

    If columns are excluded, the others are published and granted by name. So a new column in the schema must make a
    deployment call the handler again.
    """
    found = []
    for table in captured.tables:
        request = table_request(table)
        if table.leave_out:
            schema = (folder / captured.schema_file(table)).read_bytes()
            request["schemaHash"] = hashlib.sha256(schema).hexdigest()
        if table.query is None:
            found.append(request)
    return found


def table_request(table: CapturedTableSettings) -> dict[str, object]:
    return {
        "schema": table.schema_name,
        "name": table.table_name,
        "key": list(table.key),
        "leaveOut": list(table.leave_out),
        "hash": list(table.hash),
        **({"byXmin": True} if table.is_queried and table.detect != "hash" else {}),
    }
