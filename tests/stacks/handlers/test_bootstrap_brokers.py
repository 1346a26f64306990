from typing import Any

import botocore.session
import pytest
from botocore.stub import Stubber

from stacks.handlers import bootstrap_brokers
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, World, failing

ARN = "arn:aws:kafka:ap-southeast-2:123456789012:cluster/dev/11111111-2222-2"


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Any:
    """botocore's stubber checks requests and answers against the service's model; moto has no such operation."""
    service = client("kafka")
    monkeypatch.setattr(bootstrap_brokers, "client", lambda: service)
    with Stubber(service) as stubber:
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


def test_a_busy_service_is_asked_again(kafka: Any, brokers: Stack) -> None:
    kafka.add_client_error("get_bootstrap_brokers", "InternalServerErrorException")
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


def test_a_refusal_is_the_reason(kafka: Any, brokers: Stack) -> None:
    kafka.add_client_error("get_bootstrap_brokers", "ForbiddenException", "not allowed")
    with pytest.raises(DeploymentError, match="GetBootstrapBrokers: ForbiddenException: not allowed"):
        brokers.create({"clusterArn": ARN})


def test_the_state_names_are_the_services() -> None:
    model = botocore.session.get_session().get_service_model("kafka")
    assert {*bootstrap_brokers._LOST, "ACTIVE"} <= set(getattr(model.shape_for("ClusterState"), "enum", ()))
