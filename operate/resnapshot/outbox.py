"""Brings an environment's lake in line with its source: `./lake resnapshot` on AWS."""

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3

from contract import rds_ca
from contract.events import LSN
from local.comparison.compare import TableComparison
from local.comparison.describe import Compared
from local.comparison.run import Sides
from local.look.lake import Lake
from local.resnapshot.run import Wanted, resnapshot
from operate import outputs, source_cluster
from operate.errors import OperateError
from operate.kafka import reader
from operate.kafka.cluster import of_environment
from operate.kafka.reader import Reader
from operate.resnapshot.connectors import source_of
from settings.connectors import source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline, OutsideDatabase
from settings.load import PIPELINES
from settings.pipeline import CapturedTableSettings

TAIL_EVENTS = 1_000
# On AWS, landing and commits take a minute each, and an update of the connector several.
TIMEOUT_S = 1_800


def resnapshot_environment(environment: Environment, wanted: Wanted, say: Callable[[str], None]) -> TableComparison:
    """Re-snapshot a deployed environment, from a machine that reaches its VPC. Raises OperateError, PlatformError."""
    pipeline, outbox = _outbox(environment)
    session = outputs.check_account(environment)
    with outputs.one_line(environment), login(environment, session, pipeline) as parameters:
        topic = source_settings(environment, pipeline).topic
        with reader.connect(of_environment(environment, pipeline.name)) as messages:
            newest = newest_position(messages, topic)
        connector = source_of(environment, pipeline, session, newest=newest)
        lake = lake_table(environment, session, pipeline, outbox)
        compared = Compared(entry=outbox, schema_file=PIPELINES / pipeline.captured.schema_file(outbox), lake=lake)
        comparison = resnapshot(Sides(parameters, [compared]), connector, wanted, say)
        if comparison.equal and wanted.where is None:
            source_cluster.nothing_missed(session.client("rds", config=outputs.QUICK), environment)
        return comparison


def _outbox(environment: Environment) -> tuple[EnvironmentPipeline, CapturedTableSettings]:
    """Return the pipeline of the outbox, and the outbox. Raises OperateError."""
    pipeline = environment.outbox
    if pipeline is None or pipeline.captured.outbox is None:
        raise OperateError(f"environments/{environment.name}.toml names no pipeline with an outbox")
    return pipeline, pipeline.captured.outbox


def newest_position(messages: Reader, topic: str) -> int:
    """Return the highest log position among a topic's newest events, 0 if it holds none. Raises KafkaException."""
    tail = messages.to_the_end(topic, lambda _partition, end: end - TAIL_EVENTS)
    events = (json.loads(value) for message in tail if (value := message.value()))
    return max((int(event.get(LSN) or 0) for event in events), default=0)


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


def secret_values(session: boto3.Session, secret: str) -> dict[str, str]:
    """Return a secret's values, read with the caller's credentials. Raises ClientError."""
    text = session.client("secretsmanager", config=outputs.QUICK).get_secret_value(SecretId=secret)["SecretString"]
    found: dict[str, str] = json.loads(text)
    return found


def _user(session: boto3.Session, secret: str) -> dict[str, str]:
    values = secret_values(session, secret)
    return {"user": values["username"], "password": values["password"]}


def lake_table(
    environment: Environment, session: boto3.Session, pipeline: EnvironmentPipeline, table: CapturedTableSettings
) -> Lake:
    """Return where the lake has a table, and how to read it. Raises OperateError."""
    bucket = outputs.output(environment, "lake", "LakeBucket")
    credentials = session.get_credentials()
    if credentials is None:
        raise OperateError(f"no AWS credentials for account {environment.account}: {outputs.LOG_IN}")
    frozen = credentials.get_frozen_credentials()
    options = {
        "aws_region": environment.region,
        "aws_access_key_id": frozen.access_key or "",
        "aws_secret_access_key": frozen.secret_key or "",
    }
    if frozen.token:
        options["aws_session_token"] = frozen.token
    return Lake(base_uri=f"s3://{bucket}/{pipeline.captured.lake_table(table)}", storage_options=options)
