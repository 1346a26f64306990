"""Custom resource: a connector on workers of ours on EKS. Its name is its identity, as on MSK Connect (connector.py).

Request: `cluster` (`name`, `endpoint`, `authority`), `connectorName`, `objects` (its workers', the ServiceAccount
first, as stacks/connectors/manifests.py makes them), and `connectorConfiguration`. Attribute: `Name`.

The workers are brought up to date first, then the connector gets its configuration, and it is there when its tasks run
and its workers are ready. A task that fails, or a worker that doesn't start, fails the deployment with the reason.
Deleting takes the connector away, and then its workers; slot, offsets and topics stay, as they do on MSK Connect.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from contract.tags import FORMER_OWNER, OWNER
from plugins.source import failures
from plugins.workers.kubernetes_api import Cluster, Kubernetes, KubernetesError, UnreachableError, delete_all
from plugins.workers.own_workers import OFFSETS
from stacks.handlers import connector_name, framework, journal
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting
from stacks.handlers.kubernetes_objects import no_longer, refused
from stacks.handlers.kubernetes_rollout import rollout
from stacks.handlers.redaction import hidden

_REQUEST = {"cluster": dict, "connectorName": str, "objects": list, "connectorConfiguration": dict}
# Tasks that have failed are started again so often before they count: rights that IAM still spreads, a slot that the
# worker before holds for some seconds.
RESTARTS = 3
# For how long tasks run before they count: most of what is wrong shows in their first seconds.
STEADY_SECONDS = 30
# How long a deletion tries to reach workers that can't be reached.
FAREWELL_SECONDS = 300
_APPLIED, _RESTARTED, _RUNNING_SINCE = "applied", "restarted", "running_since"
_NOT_FOUND = 404
# Somebody has stopped it on purpose: its tasks say nothing, as on MSK Connect.
_AT_REST = ("PAUSED", "STOPPED")
# An annotation: the server whose log positions a source's offsets are.
SERVER = "cdc-lake-server"


def start(event: Event) -> dict[str, Any]:
    return {"PhysicalResourceId": connector_name.kept(event, _wanted(event)["connectorName"])}


def settle(event: Event) -> Progress:
    """Take the next step from the workers and the connector as they are to what is wanted."""
    wanted = _wanted(event)
    if journal.busy(event):
        return Waiting(f"what the request before has begun with {wanted['connectorName']}")
    try:
        return _Connector(event, wanted).settle()
    except (UnreachableError, KubernetesError) as error:
        return refused(event, error)


def remove(event: Event) -> Progress:
    """Delete the connector and its workers; what is gone or another's is nothing to do."""
    try:
        wanted = _wanted(event)
    except ResourceError:
        # A request that was refused has made nothing.
        return Done()
    if journal.busy(event):
        return Waiting(f"what the request before has begun with {wanted['connectorName']}")
    try:
        return _Connector(event, wanted).remove()
    except (UnreachableError, KubernetesError) as error:
        return refused(event, error)


def _wanted(event: Event) -> dict[str, Any]:
    wanted = framework.request(event, required=_REQUEST, optional={})
    if not wanted["objects"]:
        raise ResourceError("Request: objects must name the workers'")
    return wanted


