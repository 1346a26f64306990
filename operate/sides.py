"""Both sides of a deployed pipeline: its source, its tables in the lake, and how far each table is.

Everything is read with the caller's AWS credentials, from a machine that reaches the environment's VPC.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

from contract import rds_ca
from contract.column_types.hashes import SALT_KEY
from db import log_in
from local.comparison.arrivals import LogArrivals
from local.comparison.compare import Arrivals
from local.comparison.describe import Compared
from local.comparison.run import Sides
from local.look.lake import Lake
from local.services.source_database import PASSWORD_VARIABLES, SourceDatabase
from operate import outputs
from operate.errors import OperateError
from operate.kafka import reader
from operate.kafka.cluster import Cluster, of_environment
from plugins.connector_names import sink_group
from plugins.connector_settings import SourceSettings
from settings.connectors import sink_settings, source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.load import PIPELINES
from settings.pipeline import CapturedTableSettings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONNECT_TIMEOUT_S = 10
PROPERTIES = ".hoodie/hoodie.properties"


@dataclass(frozen=True)
class DeployedPipeline:
    """A pipeline of a deployed environment, and a session of its account."""

    environment: Environment
    pipeline: EnvironmentPipeline
    session: boto3.Session

    @property
    def source(self) -> SourceSettings:
        return source_settings(self.environment, self.pipeline)

    def cluster(self) -> Cluster:
        """Return where its topics are. Raises OperateError."""
        return of_environment(self.environment, self.pipeline.name)


@contextlib.contextmanager
def sides(
    deployed: DeployedPipeline, parameters: dict[str, Any], entries: Sequence[CapturedTableSettings]
) -> Iterator[Sides]:
    """Yield both sides of these tables; nothing tells how far a queried one is. Raises OperateError, ClientError."""
    tables = compared(deployed, entries)
    client = deployed.session.client("s3", config=outputs.QUICK)
    for table in tables:
        check_readable(client, table.lake)
    with _arriving(deployed, tables, client, parameters) as arriving:
        yield Sides(
            {**parameters, "connect_timeout": CONNECT_TIMEOUT_S},
            arriving,
            salt=_salt(deployed),
            s3=client,
            by_spark=False,
            way_on="the log of its job says why (docs/aws/alarms.md)",
        )


@contextlib.contextmanager
def _arriving(
    deployed: DeployedPipeline, tables: Sequence[Compared], s3: "S3Client", parameters: dict[str, Any]
) -> Iterator[Sequence[Compared]]:
    pipeline = deployed.pipeline
    if pipeline.is_queried:
        yield tables
        return
    sink, slot = sink_settings(deployed.environment, pipeline), deployed.source.slot_name
    with reader.connect(deployed.cluster(), group=sink_group(sink.name)) as messages:
        # A caller who may not ask hears it now: later it counts as not arrived.
        messages.committed(sink.topics[0])

        def arrivals(table: Compared) -> Arrivals:
            topic = table.entry.captured.topic(pipeline.prefix)
            return LogArrivals(
                slot=partial(SourceDatabase(parameters).slot, slot),
                end=lambda: messages.bounds(topic, 0)[1],
                landed=lambda: messages.committed(topic),
                s3=s3,
                bucket=sink.bucket,
                prefix=f"{sink.prefix}/{topic}/",
                lake=table.lake,
            ).has

        yield [replace(table, arrivals=arrivals(table)) for table in tables]


def compared(deployed: DeployedPipeline, entries: Sequence[CapturedTableSettings]) -> list[Compared]:
    """Return where the lake has these tables, and how to read them. Raises OperateError."""
    environment = deployed.environment
    bucket = outputs.output(environment, "lake", "LakeBucket")
    credentials = deployed.session.get_credentials()
    if credentials is None:
        raise OperateError(f"no AWS credentials for account {environment.account}: {outputs.LOG_IN}")

    def keys() -> dict[str, str]:
        now = credentials.get_frozen_credentials()
        options = {
            "aws_access_key_id": now.access_key,
            "aws_secret_access_key": now.secret_key,
            "aws_session_token": now.token,
        }
        return {name: value for name, value in options.items() if value}

    captured = deployed.pipeline.as_deployed
    return [
        Compared(
            entry=entry,
            schema_file=PIPELINES / captured.schema_file(entry),
            lake=Lake(
                base_uri=f"s3://{bucket}/{captured.lake_table(entry)}",
                storage_options={"aws_region": environment.region},
                login=keys,
            ),
        )
        for entry in entries
    ]


def check_readable(client: "S3Client", lake: Lake) -> None:
    """Raise OperateError or ClientError where the caller may not read a table: hudi-rs would find none there."""
    bucket, _, table = lake.base_uri.removeprefix("s3://").partition("/")
    try:
        client.get_object(Bucket=bucket, Key=f"{table}/{PROPERTIES}")["Body"].close()
    except client.exceptions.NoSuchKey:
        # The job hasn't created it yet: the comparison waits for it.
        return
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        rights = "s3:ListBucket, s3:GetObject and kms:Decrypt"
        raise OperateError(f"you may not read {lake.base_uri}: your role needs {rights} there") from None


@contextlib.contextmanager
def login(deployed: DeployedPipeline, *, owner: bool = True) -> Iterator[dict[str, Any]]:
    """Return libpq's parameters: the owner's login, where one is known, or the connector role's.

    The connector role's password may come from CDC_CONNECTOR_PASSWORD or PGPASSWORD instead of its secret. Each secret
    is read with the caller's credentials. Raises OperateError, LoadError.
    """
    environment, pipeline = deployed.environment, deployed.pipeline
    database = pipeline.database
    parameters: dict[str, Any] = {"dbname": pipeline.database_name}
    with tempfile.TemporaryDirectory() as folder:
        if database is not None:
            secret = (database.owner_secret if owner else None) or database.secret
            parameters |= {"host": database.host, "port": database.port, "sslmode": database.sslmode}
            if authority := database.authority:
                # libpq reads certificates only from files.
                root = Path(folder, "root.pem")
                root.write_text(authority, encoding="ascii")
                parameters["sslrootcert"] = str(root)
        else:
            name = "MasterSecretName" if owner else pipeline.construct_id("ConnectorSecretName")
            secret = outputs.output(environment, "database", name)
            host, _, port = outputs.output(environment, "database", "Endpoint").rpartition(":")
            parameters |= {"host": host, "port": int(port), "sslmode": "verify-full", "sslrootcert": str(rds_ca.BUNDLE)}
            if pipeline.captured.outbox:
                parameters["dbname"] = environment.database.name
        password = next(filter(None, map(os.environ.get, PASSWORD_VARIABLES)), None)
        if owner or password is None:
            user = log_in.of_secret(secret, deployed.session)
            yield parameters | {key: user[key] for key in ("user", "password")}
        else:
            yield parameters | {"user": pipeline.connector_role, "password": password}


def _salt(deployed: DeployedPipeline) -> str:
    if not deployed.pipeline.hashes:
        return ""
    name = outputs.output(deployed.environment, "database", deployed.pipeline.construct_id("HashSaltName"))
    client = deployed.session.client("secretsmanager", config=outputs.QUICK)
    text = client.get_secret_value(SecretId=name)["SecretString"]
    return str(json.loads(text)[SALT_KEY])
