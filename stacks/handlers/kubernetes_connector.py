"""Custom resource: a connector on our own EKS workers. Its name is its identity, as on MSK Connect (connector.py).

Request: `cluster` (`name`, `endpoint`, `authority`), `connectorName`, `objects` (its workers', the ServiceAccount
first, as stacks/connectors/manifests.py builds them), and `connectorConfiguration`. Attribute: `Name`.

The workers are updated first, then the connector gets its configuration; it is complete when its tasks run and its
workers are ready. A task that fails, or a worker that doesn't start, fails the deployment with the reason. A deletion
removes the connector, then its workers; slot, offsets and topics stay, as on MSK Connect.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from urllib.parse import quote

from contract.tags import FORMER_OWNER, OWNER
from plugins.source import failures
from plugins.workers.connect_workers import OFFSETS
from plugins.workers.kubernetes_api import Cluster, Kubernetes, KubernetesError, UnreachableError, delete_all, if_there
from stacks.handlers import framework, journal, life_cycle
from stacks.handlers.framework import Done, Event, Progress, ResourceError, Waiting
from stacks.handlers.kubernetes_objects import no_longer, refused
from stacks.handlers.life_cycle import Found, Resource
from stacks.handlers.msk_connect.changes import kept_name
from stacks.handlers.worker_log import TELLING, hidden

_REQUEST = {"cluster": dict, "connectorName": str, "objects": list, "connectorConfiguration": dict}
# Restarts before failed tasks fail the deployment: IAM may still be propagating rights, and the previous worker holds
# the slot for some seconds.
RESTARTS = 3
# How long tasks must run: most faults show in their first seconds.
STEADY_SECONDS = 30
# How long a deletion tries to reach unreachable workers.
FAREWELL_SECONDS = 300
_APPLIED, _RESTARTED, _RUNNING_SINCE = "applied", "restarted", "running_since"
# Someone has stopped it on purpose: its tasks' states don't count, as on MSK Connect.
_AT_REST = ("PAUSED", "STOPPED")
# Annotation: the server whose log positions a source's offsets are.
SERVER = "cdc-lake-server"
# What a container waits for and won't get without a change.
_HOPELESS = frozenset({"CreateContainerConfigError", "ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"})
# Restarts allowed per worker: one that starts before its rights on topics are propagated ends.
_STARTS = 5
_LOG_LINES = 20
# Allowed clock difference; the API reports whole seconds.
_SKEW_SECONDS = 2


def start(event: Event) -> str:
    return kept_name(event, _request(event)["connectorName"])


class Connector(Resource):
    """A connector and its workers. Annotations of each of its objects name the owner."""

    def __init__(self, event: Event, wanted: Mapping[str, Any]) -> None:
        super().__init__(event, wanted, wanted["connectorName"])
        self._objects: list[dict[str, Any]] = wanted["objects"]
        self.namespace: str = self._objects[0]["metadata"]["namespace"]
        self._api = Kubernetes(Cluster.of_request(wanted["cluster"]))
        self._facts = journal.own(event)

    @classmethod
    def wanted_by(cls, event: Event) -> Self:
        return cls(event, _request(event))

    def settle(self) -> Progress:
        return self._reached(super().settle)

    def remove(self) -> Progress:
        return self._reached(super().remove)

    def _reached(self, step: Callable[[], Progress]) -> Progress:
        try:
            return step()
        except (UnreachableError, KubernetesError) as error:
            return refused(self.event, error)

    def look(self) -> Found | None:
        """Get the first object, which exists as long as any but workers that are going, and the workers."""
        holder, workers = self._api.get(self._objects[0]), self._api.get(self._deployment) or {}
        going = "deletionTimestamp" in workers.get("metadata", {})
        if holder is None:
            return Found(shown=workers, tags={}, going=True) if going else None
        # A deletion continues with workers that are already going: it also deletes the connector.
        going = going and self.event["RequestType"] != "Delete"
        return Found(shown=workers, tags=dict(holder["metadata"].get("annotations", {})), going=going)

    def make(self) -> Progress:
        return self.next_step(Found(shown={}, tags={}))

    def adopt(self, found: Found) -> None:
        """Only change the tags found: the objects are about to be applied with them."""
        found.tags.update(self.adopted_tags(found))

    def give_to(self, owner: str, found: Found) -> None:  # noqa: ARG002  each object is asked for
        for each in self._objects:
            if self._api.get(each) is not None:
                self._api.annotate(each, {FORMER_OWNER: None, OWNER: owner})

    def next_step(self, found: Found) -> Progress:
        if not found.shown or not self._facts.get(_APPLIED):
            self._apply(found)
        workers = rollout(self._api, self._deployment, since=self.event["Started"])
        if workers.failure:
            raise ResourceError(hidden(f"{self.name}: {workers.failure}"))
        if not workers.all_begun:
            return Waiting(f"{self.name}: {workers.state}")
        wanted = {**self.wanted["connectorConfiguration"], "name": self.name}
        if if_there(lambda: self._rest("GET", "/config")) != wanted:
            with journal.acting(self.event):
                self._rest("PUT", "/config", self.wanted["connectorConfiguration"])
            return Waiting(f"{self.name}: its configuration is taken over")
        if waiting := self._tasks() or self._steady():
            return waiting
        if not workers.complete:
            return Waiting(f"{self.name}: {workers.state}")
        with journal.acting(self.event, seconds=journal.RUN_SECONDS):
            left = delete_all(self._api, no_longer(self.event, self._objects))
        if left:
            return Waiting(f"{self.name}: {', '.join(left)} to be gone")
        return Done(data={"Name": self.name})

    def delete(self, found: Found) -> Progress:  # noqa: ARG002  what is left of it is asked for
        workers = rollout(self._api, self._deployment, since=self.event["Started"])
        if workers.running and not self._facts.get(_APPLIED):
            try:
                with journal.acting(self.event):
                    if_there(lambda: self._rest("DELETE", ""))
            except UnreachableError:
                # Its configuration stays in its topic: new workers of this name would run it.
                if framework.now() < self.event["Started"] + FAREWELL_SECONDS:
                    raise
            journal.record(self.event, **{_APPLIED: True})
        with journal.acting(self.event, seconds=journal.RUN_SECONDS):
            left = delete_all(self._api, [*no_longer(self.event, self._objects), *self._objects])
        if left or workers.pods:
            return Waiting(f"{self.name}: {', '.join(left) or 'its workers'} to be gone")
        return Done()

    @property
    def _deployment(self) -> dict[str, Any]:
        return next(each for each in self._objects if each["kind"] == "Deployment")

    def _apply(self, found: Found) -> None:
        """Update the objects, once per request, and record their owner."""
        server = self.wanted["connectorConfiguration"].get("database.hostname")
        annotations = {OWNER: framework.owner(self.event)} | ({SERVER: server} if server else {})
        if self.event["RequestType"] == "Create" and FORMER_OWNER in found.tags:
            annotations[FORMER_OWNER] = found.tags[FORMER_OWNER]
        self._check_offsets(server, found.shown)
        with journal.acting(self.event, seconds=journal.RUN_SECONDS) as facts:
            for each in self._objects:
                metadata = {**each["metadata"], "annotations": annotations}
                self._api.apply({**each, "metadata": metadata})
            facts[_APPLIED] = True

    def _check_offsets(self, server: str | None, there: Mapping[str, Any]) -> None:
        """Raise ResourceError if the offset topic changes but the source doesn't: the connector would start over.

        Compares with the existing workers, which a rollback may have to restore.
        """
        if not there or server is None:
            return
        kept, next_one = _offset_topic(there), _offset_topic(self._deployment)
        if there["metadata"].get("annotations", {}).get(SERVER) == server and kept != next_one:
            raise ResourceError(
                f"a change of its workers would lose the offsets of {self.name}, which are in {kept}: {OFFSETS} must "
                "stay what it is"
            )

    def _tasks(self) -> Waiting | None:
        """Return what to wait for until all tasks run. Raises ResourceError if one keeps failing."""
        if (status := if_there(lambda: self._rest("GET", "/status"))) is None:
            return Waiting(f"{self.name}: its first status")
        if status["connector"]["state"] in _AT_REST:
            return None
        parts = [status["connector"], *status["tasks"]]
        if failed := [part for part in parts if part["state"] == "FAILED"]:
            return self._again(failed)
        states = sorted({part["state"] for part in parts})
        if not status["tasks"] or states != ["RUNNING"]:
            return Waiting(f"{self.name}: {len(status['tasks'])} tasks, {', '.join(states)}")
        return None

    def _again(self, failed: list[dict[str, Any]]) -> Waiting:
        trace, configuration = str(failed[0].get("trace", "")), self.wanted["connectorConfiguration"]
        reason = hidden(failures.reason(trace, configuration))
        restarts = int(self._facts.get(_RESTARTED, 0))
        if restarts >= RESTARTS:
            raise ResourceError(f"{self.name}: {len(failed)} of its tasks keep failing: {reason}")
        facts: dict[str, Any] = {_RESTARTED: restarts + 1, _RUNNING_SINCE: None}
        with journal.acting(self.event, **facts):
            self._rest("POST", "/restart?includeTasks=true&onlyFailed=true")
        return Waiting(f"{self.name}: started again after: {reason}")

    def _steady(self) -> Waiting | None:
        since = self._facts.get(_RUNNING_SINCE)
        if since is None:
            journal.record(self.event, **{_RUNNING_SINCE: framework.now()})
        if since is None or framework.now() < float(since) + STEADY_SECONDS:
            return Waiting(f"{self.name}: its tasks run; whether they go on")
        return None

    def _rest(self, method: str, path: str, body: Any = None) -> Any:
        place = f"/connectors/{quote(self.name)}{path}"
        return self._api.through_service(method, self.namespace, self.name, place, body)


def _request(event: Event) -> dict[str, Any]:
    wanted = framework.request(event, required=_REQUEST)
    if not wanted["objects"]:
        raise ResourceError("Request: objects must name the workers'")
    return wanted


def _offset_topic(deployment: Mapping[str, Any]) -> str | None:
    variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    return next((entry.get("value") for entry in variables if entry["name"] == OFFSETS), None)


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


def rollout(api: Kubernetes, wanted: Mapping[str, Any], *, since: float) -> Rollout:
    """Check a Deployment and its pods. Raises KubernetesError, UnreachableError.

    `since`: when the change began, in seconds since 1970. Faults of older pods, which a rollback is about to replace,
    don't count.
    """
    found, namespace = api.get(wanted), wanted["metadata"]["namespace"]
    pods = api.pods(namespace, wanted["spec"]["selector"]["matchLabels"])
    running = any(pod.get("status", {}).get("phase") == "Running" for pod in pods)
    if found is None:
        return Rollout(all_begun=False, complete=False, running=running, pods=bool(pods), state="no workers yet")
    status, replicas = found.get("status", {}), found["spec"].get("replicas", 1)
    seen = status.get("observedGeneration", 0) >= found["metadata"].get("generation", 0)
    new, ready = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    others = status.get("replicas", 0) - new
    reasons = {reason for pod in pods for reason in _unmet(pod, "PodScheduled")}
    reasons |= {str(waiting.get("reason", "waiting")) for _, waiting, _ in _held_up(pods)}
    state = f"{new} of {replicas} workers are of the newest kind, {ready} ready, {max(others, 0)} older"
    return Rollout(
        all_begun=seen and new >= replicas and running,
        complete=seen and new >= replicas and ready >= replicas and others <= 0,
        running=running,
        pods=bool(pods),
        state=f"{state} ({'; '.join(sorted(reasons))})" if reasons else state,
        failure=_failure(api, found, [pod for pod in pods if _is_of(pod, since)]) if seen else None,
    )


def _is_of(pod: Mapping[str, Any], since: float) -> bool:
    """Whether this change created the pod, and it isn't being deleted."""
    metadata = pod["metadata"]
    born = datetime.fromisoformat(metadata["creationTimestamp"]).timestamp()
    return "deletionTimestamp" not in metadata and born >= since - _SKEW_SECONDS


