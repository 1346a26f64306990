"""A deletion waits, asks again while it is refused, and says when it stays so."""

from typing import Any

import pytest

from stacks.handlers import kafka_connect
from tests.stacks.handlers.connector_histories.endings import assert_gone
from tests.stacks.handlers.connector_requests import NAME
from tests.stacks.handlers.histories import Stack
from tests.stacks.handlers.kafkaconnect_backend import LOST, KafkaConnect


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
