"""The topics' stack resource: what is asked for, who may do it, from where, and before what."""

import json
from typing import Any

import pytest

from plugins.topics import PlannedTopic
from settings.load import load
from stacks.gate import plain_text, request_of
from stacks.gate.template import LATER
from tests.stacks.conftest import Synthesized
from tests.stacks.ports import open_ports, ways_out

pytestmark = pytest.mark.synth

ROLE = "connectors"


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest, dev: Synthesized, prod: Synthesized) -> tuple[str, Synthesized]:
    return request.param, {"dev": dev, "prod": prod}[request.param]


def request(stack: Synthesized) -> dict[str, Any]:
    (resource,) = stack.resources(ROLE, "Custom::Topics").values()
    return request_of(resource) or {}


def functions(stack: Synthesized) -> list[dict[str, Any]]:
    """The functions that run the handler."""
    found = stack.resources(ROLE, "AWS::Lambda::Function").values()
    return [one["Properties"] for one in found if one["Properties"]["Handler"].startswith("stacks.handlers.topics.")]


def rights(stack: Synthesized) -> dict[str, set[str]]:
    """What each of the handler's roles may do in Kafka: the end of a resource's ARN → actions."""
    found: dict[str, set[str]] = {}
    for logical_id, policy in stack.resources(ROLE, "AWS::IAM::Policy").items():
        if not logical_id.startswith("TopicsProviderIsComplete"):
            continue
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
            for resource in resources:
                kafka = {action for action in actions if action.startswith("kafka-cluster:")}
                if kafka:
                    found.setdefault(plain_text(resource).rpartition("/")[2], set()).update(kafka)
    return found


def test_every_topic_is_asked_for_with_the_environments_retention(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    topics = {topic.name: topic for topic in map(PlannedTopic.of_request, request(stack)["topics"])}
    assert set(topics) == {
        "msk.datalake.cdc_events",
        "__debezium-heartbeat.msk",
        f"__cdc_lake_offsets_{name}-cdc-lake-orders-source-{LATER}",
    }
    settings = load(name).streaming
    events = topics["msk.datalake.cdc_events"]
    assert events.config["retention.ms"] == str(settings.topic_retention_hours * 3_600_000)
    assert events.replicas == min(settings.brokers, 3)


def test_the_sinks_group_gets_its_first_offset(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    asked = request(stack)
    assert asked["group"] == f"connect-{name}-cdc-lake-orders-sink"
    assert asked["groupTopic"] == "msk.datalake.cdc_events"


def test_the_handler_may_do_what_it_does_on_these_topics_alone(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    allowed = rights(stack)
    manage = {
        f"kafka-cluster:{action}"
        for action in (
            "AlterTopic",
            "AlterTopicDynamicConfiguration",
            "CreateTopic",
            "DescribeTopic",
            "DescribeTopicDynamicConfiguration",
        )
    }
    group = f"connect-{name}-cdc-lake-orders-sink"
    topics = {topic["name"].replace(LATER, "*") for topic in request(stack)["topics"]}
    cluster = allowed.keys() - topics - {group}
    assert {key: allowed[key] for key in topics} == {
        topic: manage | ({"kafka-cluster:ReadData"} if topic == "msk.datalake.cdc_events" else set())
        for topic in topics
    }
    assert allowed[group] == {"kafka-cluster:AlterGroup", "kafka-cluster:DescribeGroup"}
    assert [allowed[key] for key in cluster] == [{"kafka-cluster:Connect"}]


def test_it_runs_where_kafkas_client_does_inside_the_vpc(environment: tuple[str, Synthesized]) -> None:
    """The client's wheel wants a newer system than Lambda's Python 3.11 has: stacks/wheels.py."""
    _, stack = environment
    found = functions(stack)
    assert {function["Handler"].rpartition(".")[2] for function in found} == {"on_event", "is_complete"}
    for function in found:
        assert function["Runtime"] == "python3.12"
        assert len(function["Layers"]) == 1
        assert "TopicsAccess" in json.dumps(function["VpcConfig"]["SecurityGroupIds"])
        assert all("PrivateSubnet" in json.dumps(subnet) for subnet in function["VpcConfig"]["SubnetIds"])


def test_it_reaches_the_brokers_and_aws_and_nothing_else(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    assert ways_out(stack, ROLE, "TopicsAccess") == {"tcp 9098 to BrokerAccess", "tcp 443 to 0.0.0.0/0"}
    assert open_ports(stack, ROLE, "TopicsAccess") == set()
    assert "tcp 9098 from TopicsAccess" in open_ports(stack, ROLE, "BrokerAccess")
