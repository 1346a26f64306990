"""A service, or a bucket, that answers nothing for minutes is waited for."""

from typing import Any

import pytest

from tests.stacks.handlers.connector_histories.endings import assert_gone
from tests.stacks.handlers.connector_requests import assert_as, configuration, provisioned
from tests.stacks.handlers.histories import Stack
from tests.stacks.handlers.journal_store import MemoryStore
from tests.stacks.handlers.kafkaconnect_backend import KafkaConnect


@pytest.mark.parametrize("seconds", [30, 60, 150, 400])
@pytest.mark.parametrize(
    "operation", ["*", "ListConnectors", "DescribeConnector", "ListTagsForResource", "TagResource", "CreateConnector"]
)
def test_throttling_is_waited_out(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], operation: str, seconds: int
) -> None:
    changed = {**configuration(wanted, a="b"), "capacity": provisioned(3)}

    def throttle() -> None:
        connect.throttled_until[operation] = stack.world.clock.seconds + seconds

    throttle()
    assert stack.create(wanted).succeeded
    throttle()
    assert stack.update(changed).succeeded
    assert_as(connect, changed)
    throttle()
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


@pytest.mark.parametrize("operation", ["*", "ListConnectorOperations", "UpdateConnector"])
def test_a_rollback_waits_out_throttling_too(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], operation: str
) -> None:
    stack.create(wanted)
    before = stack.properties
    stack.begin_update({**wanted, "capacity": provisioned(3)})
    stack.world.run(60)
    connect.throttled_until[operation] = stack.world.clock.seconds + 300
    assert stack.roll_back(before).succeeded
    assert_as(connect, wanted)


@pytest.mark.parametrize("seconds", [60, 500])
def test_a_bucket_that_answers_nothing_for_minutes_is_waited_for(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], records: MemoryStore, seconds: int
) -> None:
    until = 0.0
    records.busy = lambda: stack.world.clock.seconds < until
    assert stack.create(wanted).succeeded
    before = stack.properties
    stack.begin_update({**wanted, "capacity": provisioned(3)})
    stack.world.run(60)
    until = stack.world.clock.seconds + seconds
    assert stack.roll_back(before).succeeded
    assert_as(connect, wanted)
    until = stack.world.clock.seconds + seconds
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)
