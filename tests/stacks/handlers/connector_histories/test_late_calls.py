"""A call that comes after later requests, even after the stack's end, changes nothing."""

from typing import Any

from stacks.handlers import connector
from tests.stacks.handlers.connector_histories.endings import BOTH_ORDERS, assert_gone
from tests.stacks.handlers.connector_requests import assert_as
from tests.stacks.handlers.histories import Stack
from tests.stacks.handlers.kafkaconnect_backend import KafkaConnect


@BOTH_ORDERS
def test_a_waiter_that_slept_through_it_all_makes_nothing(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], late_first: bool
) -> None:
    """Its creation was cancelled, and the stack deleted, before its first look."""
    stack.world.late_first = late_first
    sleeping = stack.begin_create(wanted)
    stack.world.waiters.clear()
    assert stack.give_up_creation().succeeded
    stack.world.run(1_200)
    stack.world.waiters.append(sleeping)
    assert_gone(stack.world, connect)
    assert "a later request has taken over" in sleeping.reason


def test_an_update_that_slept_through_its_rollback_and_the_stacks_end_makes_nothing(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    stack.create(wanted)
    before = stack.properties
    sleeping = stack.begin_update({**wanted, "kafkaConnectVersion": "2.7.1"})
    sleeping.poll()
    stack.world.waiters.clear()
    stack.world.run(300)
    assert stack.roll_back(before).succeeded
    assert_as(connect, wanted)
    assert stack.destroy().succeeded
    stack.world.waiters.append(sleeping)
    assert_gone(stack.world, connect)
    assert "a later request has taken over" in sleeping.reason


def test_a_first_call_that_comes_twice_and_late_takes_nothing_over(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    """Lambda delivers at least once: the creation's first call again, when the stack is long deleted."""
    created = stack.create(wanted)
    assert stack.destroy().succeeded
    stack.world.run(60)
    again = stack.world.finish(stack.world.send(connector, created.event))
    assert "a later request has taken over" in again.reason
    assert_gone(stack.world, connect)
