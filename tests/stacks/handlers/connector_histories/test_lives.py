"""A connector is created, changed and deleted; whatever is cancelled, fails or never ends leaves nothing over."""

from typing import Any

import pytest

from stacks.handlers import kafka_connect
from tests.stacks.handlers.connector_histories.endings import BOTH_ORDERS, assert_gone
from tests.stacks.handlers.connector_requests import NAME, assert_as, configuration, provisioned, updates
from tests.stacks.handlers.histories import Stack
from tests.stacks.handlers.kafkaconnect_backend import DEATH, EARLY_DEATH, LOST, KafkaConnect


def assert_next_works(stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    """The next attempt at the stack succeeds without hands; destroying that leaves nothing."""
    again = stack.again()
    assert again.create(wanted).succeeded
    assert_as(connect, wanted)
    assert again.destroy().succeeded
    assert_gone(stack.world, connect)


@BOTH_ORDERS
@pytest.mark.parametrize("after", [0, 30, 60, 300])
@pytest.mark.parametrize("lag", [0, 3, 10, 90])
def test_a_creation_that_is_cancelled_leaves_nothing(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], after: int, lag: int, late_first: bool
) -> None:
    connect.list_lag, stack.world.late_first = lag, late_first
    created = stack.begin_create(wanted)
    stack.world.run(after)
    assert stack.give_up_creation().succeeded
    assert_gone(stack.world, connect)
    assert created.succeeded is (after == 300)
    assert_next_works(stack, connect, wanted)


@pytest.mark.parametrize("lag", [0, 90, 280])
@pytest.mark.parametrize("fault", [DEATH, EARLY_DEATH, LOST, "InternalServerErrorException"])
def test_a_creation_whose_call_ends_unknown_leaves_nothing(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], fault: str, lag: int
) -> None:
    connect.list_lag = lag
    connect.faults["CreateConnector"] = [fault]
    created = stack.create(wanted)
    # A dead function is a failed creation for CDK's framework; everything else is asked again.
    assert created.succeeded is (fault not in (DEATH, EARLY_DEATH))
    if created.succeeded:
        assert_as(connect, wanted)
        assert stack.destroy().succeeded
    assert_gone(stack.world, connect)
    assert_next_works(stack, connect, wanted)


@pytest.mark.parametrize("fault", [DEATH, LOST])
def test_a_cancelled_creation_whose_answer_got_lost_leaves_nothing(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], fault: str
) -> None:
    connect.list_lag = 200
    connect.faults["CreateConnector"] = [fault]
    stack.begin_create(wanted)
    stack.world.run(30)
    assert stack.give_up_creation().succeeded
    assert_gone(stack.world, connect)


def test_a_creation_that_never_ends_is_given_up_and_deleted(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    connect.creation_ticks = 70 * 60 // 30
    created = stack.create(wanted)
    assert f"gave up waiting: the connector {NAME} is CREATING" in created.reason
    assert_gone(stack.world, connect)


def test_a_leftover_of_the_same_stack_is_taken_over(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    """One that a retained, or forcibly deleted, stack left behind."""
    stack.create(wanted)
    again = stack.again()
    changed = configuration(wanted, a="b")
    assert again.create(changed).succeeded
    assert_as(connect, changed)
    assert connect.called("CreateConnector") == ["CreateConnector"]


def test_a_leftover_that_failed_is_made_anew(stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    stack.create(wanted)
    connect.connector(NAME)["connectorState"] = "FAILED"
    assert stack.again().create(wanted).succeeded
    assert_as(connect, wanted)


def test_a_name_in_use_that_nothing_has_is_said(stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    connect.faults["CreateConnector"] = ["ConflictException"] * 200
    created = stack.create(wanted)
    assert f"the connector {NAME} isn't listed, but its name is in use" in created.reason
    assert "deleted while" not in created.reason


def test_a_name_that_gets_free_late_is_taken_then(stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    connect.faults["CreateConnector"] = ["ConflictException"] * 5
    assert stack.create(wanted).succeeded
    assert_as(connect, wanted)


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


def test_a_deletion_waits_as_long_as_a_creation_may_take(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    connect.creation_ticks = 45 * 60 // 30
    stack.begin_create(wanted)
    stack.world.run(120)
    assert stack.give_up_creation().succeeded
    assert_gone(stack.world, connect)


@pytest.mark.parametrize("fault", [LOST, "TooManyRequestsException", "InternalServerErrorException"])
@pytest.mark.parametrize("lag", [0, 120])
def test_a_deletion_whose_answer_got_lost_is_one(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], fault: str, lag: int
) -> None:
    connect.list_lag = lag
    stack.create(wanted)
    connect.faults["DeleteConnector"] = [fault, fault]
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


def test_a_deletion_that_is_refused_for_a_while_is_asked_for_again(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    stack.create(wanted)
    connect.faults["DeleteConnector"] = ["BadRequestException"] * 3
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


def test_a_deletion_that_stays_refused_says_so(stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    stack.create(wanted)
    connect.faults["DeleteConnector"] = ["BadRequestException"] * 100
    began = stack.world.clock.seconds
    destroyed = stack.destroy()
    assert f"the connector {NAME}, which is RUNNING, can't be deleted: BadRequestException" in destroyed.reason
    assert stack.world.clock.seconds - began <= kafka_connect.REFUSED_SECONDS + 120
    del connect.faults["DeleteConnector"]
    assert stack.destroy().succeeded
