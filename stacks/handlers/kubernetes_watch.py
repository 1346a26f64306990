"""Watches connectors on EKS, on a schedule: publishes their tasks' states and restarts failed tasks.

MSK Connect does this itself, under the same names (plugins/workers/connect_workers.py). In the environment: `CLUSTER`
(JSON: `name`, `endpoint`, `authority`), `NAMESPACE` (of Kubernetes), `METRICS` (CloudWatch's namespace) and
`CONNECTORS`, separated by commas. A connector that doesn't answer has no metrics, and its alarm reports that. Pauses
between restarts grow as on MSK Connect (connector_restarts.py); the metrics themselves show the earlier restarts.
"""

import json
import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from plugins.source.source_connector import not_following_slot
from plugins.workers import connect_workers
from plugins.workers.connect_workers import DIMENSION, FAILED, FOLLOWS_SLOT, RATES, REST_PORT, RESTARTS, RUNNING
from plugins.workers.kubernetes_api import Cluster, Kubernetes, KubernetesError, UnreachableError
from stacks.handlers import framework
from stacks.handlers.connector_restarts import REMEMBERED, each_connector, figures_by_minute, seconds_left

_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def handler(_event: Mapping[str, Any], _context: object) -> dict[str, str]:
    """Check each connector; return what was done, by name."""
    api, namespace = Kubernetes(Cluster.of_request(json.loads(os.environ["CLUSTER"]))), os.environ["NAMESPACE"]
    return each_connector(lambda name: _look_after(api, namespace, name))


def _look_after(api: Kubernetes, namespace: str, name: str) -> str:
    place = f"/connectors/{quote(name)}"
    status = api.through_service("GET", namespace, name, f"{place}/status")
    states = [task["state"] for task in status["tasks"]]
    failed = states.count("FAILED") + (status["connector"]["state"] == "FAILED")
    figures = {RUNNING: float(states.count("RUNNING")), FAILED: float(failed), **_rates(api, namespace, name)}
    configuration = api.through_service("GET", namespace, name, f"{place}/config")
    if configuration != not_following_slot(configuration):
        figures[FOLLOWS_SLOT] = 1.0
    if not failed:
        _publish(name, figures)
        return f"{len(states)} tasks, none has failed"
    now = datetime.fromtimestamp(framework.now(), tz=UTC)
    known = figures_by_minute(name, os.environ["METRICS"], RESTARTS, "Sum", since=REMEMBERED, now=now)
    restarts = list(known.get("Timestamps", []))
    if (left := seconds_left(restarts, now)) > 0:
        _publish(name, figures)
        return f"failed tasks, to be restarted in {left:.0f} s"
    _publish(name, {**figures, RESTARTS: 1.0})
    api.through_service("POST", namespace, name, f"{place}/restart?includeTasks=true&onlyFailed=true")
    return f"failed tasks restarted, {len(restarts) + 1} times by now"


def _rates(api: Kubernetes, namespace: str, name: str) -> dict[str, float]:
    """Records per second, summed over all workers."""
    found: dict[str, float] = {}
    for pod in api.pods(namespace, {"app.kubernetes.io/instance": name}):
        if pod.get("status", {}).get("phase") != "Running":
            continue
        try:
            figures = api.through_pod(namespace, pod["metadata"]["name"], REST_PORT, connect_workers.PATH)
        except (KubernetesError, UnreachableError) as error:
            # The worker is starting or stopping: the connector's status is what counts.
            _log.info("%s: %s", name, error)
            continue
        for figure, value in (figures or {}).get(name, {}).items():
            if metric := RATES.get(figure):
                found[metric] = found.get(metric, 0.0) + float(value)
    return found


def _publish(name: str, figures: Mapping[str, float]) -> None:
    data = [
        {"MetricName": metric, "Value": value, "Dimensions": [{"Name": DIMENSION, "Value": name}]}
        for metric, value in figures.items()
    ]
    framework.client("cloudwatch").put_metric_data(Namespace=os.environ["METRICS"], MetricData=data)
