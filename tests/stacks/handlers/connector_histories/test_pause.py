"""A pause deletes the connector and its end creates it anew, in the same stack: slot, offsets and plugin stay.

Nothing of a connector's progress is MSK Connect's: the slot is the database's, the offsets' topic Kafka's and the same
as before, by its name in the worker configuration (docs/decisions/0050, 0034).
"""

from typing import Any

import pytest

from tests.stacks.handlers.connector_histories.endings import assert_gone
from tests.stacks.handlers.connector_requests import NAME, assert_as, configuration
from tests.stacks.handlers.histories import Stack
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
