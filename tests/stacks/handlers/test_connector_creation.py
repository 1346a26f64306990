import json
from typing import Any

import pytest

from stacks.handlers import connector, framework
from tests.stacks.handlers.connector_requests import (
    NAME,
    Make,
    configuration,
    source_event,
)
from tests.stacks.handlers.deployment import DeploymentError, Resource, failing
from tests.stacks.handlers.kafkaconnect_backend import LOST, KafkaConnect


def test_it_is_made_as_asked_for(connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
    data = source.create(wanted)
    (arn,) = connect.connectors
    made = connect.connector(NAME)
    assert source.physical_id == NAME
    assert data == {"Name": NAME, "Arn": arn, "Version": made["currentVersion"]}
    assert made["connectorConfiguration"] == wanted["connectorConfiguration"]
    assert made["plugins"][0]["customPlugin"]["revision"] == 1
    assert connect.tags[arn]["environment"] == "dev"
    assert connect.called("CreateConnector") == ["CreateConnector"]


def test_a_request_that_aws_refuses_is_its_reason(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
) -> None:
    wanted["plugins"][0]["customPlugin"]["customPluginArn"] += "x"
    assert "CreateConnector: BadRequestException: The custom plugin is not ACTIVE." in failing(source, wanted)
    assert connect.connectors == {}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"capacity": None}, "capacity must be of type dict"),
        ({"connectorDescription": "x"}, "there is no connectorDescription"),
        ({"capacity": {"provisionedCapacity": {"mcuCount": "one", "workerCount": 1}}}, "mcuCount"),
        ({"tags": {"cdc-lake-owner": "me"}}, "the tag cdc-lake-owner is the handlers' own"),
    ],
)
def test_a_wrong_request_is_refused_by_its_name(
    source: Resource, wanted: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    assert reason in failing(source, {**wanted, **changes})


def test_a_strangers_connector_of_that_name_is_left_alone(
    connect: KafkaConnect, resource: Make, wanted: dict[str, Any]
) -> None:
    resource(connector, stack_id="arn:aws:cloudformation:x:1:stack/another/1").create(wanted)
    before = json.dumps(connect.connectors)
    source = resource(connector)
    reason = failing(source, configuration(wanted, a="b"))
    assert f"{NAME} is there already and isn't this resource's (cdc-lake-owner=another/Source)" in reason
    assert source.attempts == [NAME]
    assert json.dumps(connect.connectors) == before


def test_a_stranger_who_is_quicker_keeps_the_name(
    connect: KafkaConnect, resource: Make, wanted: dict[str, Any]
) -> None:
    resource(connector, stack_id="arn:aws:cloudformation:x:1:stack/another/1").create(wanted)
    before = json.dumps(connect.connectors)
    source = resource(connector)
    # The look before the creation doesn't see it yet.
    connect.clock, connect.list_lag = source.clock, 60
    for arn in connect.connectors:
        connect.born[arn] = source.clock.seconds
    assert "isn't this resource's" in failing(source, wanted)
    assert connect.called("CreateConnector") == ["CreateConnector"] * 3
    assert json.dumps(connect.connectors) == before


@pytest.mark.parametrize("fault", ["TooManyRequestsException", "InternalServerErrorException", LOST])
@pytest.mark.parametrize("operation", ["CreateConnector", "DescribeConnector", "ListTagsForResource"])
def test_a_busy_service_is_asked_again(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any], operation: str, fault: str
) -> None:
    connect.faults[operation] = [fault]
    source.create(wanted)
    assert len(connect.connectors) == 1


def test_a_service_that_stays_busy_is_given_up_with_the_reason(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "300")
    connect.faults["DescribeConnector"] = ["TooManyRequestsException"] * 12
    assert "gave up waiting: DescribeConnector again after TooManyRequests" in failing(source, wanted)
    assert connect.connectors == {}


def test_one_that_never_runs_is_given_up_before_the_framework_does(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
) -> None:
    waiting = source.begin(source_event(source, wanted))
    source.clock.seconds += framework.DEADLINE_SECONDS - 1
    assert source.poll(waiting) is None
    source.clock.seconds += 1
    with pytest.raises(DeploymentError, match=f"gave up waiting: the connector {NAME} is CREATING"):
        source.poll(waiting)
    # CloudFormation gave it up without ever getting an id. It can't be deleted while it is created: that is waited for.
    source.physical_id = "dev-cdc-lake-connectors-Source-1ABCDEFGHIJK"
    source.delete()
    assert connect.connectors == {}


def test_a_delivery_that_comes_twice_makes_one(connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
    event = source_event(source, wanted)
    first = source.begin(event)
    source.clock.seconds += 7
    second = source.begin(event)
    assert first["PhysicalResourceId"] == second["PhysicalResourceId"] == NAME
    assert source.finish(first) == source.finish(second)
    assert len(connect.connectors) == 1


def test_a_creation_that_was_deleted_meanwhile_is_not_made_again(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
) -> None:
    event = source_event(source, wanted)
    deliveries = [source.begin(event), source.begin(event)]
    source.poll(deliveries[0])
    source.physical_id = "dev-cdc-lake-connectors-Source-1ABCDEFGHIJK"
    source.clock.seconds += 30
    connect.tick()
    source.delete()
    for waiting in deliveries:
        with pytest.raises(DeploymentError, match="a later request has taken over"):
            source.poll(waiting)
    assert connect.connectors == {}


def test_one_that_is_deleted_by_hand_while_it_is_created_is_not_made_again(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
) -> None:
    waiting = source.begin(source_event(source, wanted))
    source.poll(waiting)
    connect.connectors.clear()
    with pytest.raises(DeploymentError, match="was deleted while it was created"):
        source.finish(waiting)


def test_the_name_of_one_that_is_being_deleted_is_waited_for(
    connect: KafkaConnect, resource: Make, wanted: dict[str, Any]
) -> None:
    old = resource(connector, stack_id="arn:aws:cloudformation:x:1:stack/before/1")
    old.create(wanted)
    old.poll(old.begin(old.event("Delete")))
    resource(connector).create(wanted)
    assert connect.connector(NAME)["connectorState"] == "RUNNING"
