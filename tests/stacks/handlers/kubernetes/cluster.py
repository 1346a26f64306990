"""A Kubernetes cluster and its Kafka Connect in memory, as far as the handlers see them, and a connector's request.

It stands in where the real ones can't run: pods need nodes. `./lake dev test kubernetes` checks objects and rights on a
real API server, tests/plugins/workers/test_connect_workers.py the rest on real workers.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from plugins.workers.kubernetes_api import KubernetesError, UnreachableError, identity
from stacks.connectors.manifests import objects
from stacks.handlers import framework
from tests.stacks.environments import group
from tests.stacks.handlers.provider_framework import EARLY_DEATH, LOST, SLOW, LambdaDeathError, Later

TRACE = "org.apache.kafka.connect.errors.ConnectException: wrong\nCaused by: java.lang.Exception: {reason}\n"


@dataclass
class FakeCluster:
    """Replaces Kubernetes in the handlers.

    Tasks of a configuration with the key `fail` fail with its value; an image with `missing` in it never starts.
    """

    objects: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    connectors: dict[str, dict[str, str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    missing: str = "nothing"
    away_until: float = 0.0
    fault: str = ""
    later: Later = field(default_factory=Later)
    ready: bool = True
    stuck: str = ""
    state: str = "RUNNING"
    workers: list[tuple[str, float]] = field(default_factory=list)

    def tick(self) -> None:
        """Run the controllers: pods of the newest kind start, others stop."""
        self.later.tick()
        deployments = [each for each in self.objects.values() if each["kind"] == "Deployment"]
        if not deployments:
            self.workers.clear()
        for each in deployments:
            image, wanted = image_of(each), each["spec"].get("replicas", 2)
            self.workers = [one for one in self.workers if one[0] == image] or [(image, framework.now())]
            pulled = self.missing not in image
            new = wanted if pulled else 1
            each["status"] = {
                "observedGeneration": each["metadata"]["generation"],
                "updatedReplicas": new,
                "replicas": new,
                "availableReplicas": wanted if pulled and self.ready else 0,
                "conditions": [{"type": "Progressing", "status": str(not self.stuck), "message": self.stuck}],
            }

    @property
    def kinds(self) -> list[str]:
        return sorted(kind for kind, _, _ in self.objects)

    def deployment(self) -> dict[str, Any]:
        [found] = [each for each in self.objects.values() if each["kind"] == "Deployment"]
        return found

    def _check_reached(self) -> None:
        if framework.now() < self.away_until:
            raise UnreachableError("example can't be reached")

    def apply(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        self._check_reached()
        before = self.objects.get(identity(wanted), {"metadata": {"generation": 0}, "spec": None})
        after = copy.deepcopy(dict(wanted))
        changed = after.get("spec") != before.get("spec")
        after["metadata"]["generation"] = before["metadata"]["generation"] + changed
        after["status"] = before.get("status", {})
        fault, self.fault = self.fault, ""
        if fault == SLOW:
            self.later.add(lambda: self.objects.update({identity(wanted): after}))
        elif fault != EARLY_DEATH:
            self.objects[identity(wanted)] = after
        if fault == LOST:
            raise UnreachableError("example hasn't answered")
        if fault:
            raise LambdaDeathError
        return after

    def get(self, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
        self._check_reached()
        return copy.deepcopy(self.objects.get(identity(wanted)))

    def annotate(self, wanted: Mapping[str, Any], annotations: Mapping[str, str | None]) -> None:
        self._check_reached()
        metadata = self.objects[identity(wanted)]["metadata"]
        after = {**metadata.get("annotations", {}), **annotations}
        metadata["annotations"] = {key: value for key, value in after.items() if value is not None}

    def delete(self, wanted: Mapping[str, Any]) -> bool:
        self._check_reached()
        key = identity(wanted)
        found = self.objects.get(key)
        if key[0] != "Deployment":
            self.objects.pop(key, None)
        elif found and "deletionTimestamp" not in found["metadata"]:
            # In the foreground: it stays until its pods have ended.
            found["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z"
            self.later.add(lambda: self.objects.pop(key, None), ticks=4)
        return found is not None

    def pods(self, namespace: str, _labels: Mapping[str, str]) -> list[dict[str, Any]]:
        self._check_reached()
        return [_pod(namespace, image, born, pulled=self.missing not in image) for image, born in self.workers]

    def log(self, _namespace: str, _pod: str, *, lines: int) -> str:
        return "\n".join(["INFO fine", "ERROR password=secret is wrong"][:lines])

    def through_service(self, method: str, _namespace: str, name: str, path: str, body: Any = None) -> Any:
        self._check_reached()
        what = path.removeprefix(f"/connectors/{name}")
        if method != "GET":
            self.said.append(f"{method} {what}".strip())
        if method == "PUT":
            self.connectors[name] = {**body, "name": name}
            return self.connectors[name]
        if name not in self.connectors:
            raise KubernetesError(f"{method} {path}", 404, "no such connector")
        if method == "DELETE":
            del self.connectors[name]
            return None
        configuration = self.connectors[name]
        if what == "/config":
            return configuration
        if reason := configuration.get("fail"):
            part = {"state": "FAILED", "trace": TRACE.format(reason=reason)}
        else:
            part = {"state": "RUNNING"}
        return {"connector": {"state": self.state}, "tasks": [part] if self.state == "RUNNING" else []}


def image_of(deployment: Mapping[str, Any]) -> str:
    """The image of a Deployment's pods."""
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def _pod(namespace: str, image: str, born: float, *, pulled: bool) -> dict[str, Any]:
    waiting = {"reason": "ImagePullBackOff", "message": f"no such image: {image}"}
    state = {"running": {}} if pulled else {"waiting": waiting}
    made = datetime.fromtimestamp(born, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "metadata": {"name": "worker-1", "namespace": namespace, "creationTimestamp": made},
        "status": {"phase": "Running" if pulled else "Pending", "containerStatuses": [{"state": state}]},
    }


NAME = "dev-cdc-lake-orders-source"
CONFIGURATION = {"connector.class": "io.debezium", "database.hostname": "db.example"}


def eks_request(*, image: str | None = None, offsets: str | None = None, **changes: str) -> dict[str, Any]:
    """A connector on EKS, with another image, topic of offsets or configuration."""
    text = json.dumps(objects(group(NAME)))
    if image:
        text = text.replace(group(NAME).image, image)
    if offsets:
        text = text.replace(f"__cdc_lake_offsets_{NAME}-1", offsets)
    return {
        "cluster": {"name": "dev", "endpoint": "https://example", "authority": ""},
        "connectorName": NAME,
        "objects": json.loads(text),
        "connectorConfiguration": CONFIGURATION | changes,
    }
