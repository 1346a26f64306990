"""The Kubernetes objects that run a connector, in the API's shape: one group of workers.

A group is its own Kafka Connect cluster: one connector, its workers, one role. This module needs no CDK and no cluster:
tests check the objects, `./lake aws manifests` prints them, and the custom resource applies them (docs/decisions/0095).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from contract.text import UTF_8_FLAG, UTF_8_LOCALE
from plugins.workers import connect_workers
from plugins.workers.connect_workers import properties_file

Object = dict[str, Any]
NAMESPACE = "kafka-connect"
PART_OF = "cdc-lake"
# Label that names a worker's connector.
INSTANCE = "app.kubernetes.io/instance"
# Set by the image: connect-image/Dockerfile.
LIBRARIES, PLUGINS, USER = "/opt/kafka/libs", "/opt/plugins", 65532
_FOLDER = "/etc/connect"
_PORT_NAME = "rest"
_MEMORY_GIB = 4
# On the node's disk.
_TMP_GIB, _LOGS_GIB = 2, 1
# Heap as a share of the memory limit; the JVM itself and direct buffers need the rest.
_HEAP_PERCENT = 60
# A worker that is stopped hands its tasks over first.
_GRACE_S = connect_workers.STOP_S + 40
_CPU_PERCENT = 70
# Pod Identity's agent on each node (EKS user guide, "How EKS Pod Identity works").
_IDENTITY = "169.254.170.23/32"
LOG4J = "\n".join(
    (
        "log4j.rootLogger=INFO, stdout",
        "log4j.appender.stdout=org.apache.log4j.ConsoleAppender",
        "log4j.appender.stdout.layout=org.apache.log4j.PatternLayout",
        "log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n",
        # Otherwise each probe logs a line.
        "log4j.logger.org.apache.kafka.connect.runtime.rest.RestServer=WARN",
        "",
    )
)


@dataclass(frozen=True, kw_only=True)
class WorkerGroup:
    """A connector's workers: `units` of 1 vCPU and 4 GiB each, `workers` of them, up to `most` under load.

    `properties` is the workers' file, `variables` what it reads from the environment; `files` are further class path
    files. `destinations`: where workers may open connections, addresses and a TCP port each; `api`: the addresses from
    which the Kubernetes API calls the workers.
    """

    connector: str
    image: str
    workers: int
    units: int
    properties: Mapping[str, str]
    variables: Mapping[str, str]
    destinations: tuple[tuple[str, int], ...]
    api: str
    files: Mapping[str, str] = field(default_factory=dict)
    most: int = 0


def objects(group: WorkerGroup) -> list[Object]:
    return [
        _object(group, "v1", "ServiceAccount", automountServiceAccountToken=False),
        # A change of the workers' files creates a new object, and the workers roll to it.
        _object(group, "v1", "ConfigMap", name=_configuration_name(group), immutable=True, data=_files(group)),
        _network_policy(group),
        _service(group),
        _disruption_budget(group),
        _deployment(group),
        *_autoscaler(group),
    ]


def _labels(group: WorkerGroup) -> dict[str, str]:
    return {"app.kubernetes.io/name": "kafka-connect", INSTANCE: group.connector}


def _object(group: WorkerGroup, version: str, kind: str, *, name: str | None = None, **parts: Any) -> Object:
    labels = {**_labels(group), "app.kubernetes.io/part-of": PART_OF}
    metadata = {"name": name or group.connector, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def _files(group: WorkerGroup) -> dict[str, str]:
    return {"worker.properties": properties_file(group.properties), "log4j.properties": LOG4J, **group.files}


def _configuration_name(group: WorkerGroup) -> str:
    """Name the workers' files by their content."""
    digest = hashlib.sha256(json.dumps(_files(group), sort_keys=True).encode()).hexdigest()
    return f"{group.connector}-{digest[:10]}"


def _service(group: WorkerGroup) -> Object:
    """Connect's REST interface, for the API's proxy. Includes workers whose tasks have failed: they report why."""
    ports = [{"name": _PORT_NAME, "port": connect_workers.REST_PORT, "targetPort": _PORT_NAME, "protocol": "TCP"}]
    spec = {"selector": _labels(group), "ports": ports, "publishNotReadyAddresses": True}
    return _object(group, "v1", "Service", spec=spec)


