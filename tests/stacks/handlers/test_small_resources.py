"""Addresses of brokers, a database's protection, requests for topics, and the rotation of VPN passwords."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import botocore.session
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from plugins.kafka.msk_login import login
from plugins.kafka.topics import PlannedTopic
from stacks.handlers import bootstrap_brokers, database_protection, topics, vpn_rotation
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
    return Stack(world, bootstrap_brokers, wanted={"clusterArn": ARN})


def answer(kafka: Stubber, *given: str, arn: str = ARN) -> None:
    """The service's next answers: addresses, or the state of a cluster that has none yet."""
    for each in given:
        found = {"BootstrapBrokerStringSaslIam": each} if ":" in each else {}
        kafka.add_response("get_bootstrap_brokers", found, {"ClusterArn": arn})
        if not found:
            kafka.add_response("describe_cluster_v2", {"ClusterInfo": {"State": each}}, {"ClusterArn": arn})


@pytest.mark.parametrize("given", [("b-2:9098,b-1:9098",), ("CREATING", "b-1:9098,b-2:9098")])
def test_the_addresses_come_in_one_order_and_are_waited_for(
    kafka: Stubber, brokers: Stack, given: tuple[str, ...]
) -> None:
    answer(kafka, *given)
    assert brokers.create() == {"BootstrapBrokers": "b-1:9098,b-2:9098"}
    assert brokers.physical_id == f"{ARN}/bootstrap-brokers"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("ACTIVE", "has no address for IAM: enable IAM authentication"),
        ("FAILED", "is FAILED"),
        ("DELETING", "DELETING"),
    ],
)
def test_a_cluster_that_never_will_have_one_is_said(kafka: Stubber, brokers: Stack, state: str, reason: str) -> None:
    answer(kafka, state)
    assert reason in failing(brokers.create)


def test_another_cluster_is_another_resource(kafka: Stubber, brokers: Stack) -> None:
    answer(kafka, "b-1:9098")
    brokers.create()
    answer(kafka, "c-1:9098", arn=f"{ARN}9")
    brokers.update({"clusterArn": f"{ARN}9"})
    assert brokers.physical_id == f"{ARN}9/bootstrap-brokers"
    assert brokers.deleted == [f"{ARN}/bootstrap-brokers"]


def test_the_state_names_are_the_services() -> None:
    model = botocore.session.get_session().get_service_model("kafka")
    assert {*bootstrap_brokers._LOST, "ACTIVE"} <= set(getattr(model.shape_for("ClusterState"), "enum", ()))


WANTED = {"DBClusterIdentifier": "prod-cdc-lake"}
CHANGE = {**WANTED, "DeletionProtection": True, "ApplyImmediately": True}
OFF, ON = (("describe_db_clusters", {"DBClusters": [{"DeletionProtection": on}]}, WANTED) for on in (False, True))
SWITCHED: tuple[Any, ...] = ("modify_db_cluster", {"DBCluster": {}}, CHANGE)
BUSY, GONE = ("modify_db_cluster", "InvalidDBClusterStateFault"), ("describe_db_clusters", "DBClusterNotFoundFault")


@pytest.fixture
def rds() -> Iterator[Stubber]:
    with Stubber(client("rds")) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def protection(world: World) -> Stack:
    return Stack(world, database_protection, wanted={"clusterIdentifier": "prod-cdc-lake"})


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([OFF, SWITCHED, ON], id="switched on and looked at"),
        pytest.param([ON], id="protected already"),
        pytest.param([OFF, BUSY, ON], id="being changed"),
    ],
)
def test_a_database_is_protected_and_stays_so_without_its_stack(
    rds: Stubber, protection: Stack, answers: list[tuple[Any, ...]]
) -> None:
    for each in answers:
        (rds.add_client_error if each is BUSY else rds.add_response)(*each)
    protection.create()
    assert protection.physical_id == "prod-cdc-lake/deletion-protection"
    protection.delete()


def test_a_database_that_is_gone_is_said(rds: Stubber, protection: Stack) -> None:
    rds.add_client_error(*GONE)
    assert "there is no cluster prod-cdc-lake" in failing(protection.create)


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


def test_topics_are_made_with_a_login_by_iam_that_keeps_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "ap-southeast-2")
    settings = topics.connection("b-1.example:9098")
    assert (settings["security.protocol"], settings["sasl.mechanisms"]) == ("SASL_SSL", "OAUTHBEARER")
    assert settings["oauth_cb"].func is login
    assert settings["log_level"] == 0


TOPIC = PlannedTopic(name="a.events", partitions=1, replicas=1, config={}).as_request()


@pytest.fixture
def planned(world: World) -> Stack:
    wanted = {"bootstrapServers": "b", "topics": [TOPIC], "group": "g", "groupTopic": "a.events"}
    return Stack(world, topics, "Topics", wanted=wanted)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"topics": [{"name": "a"}]}, "Request: topics: not a topic: KeyError('partitions')"),
        ({"topics": [TOPIC | {"partitions": 0}]}, "Request: topics: topic a.events: partitions"),
        ({"group": 5}, "Request: group must be of type str"),
        ({"more": 1}, "Request: there is no more"),
    ],
)
def test_a_request_for_topics_that_makes_no_sense_is_refused_at_once(
    planned: Stack, changes: dict[str, Any], reason: str
) -> None:
    assert failing(planned.create, planned.but(**changes)).startswith(reason)


def test_a_deletion_of_topics_needs_neither_brokers_nor_a_request_that_it_knows(
    planned: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "connection", lambda _servers: pytest.fail("it asked Kafka"))
    planned.properties, planned.physical_id = {"Request": '{"of": "a newer version"}'}, "a.events/topics"
    planned.delete()
