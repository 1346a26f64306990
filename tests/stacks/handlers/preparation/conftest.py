"""PostgreSQL stands in for Aurora; moto for Secrets Manager, and for what RDS knows of the cluster."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.services.postgres import ConnectionParameters
from stacks.handlers import preparation, preparation_record
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.cloudformation import Stack, World
from tests.stacks.handlers.preparation.cluster import Cluster


@pytest.fixture
def secrets(database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Secrets Manager with the master's secret, as RDS writes it, and the connector's."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name.upper().replace("REGION_NAME", "AWS_DEFAULT_REGION"), value)
    with mock_aws():
        manager = boto3.client("secretsmanager")
        master = {**database, "username": database["user"], "engine": "postgres"}
        manager.create_secret(Name="master", SecretString=json.dumps(master))
        manager.create_secret(
            Name="connector", SecretString=json.dumps({"username": "cdc_connector", "password": "first-Password"})
        )
        yield manager


@pytest.fixture
def cluster(secrets: Any, monkeypatch: pytest.MonkeyPatch) -> Cluster:  # noqa: ARG001  the same moto
    monkeypatch.setattr(preparation_record, "client", client)
    return Cluster()


@pytest.fixture
def source(cluster: Cluster, world: World) -> Stack:  # noqa: ARG001  without it there is no source
    return Stack(world, preparation, "PreparedSource")
