"""Addresses of brokers, a database's protection, and the rotation of VPN passwords."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import botocore.session
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from stacks.handlers import bootstrap_brokers, database_protection, vpn_rotation
from stacks.vpn import PASSWORD_LENGTH
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import Stack, World, failing

ARN = "arn:aws:kafka:ap-southeast-2:123456789012:cluster/dev/11111111-2222-2"


@pytest.fixture
def kafka() -> Iterator[Stubber]:
    """botocore's stubber checks requests and answers against the service's model; moto has no such operation."""
    with Stubber(client("kafka")) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def brokers(world: World) -> Stack:
    return Stack(world, bootstrap_brokers)


def addresses(kafka: Any, text: str | None) -> None:
    answer = {} if text is None else {"BootstrapBrokerStringSaslIam": text}
    kafka.add_response("get_bootstrap_brokers", answer, {"ClusterArn": ARN})


def state(kafka: Any, name: str) -> None:
    kafka.add_response("describe_cluster_v2", {"ClusterInfo": {"State": name}}, {"ClusterArn": ARN})


def test_the_addresses_come_in_one_order(kafka: Any, brokers: Stack) -> None:
    addresses(kafka, "b-2:9098,b-1:9098")
    assert brokers.create({"clusterArn": ARN}) == {"BootstrapBrokers": "b-1:9098,b-2:9098"}
    assert brokers.physical_id == f"{ARN}/bootstrap-brokers"


def test_a_cluster_that_is_being_made_is_waited_for(kafka: Any, brokers: Stack) -> None:
    addresses(kafka, None)
    state(kafka, "CREATING")
    addresses(kafka, "b-1:9098")
    assert brokers.create({"clusterArn": ARN})["BootstrapBrokers"] == "b-1:9098"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ACTIVE", "has no address for IAM: enable IAM authentication"),
        ("FAILED", "is FAILED"),
        ("DELETING", "DELETING"),
    ],
)
def test_a_cluster_that_never_will_have_one_is_said(kafka: Any, brokers: Stack, name: str, reason: str) -> None:
    addresses(kafka, None)
    state(kafka, name)
    assert reason in failing(brokers.create, {"clusterArn": ARN})


def test_another_cluster_is_another_resource(kafka: Any, brokers: Stack) -> None:
    addresses(kafka, "b-1:9098")
    brokers.create({"clusterArn": ARN})
    other = f"{ARN}9"
    kafka.add_response("get_bootstrap_brokers", {"BootstrapBrokerStringSaslIam": "c-1:9098"}, {"ClusterArn": other})
    brokers.update({"clusterArn": other})
    assert brokers.physical_id == f"{other}/bootstrap-brokers"
    assert brokers.deleted == [f"{ARN}/bootstrap-brokers"]


def test_the_state_names_are_the_services() -> None:
    model = botocore.session.get_session().get_service_model("kafka")
    assert {*bootstrap_brokers._LOST, "ACTIVE"} <= set(getattr(model.shape_for("ClusterState"), "enum", ()))


REQUEST = {"clusterIdentifier": "prod-cdc-lake"}
WANTED = {"DBClusterIdentifier": "prod-cdc-lake"}
CHANGE = {**WANTED, "DeletionProtection": True, "ApplyImmediately": True}


@pytest.fixture
def rds() -> Iterator[Stubber]:
    with Stubber(client("rds")) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def protection(world: World) -> Stack:
    return Stack(world, database_protection)


def described(rds: Any, *, protected: bool) -> None:
    rds.add_response("describe_db_clusters", {"DBClusters": [{"DeletionProtection": protected}]}, WANTED)


def test_it_is_switched_on_and_looked_at(rds: Any, protection: Stack) -> None:
    described(rds, protected=False)
    rds.add_response("modify_db_cluster", {"DBCluster": {}}, CHANGE)
    described(rds, protected=True)
    protection.create(REQUEST)
    assert protection.physical_id == "prod-cdc-lake/deletion-protection"


def test_a_database_that_is_protected_already_is_left_alone(rds: Any, protection: Stack) -> None:
    described(rds, protected=True)
    protection.create(REQUEST)


def test_a_database_that_is_being_changed_is_waited_for(rds: Any, protection: Stack) -> None:
    described(rds, protected=False)
    rds.add_client_error("modify_db_cluster", "InvalidDBClusterStateFault")
    described(rds, protected=True)
    protection.create(REQUEST)


def test_a_database_that_is_gone_is_said(rds: Any, protection: Stack) -> None:
    rds.add_client_error("describe_db_clusters", "DBClusterNotFoundFault")
    assert "there is no cluster prod-cdc-lake" in failing(protection.create, REQUEST)


def test_deleting_the_stack_leaves_the_protection(rds: Any, protection: Stack) -> None:
    described(rds, protected=True)
    protection.create(REQUEST)
    protection.delete()


NAME = "dev-cdc-lake/vpn/alice"
TOKEN = "0123456789abcdef0123456789abcdef"
STEPS = ("createSecret", "setSecret", "testSecret", "finishSecret")


@pytest.fixture
def secret(clients: None) -> Iterator[str]:  # noqa: ARG001
    with mock_aws():
        yield client("secretsmanager").create_secret(Name=NAME, SecretString="Former")["ARN"]


def step(secret: str, name: str) -> None:
    vpn_rotation.handler({"SecretId": secret, "ClientRequestToken": TOKEN, "Step": name}, None)


def value(secret: str, stage: str = "AWSCURRENT") -> str:
    return str(client("secretsmanager").get_secret_value(SecretId=secret, VersionStage=stage)["SecretString"])


def test_a_rotation_makes_another_password_current_at_its_last_step(
    secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    """And keeps the former one; every step may come twice."""
    # Secrets Manager stages a version that has no value yet.
    staged = {"VersionIdsToStages": {TOKEN: ["AWSPENDING"]}}
    with patch.object(client("secretsmanager"), "describe_secret", return_value=staged):
        step(secret, STEPS[0])
    password = value(secret, "AWSPENDING")
    for name in STEPS[1:-1]:
        step(secret, name)
    assert (len(password), password.isascii(), password.isalnum()) == (PASSWORD_LENGTH, True, True)
    assert value(secret) == "Former"
    for name in (*STEPS, *STEPS):
        step(secret, name)
    assert (value(secret), value(secret, "AWSPREVIOUS")) == (password, "Former")
    assert "rotated" in caplog.text
    assert password not in caplog.text


@pytest.mark.parametrize(("name", "said"), [("finishSecret", "isn't pending"), ("deleteSecret", "is no step of a rot")])
def test_a_step_that_has_no_version_or_is_unknown_is_refused(secret: str, name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        step(secret, name)
    assert value(secret) == "Former"
