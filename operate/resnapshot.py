"""Brings an environment's lake back to what its source says: what `make resnapshot` does on one machine, on AWS."""

import json
from collections.abc import Callable
from typing import Any

import boto3
from confluent_kafka import TopicPartition

from contract import rds_ca
from contract.events import LSN
from local.look.lake import Lake
from local.look.reconcile import Comparison
from local.resnapshot.run import Wanted, resnapshot
from operate import kafka, outputs, reader, source_cluster
from operate.errors import OperateError
from operate.msk_connector import MskConnector
from operate.reader import Reader
from settings.connectors import source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline

TAIL_EVENTS = 1_000
# Landing and commits come by the minute there, and an update of the connector takes some.
TIMEOUT_S = 1_800


def resnapshot_environment(environment: Environment, wanted: Wanted, say: Callable[[str], None]) -> Comparison:
    """Re-snapshot a deployed environment, from a machine that reaches its VPC. Raises OperateError, PlatformError."""
    session = outputs.check_account(environment)
    with outputs.one_line(environment):
        parameters = database(environment, session)
        arn = outputs.output(environment, "connectors", "SourceConnectorArn")
        settings = source_settings(environment, _outbox(environment))
        with reader.connect(kafka.of_environment(environment)) as messages:
            newest = newest_position(messages, settings.topic)
        connector = MskConnector(session.client("kafkaconnect"), arn, slot=settings.slot_name, newest=newest)
        comparison = resnapshot(parameters, lake(environment, session), connector, wanted, say)
        if comparison.equal and wanted.where is None:
            source_cluster.nothing_missed(session.client("rds", config=outputs.QUICK), environment)
        return comparison


def database(environment: Environment, session: boto3.Session) -> dict[str, Any]:
    """Return how the owner of the source database logs in. Raises OperateError."""
    host, _, port = outputs.output(environment, "database", "Endpoint").rpartition(":")
    secret = outputs.output(environment, "database", "MasterSecretName")
    text = session.client("secretsmanager", config=outputs.QUICK).get_secret_value(SecretId=secret)["SecretString"]
    values = json.loads(text)
    return {
        "host": host,
        "port": int(port),
        "dbname": environment.database.name,
        "user": values["username"],
        "password": values["password"],
        "sslmode": "verify-full",
        "sslrootcert": str(rds_ca.BUNDLE),
    }


def lake(environment: Environment, session: boto3.Session) -> Lake:
    """Return the lake's table, read with the caller's credentials. Raises OperateError when there is no single one."""
    captured = _outbox(environment).captured
    assert captured.outbox is not None  # noqa: S101  it is what the pipeline was chosen by
    folder = captured.lake_table(captured.outbox)
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
    return Lake(base_uri=f"s3://{bucket}/{folder}", storage_options=options)


def _outbox(environment: Environment) -> EnvironmentPipeline:
    if environment.outbox is None:
        raise OperateError(f"environments/{environment.name}.toml names no pipeline with an outbox")
    return environment.outbox


def newest_position(messages: Reader, topic: str) -> int:
    """Return the highest log position among a topic's newest events, 0 when it holds none. Raises KafkaException."""
    newest = 0
    for partition in messages.partitions().get(topic, []):
        first, end = messages.bounds(topic, partition)
        if first == end:
            continue
        messages.assign([TopicPartition(topic, partition, max(first, end - TAIL_EVENTS))])
        while (message := messages.poll(reader.REQUEST_TIMEOUT_S)) is not None:
            value = message.value()
            event = json.loads(value) if value else {}
            newest = max(newest, int(event.get(LSN) or 0))
            if (message.offset() or 0) >= end - 1:
                break
    return newest
