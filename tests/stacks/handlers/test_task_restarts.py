"""Failed tasks are restarted after growing pauses, on MSK Connect and on EKS, which also has its metrics published."""

import itertools
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from plugins.source.source_connector import following_slot
from plugins.workers.kubernetes_api import KubernetesError, UnreachableError
from stacks.handlers import connector_restarts, framework, kubernetes_watch
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import Clock, Stack
from tests.stacks.handlers.msk_connect.requests import NAME
from tests.stacks.handlers.msk_connect.service import KafkaConnect
from tests.waiting import PATIENCE_S

Look = Callable[[], str]


@pytest.fixture
def look(connect: KafkaConnect, aws: None, source: Stack, monkeypatch: pytest.MonkeyPatch) -> Look:  # noqa: ARG001
    """The handler's check of a running connector."""
    source.create()
    monkeypatch.setenv("CONNECTORS", NAME)
    connect.calls.clear()
    return lambda: connector_restarts.handler({}, None)[NAME]


def report(clock: Clock, failed: int, *, name: str = NAME) -> None:
    """MSK Connect's status each minute."""
    figure = {
        "MetricName": "ErroredTaskCount",
        "Dimensions": [{"Name": "ConnectorName", "Value": name}],
        "Timestamp": datetime.fromtimestamp(clock.seconds - 60, tz=UTC),
        "Value": failed,
    }
    client("cloudwatch").put_metric_data(Namespace="AWS/KafkaConnect", MetricData=[figure])


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
    assert connector_restarts.seconds_left([*long_ago, now], now) == connector_restarts.PAUSE.total_seconds()


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


SOURCE, SINK = "dev-cdc-lake-orders-source", "dev-cdc-lake-orders-sink"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@dataclass
class Watched:
    """Connectors on EKS by their tasks' states, and CloudWatch; each pod of a connector answers with a rate of 2.5.

    `restarts` are the times that CloudWatch knows; `restarted` and `published` are what the handler does.
    """

    states: dict[str, list[str]] = field(default_factory=lambda: {SOURCE: ["RUNNING"], SINK: ["RUNNING"]})
    configuration: dict[str, str] = field(default_factory=lambda: {"slot.name": "x"})
    restarts: list[datetime] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)
    published: dict[str, dict[str, float]] = field(default_factory=dict)

    def through_service(self, method: str, _namespace: str, name: str, path: str) -> Any:
        if name not in self.states:
            raise KubernetesError(f"{method} {path}", 404, "no such connector")
        if method == "POST":
            self.restarted.append(name)
            return None
        if path.endswith("/config"):
            return self.configuration if name == SOURCE else {}
        return {"connector": {"state": "RUNNING"}, "tasks": [{"state": state} for state in self.states[name]]}

    def pods(self, _namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        name, phases = labels["app.kubernetes.io/instance"], ("Running", "Pending", "Running")
        return [{"metadata": {"name": f"{name}-{phase}"}, "status": {"phase": phase}} for phase in phases]

    def through_pod(self, _namespace: str, pod: str, _port: int, _path: str) -> Any:
        name = pod.rpartition("-")[0]
        figure = "source-record-write-rate" if name == SOURCE else "sink-record-send-rate"
        return {name: {figure: 2.5, "connector-running-task-count": 1.0}}

    def put_metric_data(self, *, Namespace: str, MetricData: list[dict[str, Any]]) -> None:  # noqa: N803
        assert Namespace == "dev-cdc-lake/kafka-connect"
        for each in MetricData:
            name = each["Dimensions"][0]["Value"]
            self.published.setdefault(name, {})[each["MetricName"]] = each["Value"]

    def get_metric_data(self, **_query: Any) -> Any:
        return {"MetricDataResults": [{"Timestamps": self.restarts}]}


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    world = Watched()
    monkeypatch.setenv("CLUSTER", json.dumps({"name": "dev", "endpoint": "https://x", "authority": ""}))
    monkeypatch.setenv("NAMESPACE", "kafka-connect")
    monkeypatch.setenv("METRICS", "dev-cdc-lake/kafka-connect")
    monkeypatch.setenv("CONNECTORS", f"{SOURCE},{SINK}")
    monkeypatch.setattr(framework, "now", NOW.timestamp)
    monkeypatch.setattr(framework, "client", lambda _service: world)
    monkeypatch.setattr(kubernetes_watch, "Kubernetes", lambda _cluster: world)
    return world


def test_figures_have_msk_connects_names_and_count_all_workers(watched: Watched) -> None:
    watched.states[SINK] = ["RUNNING", "RUNNING"]
    kubernetes_watch.handler({}, None)
    assert watched.published == {
        SOURCE: {"RunningTaskCount": 1.0, "ErroredTaskCount": 0.0, "SourceRecordWriteRate": 5.0},
        SINK: {"RunningTaskCount": 2.0, "ErroredTaskCount": 0.0, "SinkRecordSendRate": 5.0},
    }


def test_a_source_that_a_re_snapshot_has_follow_its_slot_says_so_and_no_other_does(watched: Watched) -> None:
    watched.configuration = following_slot(watched.configuration)
    kubernetes_watch.handler({}, None)
    assert watched.published[SOURCE]["FollowsSlot"] == 1.0
    assert "FollowsSlot" not in watched.published[SINK]


@pytest.mark.parametrize(
    ("minutes_ago", "again"),
    [((), True), ((4,), False), ((6,), True), ((6, 12), False), ((11, 30), True), ((59, 200, 300), True)],
)
def test_a_failed_task_is_published_and_started_again_after_a_pause_that_grows(
    watched: Watched, minutes_ago: tuple[int, ...], *, again: bool
) -> None:
    watched.states[SINK] = ["RUNNING", "FAILED"]
    watched.restarts = [NOW - timedelta(minutes=minutes) for minutes in minutes_ago]
    kubernetes_watch.handler({}, None)
    assert watched.restarted == ([SINK] if again else [])
    assert watched.published[SINK]["ErroredTaskCount"] == 1.0
    assert watched.published[SINK].get("Restarts", 0.0) == again


def test_a_worker_that_just_starts_is_passed_over(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "through_pod", Mock(side_effect=UnreachableError("it starts")))
    kubernetes_watch.handler({}, None)
    assert watched.published[SOURCE] == {"RunningTaskCount": 1.0, "ErroredTaskCount": 0.0}


def test_one_connectors_trouble_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CONNECTORS", f"{SOURCE},{SINK}")
    caplog.set_level("INFO", connector_restarts.__name__)
    other = threading.Event()

    def look_after(name: str) -> str:
        if name == SOURCE:
            assert other.wait(PATIENCE_S)
            raise TypeError("half an answer")
        other.set()
        return "no failed task"

    with pytest.raises(TypeError):
        connector_restarts.each_connector(look_after)
    assert caplog.messages == [f"{SOURCE}: not looked after: half an answer", f"{SINK}: no failed task"]
