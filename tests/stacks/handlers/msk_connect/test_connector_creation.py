"""A connector's creation, and what a failure says and leaves."""

import copy
from typing import Any

import pytest

from tests.stacks.handlers.cloudformation import DeploymentError, Stack, failing
from tests.stacks.handlers.msk_connect.requests import NAME, assert_as, configuration, log, provisioned, updates
from tests.stacks.handlers.msk_connect.service import KafkaConnect


def test_it_is_made_as_asked_for(connect: KafkaConnect, source: Stack) -> None:
    data = source.create()
    (arn,) = connect.connectors
    made = connect.connector(NAME)
    assert source.physical_id == NAME
    assert data == {"Name": NAME, "Arn": arn, "Version": made["currentVersion"]}
    assert made["connectorConfiguration"] == source.wanted["connectorConfiguration"]
    assert made["plugins"][0]["customPlugin"]["revision"] == 1
    assert connect.tags[arn]["environment"] == "dev"
    assert connect.called("CreateConnector") == ["CreateConnector"]


def test_a_request_that_aws_refuses_is_its_reason(connect: KafkaConnect, source: Stack) -> None:
    source.wanted["plugins"][0]["customPlugin"]["customPluginArn"] += "x"
    assert "CreateConnector: BadRequestException: The custom plugin is not ACTIVE." in failing(source.create)
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
def test_a_wrong_request_is_refused_by_its_name(source: Stack, changes: dict[str, Any], reason: str) -> None:
    assert reason in failing(source.create, source.but(**changes))


def test_a_stranger_who_is_quicker_keeps_the_name(connect: KafkaConnect, source: Stack) -> None:
    source.again(name="another").create()
    before = copy.deepcopy(connect.connectors)
    # The check before the creation doesn't see it yet.
    connect.list_lag = 60
    for arn in connect.connectors:
        connect.born[arn] = source.world.clock.seconds
    assert "isn't this resource's" in failing(source.create)
    assert connect.called("CreateConnector") == ["CreateConnector"] * 3
    assert connect.connectors == before


def test_one_deleted_by_hand_while_it_is_created_is_not_made_again(connect: KafkaConnect, source: Stack) -> None:
    waiting = source.begin_create()
    waiting.poll()
    connect.connectors.clear()
    with pytest.raises(DeploymentError, match="was deleted while it was created"):
        source.finish(waiting)


@pytest.mark.usefixtures("aws")
def test_one_that_fails_says_why_and_leaves_nothing(connect: KafkaConnect, source: Stack) -> None:
    log(f"{NAME}-8f1", "INFO starting", "ERROR password=hunter2", "INFO stopping", "Caused by: no pg_hba.conf entry")
    log(f"{NAME}-old", "ERROR long ago", at=1_795_000_000_000)
    log("another-connector", "ERROR not mine", at=1_795_240_900_000)
    connect.creations = ["FAILED"]
    reason = failing(source.create)
    assert f"the connector {NAME} FAILED: UnknownError.Unknown: The last operation failed." in reason
    assert reason.endswith("last lines of /dev/connectors:\nERROR password=[hidden]\nCaused by: no pg_hba.conf entry")
    assert connect.connectors == {}
    assert source.deleted == [NAME]


@pytest.mark.usefixtures("aws")
def test_a_long_log_fits_into_the_answer(connect: KafkaConnect, source: Stack) -> None:
    log(f"{NAME}-8f1", *[f'ERROR {number} "{"ü" * 1_000}"' for number in range(300)])
    connect.creations = ["FAILED"]
    reason = failing(source.create)
    assert reason.startswith(f"the connector {NAME} FAILED")
    assert "ERROR 299" in reason


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("delivery", "reason"),
    [
        ({"cloudWatchLogs": {"enabled": True, "logGroup": "/gone"}}, "/gone couldn't be read: ResourceNotFound"),
        ({"cloudWatchLogs": {"enabled": False}}, "it logs to no log group"),
    ],
)
def test_a_log_that_cannot_be_read_does_not_hide_the_failure(
    connect: KafkaConnect, source: Stack, delivery: dict[str, Any], reason: str
) -> None:
    connect.creations = ["FAILED"]
    text = failing(source.create, {**source.wanted, "logDelivery": {"workerLogDelivery": delivery}})
    assert "The last operation failed." in text
    assert reason in text


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("ending", ["ROLLBACK_COMPLETE", "UPDATE_FAILED", "ROLLBACK_FAILED"])
def test_an_update_that_aws_rolls_back_ends_where_it_began(connect: KafkaConnect, source: Stack, ending: str) -> None:
    source.create()
    log(f"{NAME}-8f1", "ERROR no such setting")
    connect.updates = [ending]
    reason = failing(source.update, configuration(source.wanted, a="b"))
    assert f"UPDATE_CONNECTOR_CONFIGURATION of {NAME} ended in {ending}: HealthCheckFailed: Tasks" in reason
    assert reason.endswith("ERROR no such setting")
    assert_as(connect, source.wanted)
    assert source.deleted == []


@pytest.mark.usefixtures("aws")
def test_a_second_operation_that_fails_takes_the_first_back(connect: KafkaConnect, source: Stack) -> None:
    source.create()
    connect.updates = ["UPDATE_COMPLETE", "ROLLBACK_COMPLETE"]
    failing(source.update, {**configuration(source.wanted, a="b"), "capacity": provisioned(4)})
    assert_as(connect, source.wanted)
    assert [set(each) & {"capacity", "connectorConfiguration"} for each in updates(connect)] == [
        {"capacity"},
        {"connectorConfiguration"},
        {"capacity"},
    ]


@pytest.mark.usefixtures("aws")
def test_a_new_one_that_fails_is_replaced_by_the_old(connect: KafkaConnect, source: Stack) -> None:
    source.create()
    connect.creations = ["FAILED"]
    reason = failing(source.update, source.but(kafkaConnectVersion="2.7.1"))
    assert f"the connector {NAME} FAILED" in reason
    assert_as(connect, source.wanted)
