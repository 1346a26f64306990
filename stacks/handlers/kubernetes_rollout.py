"""Reports the progress of a change of a connector's workers, and why it is stuck."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from plugins.workers.kubernetes_api import Kubernetes, UnreachableError

# What a container waits for and won't get without a change.
_HOPELESS = frozenset({"CreateContainerConfigError", "ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"})
# Restarts allowed per worker: one that starts before its rights on topics are propagated ends.
_STARTS = 5
_LOG_LINES = 20
# Allowed clock difference; the API reports whole seconds.
_SKEW_SECONDS = 2
_TELLING = ("ERROR", "FATAL", "Exception", "Caused by")


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """`all_begun`: every worker is of the newest version; `complete`: they are ready, and no older one is left.

    `running`: some pod runs. `failure`: why it can't complete. `state` is for people.
    """

    all_begun: bool
    complete: bool
    running: bool
    pods: bool
    state: str
    failure: str | None = None


def rollout(api: Kubernetes, objects: Sequence[Mapping[str, Any]], *, since: float) -> Rollout:
    """Check the Deployment among the objects, and its pods. Raises KubernetesError, UnreachableError.

    `since`: when the change began, in seconds since 1970. Faults of older pods, which a rollback is about to replace,
    don't count.
    """
    wanted = next(each for each in objects if each["kind"] == "Deployment")
    found = api.get(wanted)
    pods = api.pods(wanted["metadata"]["namespace"], wanted["spec"]["selector"]["matchLabels"])
    running = any(pod.get("status", {}).get("phase") == "Running" for pod in pods)
    if found is None:
        return Rollout(all_begun=False, complete=False, running=running, pods=bool(pods), state="no workers yet")
    status, replicas = found.get("status", {}), found["spec"].get("replicas", 1)
    seen = status.get("observedGeneration", 0) >= found["metadata"].get("generation", 0)
    new, ready = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    others = status.get("replicas", 0) - new
    reasons = sorted(set(_waiting(pods)))
    state = f"{new} of {replicas} workers are of the newest kind, {ready} ready, {max(others, 0)} older"
    return Rollout(
        all_begun=seen and new >= replicas and running,
        complete=seen and new >= replicas and ready >= replicas and others <= 0,
        running=running,
        pods=bool(pods),
        state=f"{state} ({'; '.join(reasons)})" if reasons else state,
        failure=_failure(api, found, [pod for pod in pods if _is_of(pod, since)]) if seen else None,
    )


def _is_of(pod: Mapping[str, Any], since: float) -> bool:
    """Whether this change created the pod, and it isn't being deleted."""
    metadata = pod["metadata"]
    born = datetime.fromisoformat(metadata["creationTimestamp"]).timestamp()
    return "deletionTimestamp" not in metadata and born >= since - _SKEW_SECONDS


def _waiting(pods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield why pods aren't running."""
    for pod in pods:
        status = pod.get("status", {})
        for condition in status.get("conditions", []):
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                yield str(condition.get("message", condition.get("reason", "not scheduled")))
        for container in status.get("containerStatuses", []):
            if waiting := container.get("state", {}).get("waiting"):
                yield str(waiting.get("reason", "waiting"))


def _failure(api: Kubernetes, deployment: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> str | None:
    for pod in pods:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        for container in pod.get("status", {}).get("containerStatuses", []):
            waiting = container.get("state", {}).get("waiting") or {}
            if waiting.get("reason") in _HOPELESS:
                return f"the worker {name} can't start: {waiting['reason']}: {waiting.get('message', '')}"
            if waiting and container.get("restartCount", 0) >= _STARTS:
                return f"the worker {name} ends again and again: {_last_lines(api, namespace, name)}"
    for condition in deployment.get("status", {}).get("conditions", []):
        if condition["type"] == "Progressing" and condition["status"] == "False":
            return f"its workers don't become ready: {condition.get('message', condition.get('reason', ''))}"
    return None


def _last_lines(api: Kubernetes, namespace: str, pod: str) -> str:
    """Return the most telling last lines of a worker's log."""
    try:
        lines = api.log(namespace, pod, lines=_LOG_LINES).splitlines()
    except UnreachableError as error:
        return f"its log can't be read: {error}"
    telling = [line.strip() for line in lines if any(word in line for word in _TELLING)]
    return " | ".join((telling or lines)[-3:]) or "it has logged nothing"
