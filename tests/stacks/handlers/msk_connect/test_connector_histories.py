"""Histories that only a connector can have: lost answers, late lists, a name in use, and pauses."""

from typing import Any

import pytest

from stacks.handlers.msk_connect import resource
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, failing, succeeds
from tests.stacks.handlers.msk_connect.requests import NAME, assert_as, configuration, provisioned, updates
from tests.stacks.handlers.msk_connect.service import KafkaConnect
from tests.stacks.handlers.provider_framework import DEATH, LOST


def assert_gone(stack: Stack, connect: KafkaConnect) -> None:
    """Nothing exists, and nothing will."""
    stack.world.drain()
    assert connect.connectors == {}


def test_a_creation_that_never_ends_is_given_up_and_deleted(stack: Stack, connect: KafkaConnect) -> None:
    connect.creation_ticks = 70 * 60 // 30
    assert f"gave up waiting: the connector {NAME} is CREATING" in failing(stack.create)
    assert_gone(stack, connect)


def test_a_leftover_of_the_same_stack_is_taken_over(stack: Stack, connect: KafkaConnect) -> None:
    """One that a retained, or forcibly deleted, stack left behind."""
    stack.create()
    again = stack.again()
    changed = configuration(stack.wanted, a="b")
    again.create(changed)
    assert_as(connect, changed)
    assert connect.called("CreateConnector") == ["CreateConnector"]


def test_a_name_in_use_that_nothing_has_is_waited_for_and_said(stack: Stack, connect: KafkaConnect) -> None:
    connect.faults["CreateConnector"] = ["ConflictException"] * 200
    reason = failing(stack.create)
    assert f"the connector {NAME} isn't listed, but its name is in use" in reason
    assert "deleted while" not in reason
    connect.faults["CreateConnector"] = ["ConflictException"] * 5
    stack.create()
    assert_as(connect, stack.wanted)


@pytest.mark.parametrize("fault", [LOST, DEATH])
def test_a_replacement_whose_deletion_ends_unknown_converges(stack: Stack, connect: KafkaConnect, fault: str) -> None:
    stack.create()
    changed = {**configuration(stack.wanted, a="b"), "capacity": provisioned(3), "kafkaConnectVersion": "2.7.1"}
    connect.faults["DeleteConnector"] = [fault]
    assert succeeds(stack.update, changed) is (fault == LOST)
    stack.world.drain()
    assert_as(connect, changed if fault == LOST else stack.wanted)
    stack.delete()
    assert_gone(stack, connect)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"networkType": "DUAL"}, id="network type"),
        pytest.param({"logDelivery": {"workerLogDelivery": {"s3": {"enabled": True, "bucket": "logs"}}}}, id="S3 log"),
        pytest.param({"connectorConfiguration": {"a": "b"}}, id="a key of the configuration"),
    ],
)
def test_what_is_left_out_is_gone(stack: Stack, connect: KafkaConnect, more: dict[str, Any]) -> None:
    stack.create(stack.but(**more))
    stack.update(stack.wanted)
    assert_as(connect, stack.wanted)
    found = connect.connector(NAME)
    assert "networkType" not in found
    assert found["logDelivery"] == stack.wanted["logDelivery"]


def test_what_the_service_adds_or_writes_its_own_way_is_no_change(stack: Stack, connect: KafkaConnect) -> None:
    connect.additions = {
        "kafkaConnectVersion": "3.7.1",
        "connectorConfiguration": {**stack.wanted["connectorConfiguration"], "added.by.aws": "true"},
    }
    stack.create()
    stack.update({**stack.wanted, "tags": {"team": "data"}})
    assert connect.called("UpdateConnector", "DeleteConnector") == []
    connect.additions["connectorConfiguration"] = connect.additions["connectorConfiguration"] | {"by.hand": "1"}
    stack.update(stack.wanted)
    assert len(updates(connect)) == 1


@pytest.mark.parametrize("fault", [LOST, "TooManyRequestsException", "InternalServerErrorException"])
@pytest.mark.parametrize("lag", [0, 120])
def test_a_deletion_whose_answer_got_lost_is_one(stack: Stack, connect: KafkaConnect, fault: str, lag: int) -> None:
    connect.list_lag = lag
    stack.create()
    connect.faults["DeleteConnector"] = [fault, fault]
    stack.delete()
    assert_gone(stack, connect)


def test_a_deletion_that_is_refused_is_asked_for_again_for_minutes(stack: Stack, connect: KafkaConnect) -> None:
    stack.create()
    connect.faults["DeleteConnector"] = ["BadRequestException"] * 100
    began = stack.world.clock.seconds
    with pytest.raises(DeploymentError, match=f"the connector {NAME}, which is RUNNING, can't be deleted: BadRequest"):
        stack.delete()
    assert stack.world.clock.seconds - began <= resource.REFUSED_SECONDS + 120
    connect.faults["DeleteConnector"] = ["BadRequestException"] * 3
    stack.delete()
    assert_gone(stack, connect)


def test_a_construct_is_not_renamed_and_changed_at_once(stack: Stack, connect: KafkaConnect) -> None:
    stack.create()
    reason = failing(stack.renamed().create, configuration(stack.wanted, a="b"))
    assert f"the connector {NAME}, which is RUNNING, is dev-cdc-lake-connectors/Source's" in reason
    assert "connectorConfiguration (a)" in reason
    assert_as(connect, stack.wanted)
    stack.update(configuration(stack.wanted, a="c"))
