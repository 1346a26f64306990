"""Logs an operator in to the database that a pipeline captures."""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3

from contract import rds_ca
from operate import outputs
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline, OutsideDatabase


@contextlib.contextmanager
def login(environment: Environment, session: boto3.Session, pipeline: EnvironmentPipeline) -> Iterator[dict[str, Any]]:
    """Return libpq's parameters: the owner's login on our cluster; elsewhere the owner's or the connector role's.

    Each secret is read with the caller's credentials. Raises OperateError, ClientError.
    """
    if pipeline.database is not None:
        with _outside(session, pipeline, pipeline.database) as parameters:
            yield parameters
        return
    host, _, port = outputs.output(environment, "database", "Endpoint").rpartition(":")
    secret = outputs.output(environment, "database", "MasterSecretName")
    yield {
        "host": host,
        "port": int(port),
        "dbname": environment.database.name if pipeline.captured.outbox else pipeline.database_name,
        **_user(session, secret),
        "sslmode": "verify-full",
        "sslrootcert": str(rds_ca.BUNDLE),
    }


@contextlib.contextmanager
def _outside(
    session: boto3.Session, pipeline: EnvironmentPipeline, database: OutsideDatabase
) -> Iterator[dict[str, Any]]:
    parameters = {
        "host": database.host,
        "port": database.port,
        "dbname": pipeline.database_name,
        **_user(session, database.owner_secret or database.secret),
        "sslmode": database.sslmode,
    }
    with tempfile.TemporaryDirectory() as folder:
        if authority := database.authority:
            # libpq reads certificates only from files.
            root = Path(folder, "root.pem")
            root.write_text(authority, encoding="ascii")
            parameters["sslrootcert"] = str(root)
        yield parameters


def _user(session: boto3.Session, secret: str) -> dict[str, str]:
    text = session.client("secretsmanager", config=outputs.QUICK).get_secret_value(SecretId=secret)["SecretString"]
    values = json.loads(text)
    return {"user": values["username"], "password": values["password"]}
