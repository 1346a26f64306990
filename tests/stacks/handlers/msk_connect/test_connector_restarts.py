"""A failed task is restarted after growing pauses, and a running connector is left alone."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from stacks.handlers import connector, connector_restarts
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import Clock, Stack
from tests.stacks.handlers.msk_connect.connector_requests import NAME
from tests.stacks.handlers.msk_connect.service import KafkaConnect

Look = Callable[[], str]


@pytest.fixture
def look(
    connect: KafkaConnect,
    aws: None,  # noqa: ARG001
    clock: Clock,
    source: Stack,
    wanted: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Look:
    """The handler's check of a running connector."""
    assert source.handler is connector
    source.create(wanted)
    monkeypatch.setenv("CONNECTORS", NAME)
    monkeypatch.setattr(connector_restarts, "metrics", lambda: client("cloudwatch"))
    connect.clock = clock
    connect.calls.clear()
    return lambda: connector_restarts.handler({}, None)[NAME]


def report(clock: Clock, failed: int, *, name: str = NAME) -> None:
    """MSK Connect's status each minute."""
    client("cloudwatch").put_metric_data(
        Namespace="AWS/KafkaConnect",
        MetricData=[
            {
                "MetricName": "ErroredTaskCount",
                "Dimensions": [{"Name": "ConnectorName", "Value": name}],
                "Timestamp": datetime.fromtimestamp(clock.seconds - 60, tz=UTC),
                "Value": failed,
            }
        ],
    )


def test_a_connector_whose_tasks_run_is_left_alone(look: Look, connect: KafkaConnect, clock: Clock) -> None:
    assert look() == "no failed task"
    report(clock, 0)
    report(clock, 1, name="another")
    assert look() == "no failed task"
    assert "RestartConnector" not in connect.calls


def test_failed_tasks_alone_are_restarted(look: Look, connect: KafkaConnect, clock: Clock) -> None:
    report(clock, 1)
    assert look() == "failed tasks restarted, 1 times by now"
    [request] = [request for name, request in connect.requests if name == "RestartConnector"]
    assert request["onlyFailedTasks"] is True
    connect.tick()
    clock.seconds += 300
    report(clock, 0)
    assert look() == "no failed task"


def test_pauses_grow_up_to_an_hour(look: Look, connect: KafkaConnect, clock: Clock) -> None:
    restarted_at = []
    for _ in range(60):
        report(clock, 1)
        if "restarted, " in look():
            restarted_at.append(clock.seconds)
            connect.tick()
        clock.seconds += 300
    pauses = [later - earlier for earlier, later in itertools.pairwise(restarted_at)]
    assert pauses == [300, 600, 1_200, 2_400, 3_600, 3_600, 3_600]


def test_a_connector_that_ran_for_hours_begins_with_the_shortest_pause_again() -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    long_ago = [now - timedelta(hours=7 + hours) for hours in range(5)]
    assert connector_restarts.pause_after([*long_ago, now], now) == connector_restarts.PAUSE


@pytest.mark.parametrize("state", ["FAILED", "UPDATING", "PAUSED"])
def test_what_isnt_running_cant_be_restarted(look: Look, connect: KafkaConnect, clock: Clock, state: str) -> None:
    report(clock, 1)
    [found] = connect.connectors.values()
    found["connectorState"] = state
    assert look() == f"{state}, so it can't be restarted"


def test_an_update_that_begins_meanwhile_goes_first(look: Look, connect: KafkaConnect, clock: Clock) -> None:
    report(clock, 1)
    connect.faults["RestartConnector"] = ["BadRequestException"]
    assert look().startswith("failed tasks, not restarted: ")


def test_one_connectors_trouble_doesnt_keep_it_from_the_next(
    look: Look, connect: KafkaConnect, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    report(clock, 1)
    monkeypatch.setenv("CONNECTORS", f"gone,another,{NAME}")
    connect.faults["ListConnectors"] = ["TooManyRequestsException"]
    caplog.set_level("INFO", connector_restarts.__name__)
    with pytest.raises(ClientError, match="TooManyRequests"):
        look()
    assert "gone: not looked after: " in caplog.text
    assert "another: there is none" in caplog.text
    assert f"{NAME}: failed tasks restarted" in caplog.text
