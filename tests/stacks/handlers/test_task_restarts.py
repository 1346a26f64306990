"""Failed tasks are restarted after growing pauses, on MSK Connect and on EKS, which also has its metrics published."""

import functools
import itertools
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from plugins.source.source_connector import following_slot
from plugins.workers.kubernetes_api import Cluster, KubernetesError, UnreachableError
from stacks.handlers import connector, connector_restarts, framework, kubernetes_watch
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import Clock, Stack
from tests.stacks.handlers.msk_connect.requests import NAME
from tests.stacks.handlers.msk_connect.service import KafkaConnect

Look = Callable[[], str]


@pytest.fixture
def look(
    connect: KafkaConnect,
    aws: None,  # noqa: ARG001
    clock: Clock,
    source: Stack,
    monkeypatch: pytest.MonkeyPatch,
) -> Look:
    """The handler's check of a running connector."""
    assert source.handler is connector
    source.create()
    monkeypatch.setenv("CONNECTORS", NAME)
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


SOURCE, SINK = "dev-cdc-lake-orders-source", "dev-cdc-lake-orders-sink"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Watched:
    """Connectors' states by name, and the requests; a pod of each answers with a rate of 2.5."""

    def __init__(self, states: Mapping[str, list[str]]) -> None:
        self.states = states
        self.restarted: list[str] = []
        self.configuration: dict[str, str] = {"slot.name": "x"}

    def through_service(self, method: str, _namespace: str, name: str, path: str) -> Any:
        if name not in self.states:
            raise KubernetesError(f"{method} {path}", 404, "no such connector")
        if method == "POST":
            self.restarted.append(name)
            return None
        if path.endswith("/config"):
            return self.configuration if name == SOURCE else {}
        tasks = [{"state": state} for state in self.states[name]]
        return {"connector": {"state": "RUNNING"}, "tasks": tasks}

    def pods(self, _namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        name = labels["app.kubernetes.io/instance"]
        return [
            {"metadata": {"name": f"{name}-{state}"}, "status": {"phase": state}}
            for state in ("Running", "Pending", "Running")
        ]

    def through_pod(self, _namespace: str, pod: str, _port: int, _path: str) -> Any:
        name = pod.rpartition("-")[0]
        figure = "source-record-write-rate" if name == SOURCE else "sink-record-send-rate"
        return {name: {figure: 2.5, "connector-running-task-count": 1.0}}


class Metrics:
    """CloudWatch: the published metrics, and the times of restarts."""

    def __init__(self, restarts: list[datetime]) -> None:
        self.restarts = restarts
        self.published: dict[str, dict[str, float]] = {}

    def put_metric_data(self, *, Namespace: str, MetricData: list[dict[str, Any]]) -> None:  # noqa: N803
        assert Namespace == "dev-cdc-lake/kafka-connect"
        for each in MetricData:
            name = each["Dimensions"][0]["Value"]
            self.published.setdefault(name, {})[each["MetricName"]] = each["Value"]

    def get_metric_data(self, **_query: Any) -> Any:
        return {"MetricDataResults": [{"Timestamps": self.restarts}]}


@pytest.fixture
def look_at_eks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CLUSTER", json.dumps({"name": "dev", "endpoint": "https://x", "authority": ""}))
    monkeypatch.setenv("NAMESPACE", "kafka-connect")
    monkeypatch.setenv("METRICS", "dev-cdc-lake/kafka-connect")
    monkeypatch.setenv("CONNECTORS", f"{SOURCE},{SINK}")
    monkeypatch.setattr(framework, "now", NOW.timestamp)

    def run(
        states: Mapping[str, list[str]],
        restarts: list[datetime] | None = None,
        seen: list[Metrics] | None = None,
        **configuration: str,
    ) -> tuple[Watched, Metrics]:
        world, metrics = Watched(states), Metrics(restarts or [])
        world.configuration |= configuration
        if seen is not None:
            seen.append(metrics)
        monkeypatch.setattr(kubernetes_watch, "Kubernetes", functools.partial(_of, world))
        monkeypatch.setattr(framework, "client", lambda _service: metrics)
        kubernetes_watch.handler({}, None)
        return world, metrics

    return run


def _of(world: Watched, _cluster: Cluster) -> Watched:
    return world


def test_figures_have_msk_connects_names_and_count_all_workers(look_at_eks: Any) -> None:
    _, metrics = look_at_eks({SOURCE: ["RUNNING"], SINK: ["RUNNING", "RUNNING"]})
    assert metrics.published == {
        SOURCE: {"RunningTaskCount": 1.0, "ErroredTaskCount": 0.0, "SourceRecordWriteRate": 5.0},
        SINK: {"RunningTaskCount": 2.0, "ErroredTaskCount": 0.0, "SinkRecordSendRate": 5.0},
    }


def test_a_source_that_a_re_snapshot_has_follow_its_slot_says_so_and_no_other_does(look_at_eks: Any) -> None:
    _, metrics = look_at_eks({SOURCE: ["RUNNING"], SINK: ["RUNNING"]}, **following_slot({}))
    assert metrics.published[SOURCE]["FollowsSlot"] == 1.0
    assert "FollowsSlot" not in metrics.published[SINK]


def test_a_failed_task_is_published_and_started_again(look_at_eks: Any) -> None:
    world, metrics = look_at_eks({SOURCE: ["RUNNING"], SINK: ["RUNNING", "FAILED"]})
    assert world.restarted == [SINK]
    assert metrics.published[SINK]["ErroredTaskCount"] == 1.0
    assert metrics.published[SINK]["Restarts"] == 1.0


@pytest.mark.parametrize(
    ("minutes_ago", "again"), [((4,), False), ((6,), True), ((6, 12), False), ((11, 30), True), ((59, 200, 300), True)]
)
def test_the_pauses_between_restarts_grow(look_at_eks: Any, minutes_ago: tuple[int, ...], *, again: bool) -> None:
    restarts = [NOW - timedelta(minutes=minutes) for minutes in minutes_ago]
    world, metrics = look_at_eks({SOURCE: ["FAILED"], SINK: ["RUNNING"]}, restarts)
    assert (world.restarted == [SOURCE]) is again
    assert metrics.published[SOURCE]["ErroredTaskCount"] == 1.0


def test_a_connector_that_is_gone_has_no_figures_and_the_others_have_theirs(look_at_eks: Any) -> None:
    seen: list[Metrics] = []
    with pytest.raises(KubernetesError):
        look_at_eks({SINK: ["RUNNING"]}, seen=seen)
    assert list(seen[0].published) == [SINK]


def test_a_worker_that_just_starts_is_passed_over(look_at_eks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> Any:
        raise UnreachableError("it starts")

    monkeypatch.setattr(Watched, "through_pod", away)
    _, metrics = look_at_eks({SOURCE: ["RUNNING"], SINK: ["RUNNING"]})
    assert metrics.published[SOURCE] == {"RunningTaskCount": 1.0, "ErroredTaskCount": 0.0}
