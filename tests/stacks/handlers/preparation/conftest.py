"""PostgreSQL stands in for Aurora and for outside servers, moto for AWS."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.services.postgres import ConnectionParameters
from stacks.handlers import preparation
from tests.stacks.handlers.clients import CREDENTIALS
from tests.stacks.handlers.cloudformation import Stack, World
from tests.stacks.handlers.preparation.cluster import Cluster, request
from tests.tls import Authority


@pytest.fixture
def manager(clients: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:  # noqa: ARG001
    """Secrets Manager without a secret; moto also provides the handler's other services."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name.upper().replace("REGION_NAME", "AWS_DEFAULT_REGION"), value)
    with mock_aws():
        yield boto3.client("secretsmanager")


@pytest.fixture
def secrets(manager: Any, database: ConnectionParameters) -> Any:
    """Secrets Manager with the master's secret, in RDS's format, and the connector's."""
    master = {**database, "username": database["user"], "engine": "postgres"}
    manager.create_secret(Name="master", SecretString=json.dumps(master))
    connector = {"username": "cdc_connector", "password": "first-Password"}
    manager.create_secret(Name="connector", SecretString=json.dumps(connector))
    return manager


@pytest.fixture
def cluster(secrets: Any) -> Cluster:  # noqa: ARG001  the same moto
    return Cluster()


@pytest.fixture
def source(cluster: Cluster, world: World, database: ConnectionParameters) -> Stack:  # noqa: ARG001
    return Stack(world, preparation, "PreparedSource", wanted=request(database))


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("The authority of somebody's server")