def _disruption_budget(group: WorkerGroup) -> Object:
    """Drain one worker at a time. A worker whose task has failed isn't ready, and doesn't block a drain."""
    selector = {"matchLabels": _labels(group)}
    spec = {"maxUnavailable": 1, "selector": selector, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    return _object(group, "policy/v1", "PodDisruptionBudget", spec=spec)


def _autoscaler(group: WorkerGroup) -> Iterator[Object]:
    if group.most <= group.workers:
        return
    target = {"type": "Utilization", "averageUtilization": _CPU_PERCENT}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": group.connector},
        "minReplicas": group.workers,
        "maxReplicas": group.most,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        # Each worker that starts or stops moves tasks: don't scale down on a brief lull.
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 600}},
    }
    yield _object(group, "autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)


def _network_policy(group: WorkerGroup) -> Object:
    siblings = {"podSelector": {"matchLabels": _labels(group)}}
    rest = [{"port": connect_workers.REST_PORT, "protocol": "TCP"}]
    names = [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
    spec = {
        "podSelector": {"matchLabels": _labels(group)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [siblings, {"ipBlock": {"cidr": group.api}}], "ports": rest}],
        "egress": [
            {"to": [siblings], "ports": rest},
            {"ports": names},
            *(
                {"to": [{"ipBlock": {"cidr": cidr}}], "ports": [{"port": port, "protocol": "TCP"}]}
                for cidr, port in ((_IDENTITY, 80), *group.destinations)
            ),
        ],
    }
    return _object(group, "networking.k8s.io/v1", "NetworkPolicy", spec=spec)


def _deployment(group: WorkerGroup) -> Object:
    """Use two zones at least. A new worker must be ready before an old one stops."""
    spec: Object = {
        "selector": {"matchLabels": _labels(group)},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "minReadySeconds": 15,
        "progressDeadlineSeconds": 900,
        "revisionHistoryLimit": 3,
        "template": {"metadata": {"labels": {**_labels(group)}}, "spec": _pod(group)},
    }
    if group.most <= group.workers:
        # Otherwise the autoscaler decides.
        spec["replicas"] = group.workers
    return _object(group, "apps/v1", "Deployment", spec=spec)


def _pod(group: WorkerGroup) -> Object:
    return {
        "serviceAccountName": group.connector,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_S,
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "topologySpreadConstraints": [
            _spread(group, "topology.kubernetes.io/zone", "DoNotSchedule") | {"minDomains": 2},
            _spread(group, "kubernetes.io/hostname", "ScheduleAnyway"),
        ],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(group)],
        "volumes": [
            {"name": "configuration", "configMap": {"name": _configuration_name(group)}},
            # The sink buffers here before it uploads.
            {"name": "tmp", "emptyDir": {"sizeLimit": f"{_TMP_GIB}Gi"}},
        ],
    }


def _spread(group: WorkerGroup, key: str, otherwise: str) -> Object:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": otherwise,
        "labelSelector": {"matchLabels": _labels(group)},
        # Don't count pods that a rolling update is about to stop.
        "matchLabelKeys": ["pod-template-hash"],
    }


def _container(group: WorkerGroup) -> Object:
    memory_flags = [f"-XX:MaxRAMPercentage={_HEAP_PERCENT}", "-XX:+ExitOnOutOfMemoryError", "-XX:-UsePerfData"]
    java = ["java", UTF_8_FLAG, *memory_flags]
    logs = f"-Dlog4j.configuration=file:{_FOLDER}/log4j.properties"
    worker = ["org.apache.kafka.connect.cli.ConnectDistributed", f"{_FOLDER}/worker.properties"]
    memory = f"{group.units * _MEMORY_GIB}Gi"
    variables = sorted({**UTF_8_LOCALE, **group.variables}.items())
    address = {"name": connect_workers.ADDRESS, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return {
        "name": "worker",
        "image": group.image,
        "command": [*java, logs, "-cp", f"{LIBRARIES}/*:{_FOLDER}", *worker],
        "env": [address, *({"name": name, "value": value} for name, value in variables)],
        "ports": [{"name": _PORT_NAME, "containerPort": connect_workers.REST_PORT, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": str(group.units), "memory": memory, "ephemeral-storage": f"{_TMP_GIB}Gi"},
            # CPU may burst, for example at a start; memory can't be taken back. The disk also holds the worker's logs.
            "limits": {"cpu": str(2 * group.units), "memory": memory, "ephemeral-storage": f"{_TMP_GIB + _LOGS_GIB}Gi"},
        },
        "startupProbe": _probe("/health", seconds=10, failures=30),
        # The worker itself hangs. Failed tasks are restarted in place: another worker would fail as well.
        "livenessProbe": _probe("/health", seconds=30, failures=6),
        # A rolling update stops at a worker whose tasks fail.
        "readinessProbe": _probe(connect_workers.PATH, seconds=10, failures=3),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "configuration", "mountPath": _FOLDER, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  the pod's own
        ],
    }


def _probe(path: str, *, seconds: int, failures: int) -> Object:
    request = {"path": path, "port": _PORT_NAME, "scheme": "HTTP"}
    return {"httpGet": request, "periodSeconds": seconds, "timeoutSeconds": 10, "failureThreshold": failures}
