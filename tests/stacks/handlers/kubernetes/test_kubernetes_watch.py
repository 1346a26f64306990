"""Published metrics of connectors on EKS, and restarts of their failed tasks."""

import functools
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plugins.source.source_connector import following_slot
from plugins.workers.kubernetes_api import Cluster, KubernetesError, UnreachableError
from stacks.handlers import connector_restarts, framework, kubernetes_watch

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
def look(monkeypatch: pytest.MonkeyPatch) -> Any:
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
        for module in (kubernetes_watch, connector_restarts):
            monkeypatch.setattr(module, "metrics", lambda: metrics)
        kubernetes_watch.handler({}, None)
        return world, metrics

    return run


def _of(world: Watched, _cluster: Cluster) -> Watched:
    return world


def test_figures_have_msk_connects_names_and_count_all_workers(look: Any) -> None:
    _, metrics = look({SOURCE: ["RUNNING"], SINK: ["RUNNING", "RUNNING"]})
    assert metrics.published == {
        SOURCE: {"RunningTaskCount": 1.0, "ErroredTaskCount": 0.0, "SourceRecordWriteRate": 5.0},
        SINK: {"RunningTaskCount": 2.0, "ErroredTaskCount": 0.0, "SinkRecordSendRate": 5.0},
    }


def test_a_source_that_a_re_snapshot_has_follow_its_slot_says_so_and_no_other_does(look: Any) -> None:
    _, metrics = look({SOURCE: ["RUNNING"], SINK: ["RUNNING"]}, **following_slot({}))
    assert metrics.published[SOURCE]["FollowsSlot"] == 1.0
    assert "FollowsSlot" not in metrics.published[SINK]


def test_a_failed_task_is_published_and_started_again(look: Any) -> None:
    world, metrics = look({SOURCE: ["RUNNING"], SINK: ["RUNNING", "FAILED"]})
    assert world.restarted == [SINK]
    assert metrics.published[SINK]["ErroredTaskCount"] == 1.0
    assert metrics.published[SINK]["Restarts"] == 1.0


@pytest.mark.parametrize(
    ("minutes_ago", "again"), [((4,), False), ((6,), True), ((6, 12), False), ((11, 30), True), ((59, 200, 300), True)]
)
def test_the_pauses_between_restarts_grow(look: Any, minutes_ago: tuple[int, ...], *, again: bool) -> None:
    restarts = [NOW - timedelta(minutes=minutes) for minutes in minutes_ago]
    world, metrics = look({SOURCE: ["FAILED"], SINK: ["RUNNING"]}, restarts)
    assert (world.restarted == [SOURCE]) is again
    assert metrics.published[SOURCE]["ErroredTaskCount"] == 1.0


def test_a_connector_that_is_gone_has_no_figures_and_the_others_have_theirs(look: Any) -> None:
    seen: list[Metrics] = []
    with pytest.raises(KubernetesError):
        look({SINK: ["RUNNING"]}, seen=seen)
    assert list(seen[0].published) == [SINK]


def test_a_worker_that_just_starts_is_passed_over(look: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> Any:
        raise UnreachableError("it starts")

    monkeypatch.setattr(Watched, "through_pod", away)
    _, metrics = look({SOURCE: ["RUNNING"], SINK: ["RUNNING"]})
    assert metrics.published[SOURCE] == {"RunningTaskCount": 1.0, "ErroredTaskCount": 0.0}
