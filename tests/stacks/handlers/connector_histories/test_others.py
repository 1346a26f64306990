"""Pauses, renames, throttling, and calls that come after later requests."""

from typing import Any

import pytest

from contract.tags import FORMER_OWNER, OWNER
from stacks.handlers import connector
from tests.stacks.handlers.connector_histories.endings import BOTH_ORDERS, assert_gone
from tests.stacks.handlers.connector_requests import NAME, assert_as, configuration, provisioned
from tests.stacks.handlers.histories import Stack
from tests.stacks.handlers.journal_store import MemoryStore
from tests.stacks.handlers.kafkaconnect_backend import LOST, KafkaConnect

READING = ("List", "Describe", "Get")


@pytest.mark.parametrize("lag", [0, 60, 280])
@pytest.mark.parametrize("seconds", [0, 3 * 3_600])
def test_the_same_connector_comes_back(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], lag: int, seconds: int
) -> None:
    connect.list_lag = lag
    stack.create(wanted)
    worker_configurations, plugins = dict(connect.worker_configurations), dict(connect.plugins)
    connect.calls.clear()
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)
    assert {call for call in connect.calls if not call.startswith(READING)} == {"DeleteConnector"}
    stack.world.run(seconds)
    assert stack.create(wanted).succeeded
    assert_as(connect, wanted)
    # Where the offsets' topic is named, and what runs.
    assert connect.connector(NAME)["workerConfiguration"]["workerConfigurationArn"] in worker_configurations
    assert (dict(connect.worker_configurations), dict(connect.plugins)) == (worker_configurations, plugins)


def test_what_was_changed_before_the_pause_is_what_comes_back(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    stack.create(wanted)
    other = configuration(wanted, **{"tasks.max": "1"})
    assert stack.update(other).succeeded
    assert stack.destroy().succeeded
    assert stack.create(other).succeeded
    assert_as(connect, other)
    assert stack.update(wanted).succeeded
    assert_as(connect, wanted)


def test_a_connector_that_could_not_be_deleted_is_taken_over_as_it_is(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    """CloudFormation gives a deletion up after three attempts, and the update of the pause counts as complete."""
    stack.create(wanted)
    connect.faults["DeleteConnector"] = ["BadRequestException"] * 1_000
    for _ in range(3):
        assert not stack.destroy().succeeded
    connect.faults.clear()
    connect.calls.clear()
    assert stack.create(wanted).succeeded
    assert_as(connect, wanted)
    assert "CreateConnector" not in connect.calls


@pytest.mark.parametrize("fault", [LOST, "TooManyRequestsException"])
def test_a_resume_whose_call_ends_unknown_makes_one_connector(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], fault: str
) -> None:
    stack.create(wanted)
    assert stack.destroy().succeeded
    connect.faults["CreateConnector"] = [fault]
    assert stack.create(wanted).succeeded
    assert_as(connect, wanted)


def test_a_pause_that_is_rolled_back_never_touched_it(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    """CloudFormation deletes what a template leaves out when all else of the update is done, so never before."""
    stack.create(wanted)
    connect.calls.clear()
    assert stack.roll_back(stack.properties).succeeded
    assert_as(connect, wanted)
    assert {call for call in connect.calls if not call.startswith(READING)} <= {"TagResource", "UntagResource"}


def test_a_renamed_construct_keeps_its_connector(stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    stack.create(wanted)
    before = connect.connector(NAME)["connectorArn"]
    renamed = Stack(stack.world, connector, "Renamed")
    assert renamed.create(wanted).succeeded
    assert stack.destroy().succeeded
    stack.world.drain()
    assert connect.connector(NAME)["connectorArn"] == before
    assert connect.called("DeleteConnector", "UpdateConnector") == []
    assert renamed.update(configuration(wanted, a="b")).succeeded
    assert renamed.destroy().succeeded
    assert_gone(stack.world, connect)


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_rename_that_is_rolled_back_gives_the_connector_back(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], cancelled: bool
) -> None:
    stack.create(wanted)
    renamed = Stack(stack.world, connector, "Renamed")
    if cancelled:
        renamed.begin_create(wanted)
        stack.world.run(30)
        assert renamed.give_up_creation().succeeded
    else:
        renamed.create(wanted)
        assert renamed.destroy().succeeded
    stack.world.drain()
    assert_as(connect, wanted)
    (tags,) = [tags for arn, tags in connect.tags.items() if arn in connect.connectors]
    assert tags[OWNER] == "dev-cdc-lake-connectors/Source"
    assert FORMER_OWNER not in tags
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


def test_a_construct_is_not_renamed_and_changed_at_once(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    stack.create(wanted)
    renamed = Stack(stack.world, connector, "Renamed")
    reason = renamed.create(configuration(wanted, a="b")).reason
    assert f"the connector {NAME}, which is RUNNING, is dev-cdc-lake-connectors/Source's" in reason
    assert "connectorConfiguration (a)" in reason
    assert_as(connect, wanted)
    assert stack.update(configuration(wanted, a="c")).succeeded


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
