"""A creation that is cancelled, fails or never ends leaves nothing over, and the next one works."""

from typing import Any

import pytest

from tests.stacks.handlers.connector_histories.endings import BOTH_ORDERS, assert_gone
from tests.stacks.handlers.connector_requests import NAME, assert_as, configuration
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
