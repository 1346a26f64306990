"""An update, and its rollback, end with the connector as CloudFormation was told."""

from typing import Any

import pytest

from tests.stacks.handlers.connector_histories.endings import BOTH_ORDERS, assert_gone
from tests.stacks.handlers.connector_requests import NAME, assert_as, configuration, provisioned, updates
from tests.stacks.handlers.histories import Stack
from tests.stacks.handlers.kafkaconnect_backend import DEATH, LOST, KafkaConnect


@BOTH_ORDERS
@pytest.mark.parametrize("after", [0, 30, 60, 120, 240, 600])
@pytest.mark.parametrize("kind", ["settings", "both", "anew"])
def test_a_cancelled_update_ends_as_its_rollback_wants(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], kind: str, after: int, late_first: bool
) -> None:
    stack.world.late_first = late_first
    stack.create(wanted)
    before = stack.properties
    changes: dict[str, dict[str, Any]] = {
        "settings": {**wanted, "capacity": provisioned(3)},
        "both": {**configuration(wanted, a="b"), "capacity": provisioned(3)},
        "anew": {**wanted, "kafkaConnectVersion": "2.7.1"},
    }
    stack.begin_update(changes[kind])
    stack.world.run(after)
    assert stack.roll_back(before).succeeded
    assert_as(connect, wanted)
    stack.world.drain()
    assert_as(connect, wanted)
    assert stack.update(changes[kind]).succeeded
    assert_as(connect, changes[kind])


def test_a_cancelled_update_that_polls_before_its_rollback_looks_changes_nothing(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    stack.create(wanted)
    before = stack.properties
    cancelled = stack.begin_update({**wanted, "capacity": provisioned(3)})
    stack.properties, failed = before, stack.properties
    rollback = stack.send("Update", OldResourceProperties=failed)
    cancelled.poll()
    assert "a later request has taken over" in cancelled.reason
    assert stack.world.finish(rollback).succeeded
    assert updates(connect) == []
    assert_as(connect, wanted)


@pytest.mark.parametrize("fault", [LOST, DEATH])
@pytest.mark.parametrize("operation", ["UpdateConnector", "DeleteConnector", "CreateConnector"])
def test_a_change_whose_call_ends_unknown_converges(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], operation: str, fault: str
) -> None:
    stack.create(wanted)
    changed = {**configuration(wanted, a="b"), "capacity": provisioned(3), "kafkaConnectVersion": "2.7.1"}
    if operation == "UpdateConnector":
        changed["kafkaConnectVersion"] = wanted["kafkaConnectVersion"]
    connect.faults[operation] = [fault]
    updated = stack.update(changed)
    stack.world.drain()
    assert_as(connect, changed if updated.succeeded else wanted)
    assert updated.succeeded is (fault == LOST)
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


def test_a_rollback_from_a_newer_version_of_the_code_works(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    stack.create(wanted)
    before = stack.properties
    newer = stack.begin_update({**wanted, "aKeyOfTheNextVersion": {}})
    assert "there is no aKeyOfTheNextVersion" in newer.reason
    assert stack.roll_back(before).succeeded
    stack.begin_update({**wanted, "aKeyOfTheNextVersion": {}})
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


@pytest.mark.parametrize("field", ["networkType", "s3 log"])
def test_an_optional_property_that_is_left_out_is_gone(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], field: str
) -> None:
    more = {**wanted, "networkType": "DUAL"}
    if field == "s3 log":
        logs = {**wanted["logDelivery"]["workerLogDelivery"], "s3": {"enabled": True, "bucket": "logs"}}
        more = {**wanted, "logDelivery": {"workerLogDelivery": logs}}
    stack.create(more)
    assert stack.update(wanted).succeeded
    assert connect.called("CreateConnector") == ["CreateConnector"] * 2
    assert "networkType" not in connect.connector(NAME)
    assert "s3" not in connect.connector(NAME)["logDelivery"]["workerLogDelivery"]


def test_a_key_that_is_left_out_of_the_configuration_is_gone(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    stack.create(configuration(wanted, a="b"))
    assert stack.update(wanted).succeeded
    assert_as(connect, wanted)


def test_what_the_service_adds_or_writes_its_own_way_is_no_change(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    connect.additions = {
        "kafkaConnectVersion": "3.7.1",
        "connectorConfiguration": {**wanted["connectorConfiguration"], "added.by.aws": "true"},
    }
    assert stack.create(wanted).succeeded
    assert stack.update({**wanted, "tags": {"team": "data"}}).succeeded
    assert connect.called("UpdateConnector", "DeleteConnector") == []
    connect.additions["connectorConfiguration"] = connect.additions["connectorConfiguration"] | {"by.hand": "1"}
    assert stack.update(wanted).succeeded
    assert len(updates(connect)) == 1