class _Connector:
    """One request's view of the connector and its workers."""

    def __init__(self, event: Event, wanted: Mapping[str, Any]) -> None:
        self._event = event
        self._wanted = wanted
        self._name: str = wanted["connectorName"]
        self._objects: list[dict[str, Any]] = wanted["objects"]
        self._namespace: str = self._objects[0]["metadata"]["namespace"]
        self._api = Kubernetes(Cluster.of_request(wanted["cluster"]))
        self._facts = journal.own(event).facts

    def settle(self) -> Progress:
        there = self._api.get(self._deployment)
        if there is not None and "deletionTimestamp" in there["metadata"]:
            return Waiting(f"{self._name}: its former workers to be gone")
        if there is None or not self._facts.get(_APPLIED):
            self._apply(there)
        workers = rollout(self._api, self._objects, since=self._event["Started"])
        if workers.failure:
            raise ResourceError(hidden(f"{self._name}: {workers.failure}"))
        if not workers.all_begun:
            return Waiting(f"{self._name}: {workers.state}")
        if self._configuration() != self._named_configuration():
            with journal.acting(self._event):
                self._rest("PUT", "/config", self._wanted["connectorConfiguration"])
            return Waiting(f"{self._name}: its configuration is taken over")
        if waiting := self._tasks() or self._steady():
            return waiting
        if not workers.complete:
            return Waiting(f"{self._name}: {workers.state}")
        if left := delete_all(self._api, no_longer(self._event, self._objects)):
            return Waiting(f"{self._name}: {', '.join(left)} to be gone")
        return Done(data={"Name": self._name})

    def remove(self) -> Progress:
        holder = self._api.get(self._objects[0])
        if holder is None or not self._is_to_be_deleted(holder):
            return Done()
        workers = rollout(self._api, self._objects, since=self._event["Started"])
        if workers.running and not self._facts.get(_APPLIED):
            late = framework.now() >= self._event["Started"] + FAREWELL_SECONDS
            try:
                with journal.acting(self._event):
                    self._rest("DELETE", "")
            except KubernetesError as error:
                if error.status != _NOT_FOUND:
                    raise
            except UnreachableError:
                # Its configuration stays in its topic: workers of this name would go on with it.
                if not late:
                    raise
            journal.note(self._event, **{_APPLIED: True})
        with journal.acting(self._event):
            left = delete_all(self._api, [*no_longer(self._event, self._objects), *self._objects])
        if left or workers.pods:
            return Waiting(f"{self._name}: {', '.join(left) or 'its workers'} to be gone")
        return Done()

    @property
    def _deployment(self) -> dict[str, Any]:
        return next(each for each in self._objects if each["kind"] == "Deployment")

    def _apply(self, there: Mapping[str, Any] | None) -> None:
        """Bring the objects up to date, once in a request, and say whose they are."""
        holder = self._api.get(self._objects[0])
        server = self._wanted["connectorConfiguration"].get("database.hostname")
        owners = self._owners(holder) | ({SERVER: server} if server else {})
        self._check_offsets(owners, there)
        with journal.acting(self._event, **{_APPLIED: True}):
            for each in self._objects:
                metadata = {**each["metadata"], "annotations": owners}
                self._api.apply({**each, "metadata": metadata})

    def _owners(self, holder: Mapping[str, Any] | None) -> dict[str, str]:
        """The annotations that say whose it is. Raises ResourceError when it is another stack's, or nobody's."""
        own = framework.owner(self._event)
        if holder is None:
            return {OWNER: own}
        present = holder["metadata"].get("annotations", {})
        stack, _, construct = present.get(OWNER, "").partition("/")
        if stack == framework.stack_name(self._event) and construct != self._event["LogicalResourceId"]:
            # A construct was renamed. CloudFormation deletes the former one next, or this one in a rollback.
            return {OWNER: own, FORMER_OWNER: present[OWNER]}
        framework.check_owner(self._event, self._name, present)
        return {OWNER: own}

    def _is_to_be_deleted(self, holder: dict[str, Any]) -> bool:
        """Whether a Delete means this, as kafka_connect.is_to_be_deleted has it."""
        present, own = holder["metadata"].get("annotations", {}), framework.owner(self._event)
        has, former = present.get(OWNER), present.get(FORMER_OWNER)
        if own not in (has, former):
            return False
        if has == own and former in (None, own):
            return True
        owners = {OWNER: former if has == own else has}
        with journal.acting(self._event):
            for each in self._objects:
                if self._api.get(each) is not None:
                    self._api.annotate(each, {FORMER_OWNER: None, **owners})
        return False

    def _check_offsets(self, owners: Mapping[str, str], there: Mapping[str, Any] | None) -> None:
        """Raise ResourceError for another topic of offsets while the source is the same: it would begin again.

        Compared with the workers that are there, which a rollback may have to bring back.
        """
        if there is None or SERVER not in owners:
            return
        kept, next_one = _offset_topic(there), _offset_topic(self._deployment)
        if there["metadata"].get("annotations", {}).get(SERVER) == owners[SERVER] and kept != next_one:
            raise ResourceError(
                f"a change of its workers would lose the offsets of {self._name}, which are in {kept}: {OFFSETS} must "
                "stay what it is"
            )

    def _configuration(self) -> Mapping[str, str] | None:
        """The connector's configuration as it is, None without a connector."""
        try:
            found: dict[str, str] = self._rest("GET", "/config")
        except KubernetesError as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        return found

    def _named_configuration(self) -> dict[str, str]:
        """The one that is wanted, as Connect says it back."""
        return {**self._wanted["connectorConfiguration"], "name": self._name}

    def _tasks(self) -> Waiting | None:
        """What there is to wait for until all tasks run. Raises ResourceError when one keeps failing."""
        try:
            status = self._rest("GET", "/status")
        except KubernetesError as error:
            if error.status == _NOT_FOUND:
                return Waiting(f"{self._name}: its first status")
            raise
        if status["connector"]["state"] in _AT_REST:
            return None
        parts = [status["connector"], *status["tasks"]]
        failed = [part for part in parts if part["state"] == "FAILED"]
        if failed:
            return self._again(failed)
        states = sorted({part["state"] for part in parts})
        if not status["tasks"] or states != ["RUNNING"]:
            return Waiting(f"{self._name}: {len(status['tasks'])} tasks, {', '.join(states)}")
        return None

    def _again(self, failed: list[dict[str, Any]]) -> Waiting:
        trace, configuration = str(failed[0].get("trace", "")), self._wanted["connectorConfiguration"]
        reason = hidden(failures.reason(trace, configuration))
        restarts = int(self._facts.get(_RESTARTED, 0))
        if restarts >= RESTARTS:
            raise ResourceError(f"{self._name}: {len(failed)} of its tasks keep failing: {reason}")
        facts: dict[str, Any] = {_RESTARTED: restarts + 1, _RUNNING_SINCE: None}
        with journal.acting(self._event, **facts):
            self._rest("POST", "/restart?includeTasks=true&onlyFailed=true")
        return Waiting(f"{self._name}: started again after: {reason}")

    def _steady(self) -> Waiting | None:
        since = self._facts.get(_RUNNING_SINCE)
        if since is None:
            journal.note(self._event, **{_RUNNING_SINCE: framework.now()})
        if since is None or framework.now() < float(since) + STEADY_SECONDS:
            return Waiting(f"{self._name}: its tasks run; whether they go on")
        return None

    def _rest(self, method: str, path: str, body: Any = None) -> Any:
        place = f"/connectors/{quote(self._name)}{path}"
        return self._api.through_service(method, self._namespace, self._name, place, body)


def _offset_topic(deployment: Mapping[str, Any]) -> str | None:
    """The topic that a Deployment's workers keep offsets in."""
    variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    return next((entry.get("value") for entry in variables if entry["name"] == OFFSETS), None)


_handler = Handler(start=start, settle=settle, remove=remove, claim=journal.claim, check=journal.check)
on_event = _handler.on_event
is_complete = _handler.is_complete