def _held_up(pods: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any], int]]:
    """Yield the pod, what it waits for, and the number of restarts of each container that isn't running."""
    for pod in pods:
        for container in pod.get("status", {}).get("containerStatuses", []):
            if waiting := container.get("state", {}).get("waiting"):
                yield pod["metadata"]["name"], waiting, container.get("restartCount", 0)


def _unmet(thing: Mapping[str, Any], type_: str) -> list[str]:
    """Return why a condition of a pod or Deployment isn't met."""
    conditions = thing.get("status", {}).get("conditions", [])
    unmet = [each for each in conditions if each["type"] == type_ and each["status"] == "False"]
    return [str(each.get("message", each.get("reason", "no reason given"))) for each in unmet]


def _failure(api: Kubernetes, deployment: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> str | None:
    for name, waiting, restarts in _held_up(pods):
        if waiting.get("reason") in _HOPELESS:
            return f"the worker {name} can't start: {waiting['reason']}: {waiting.get('message', '')}"
        if restarts >= _STARTS:
            lines = _last_lines(api, deployment["metadata"]["namespace"], name)
            return f"the worker {name} ends again and again: {lines}"
    unmet = _unmet(deployment, "Progressing")
    return f"its workers don't become ready: {unmet[0]}" if unmet else None


def _last_lines(api: Kubernetes, namespace: str, pod: str) -> str:
    try:
        lines = api.log(namespace, pod, lines=_LOG_LINES).splitlines()
    except (UnreachableError, KubernetesError) as error:
        return f"its log can't be read: {error}"
    telling = [line.strip() for line in lines if TELLING.search(line)]
    return " | ".join((telling or lines)[-3:]) or "it has logged nothing"


on_event, is_complete = life_cycle.handler(start, Connector).functions
