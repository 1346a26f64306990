"""Rules for Kubernetes: the connectors' cluster, and its objects.

Who reaches the cluster's API, who may do what in it, and which roles pods assume. In objects: contradictions that the
API accepts, and pods with too many rights.

The API refuses malformed objects; a Service that selects nothing, or a budget that blocks every drain, is well-formed.
Each finding names the object and says what to change.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from settings.addresses import too_many
from stacks.gate.template import Subject, as_list, plain_text, request_of, written

_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
_SUFFIXES = {"": Decimal(1), "m": Decimal("0.001")} | {
    f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMG", 1)
}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|[KMG]i)?")
_FEWEST = 2
_CONTAINER = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
_SHARED_WITH_NODE = ("hostNetwork", "hostPID", "hostIPC")
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
Object = Mapping[str, Any]
NAMESPACE = "kafka-connect"
# Needed to tell later who has done what.
LOGGED = frozenset({"api", "audit", "authenticator"})
EVERYTHING = "AmazonEKSClusterAdminPolicy"
# The administrator's handler: only it creates the namespace and its access rules.
ADMINISTRATOR = "stacks.handlers.kubernetes_objects."
_OWN_GROUP = re.compile(r"cdc-lake-[a-z]+")
_SESSION_TAG = "aws:RequestTag/kubernetes-"
_WHOSE = ("namespace", "service-account")


def manifests_sound(subject: Subject) -> Iterator[str]:
    """The objects that a custom resource applies to the cluster."""
    yield from problems((request_of(subject.resource) or {}).get("objects", []))


def problems(objects: Iterable[Object]) -> Iterator[str]:
    """Check the objects of one namespace together; yield one line per problem."""
    there = list(objects)
    for each in there:
        for reason in CHECKS.get(each["kind"], _refused)(each, there):
            yield f"{each['kind']} {each['metadata']['name']}: {reason}"


def _nothing(_object: Object, _there: list[Object]) -> Iterator[str]:
    yield from ()


def _pods(there: list[Object]) -> list[Object]:
    return [each["spec"]["template"] for each in there if each["kind"] == "Deployment"]


def _selected(labels: Mapping[str, str], there: list[Object]) -> list[Object]:
    return [pod for pod in _pods(there) if labels.items() <= pod["metadata"].get("labels", {}).items()]


def _deployment(deployment: Object, there: list[Object]) -> Iterator[str]:
    spec = deployment["spec"]
    pod = spec["template"]
    if not spec["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items():
        yield "its selector doesn't select its own pods: use the labels of the template"
    name = deployment["metadata"]["name"]
    scaled = [each for each in there if _is_scaled(each, name)]
    replicas = spec.get("replicas")
    if scaled and replicas is not None:
        yield "replicas would undo what its autoscaler has done: leave it out"
    if not scaled and (replicas or 1) < _FEWEST:
        yield f"runs {replicas or 1}: with fewer than {_FEWEST} every change of a node is a stop"
    if not any(each["kind"] == "PodDisruptionBudget" and _selects(each, pod) for each in there):
        yield "has no PodDisruptionBudget: a drain of nodes may stop all of it at once"
    if not any(each["kind"] == "NetworkPolicy" and _selects(each, pod, "podSelector") for each in there):
        yield "has no NetworkPolicy: anybody may talk to it, and it to anybody"
    keys = {each["topologyKey"] for each in pod["spec"].get("topologySpreadConstraints", [])}
    if "topology.kubernetes.io/zone" not in keys:
        yield "may stand in one zone alone: add a topology spread over zones"
    yield from _pod(pod["spec"], there)


def _is_scaled(each: Object, name: str) -> bool:
    return bool(each["kind"] == "HorizontalPodAutoscaler" and each["spec"]["scaleTargetRef"]["name"] == name)


def _selects(each: Object, pod: Object, key: str = "selector") -> bool:
    labels = each["spec"][key].get("matchLabels", {})
    return bool(labels) and labels.items() <= pod["metadata"]["labels"].items()


def _pod(spec: Object, there: list[Object]) -> Iterator[str]:
    yield from (f"{key} shares the node's own" for key in _SHARED_WITH_NODE if spec.get(key))
    if not _POD.items() <= spec.get("securityContext", {}).items():
        yield "may run as root, or any system call: set runAsNonRoot and the seccomp profile RuntimeDefault"
    if spec.get("automountServiceAccountToken") is not False:
        yield "brings a token of the Kubernetes API that it doesn't need: automountServiceAccountToken false"
    accounts = {each["metadata"]["name"] for each in there if each["kind"] == "ServiceAccount"}
    if spec.get("serviceAccountName") not in accounts:
        yield f"runs as {spec.get('serviceAccountName')}, which isn't a ServiceAccount of these objects"
    configurations = {each["metadata"]["name"] for each in there if each["kind"] == "ConfigMap"}
    for volume in spec.get("volumes", []):
        if kind := set(volume) - {"name", "configMap", "emptyDir"}:
            yield f"mounts a {', '.join(sorted(kind))}: only ConfigMaps and empty folders have been judged"
        if "configMap" in volume and volume["configMap"]["name"] not in configurations:
            yield f"mounts {volume['configMap']['name']}, which isn't a ConfigMap of these objects"
    volumes = {volume["name"] for volume in spec.get("volumes", [])}
    for container in spec["containers"]:
        yield from (f"{container['name']}: {reason}" for reason in _container(container, volumes, spec))


def _container(container: Object, volumes: set[str], spec: Object) -> Iterator[str]:
    if not _DIGEST.search(container["image"]):
        yield f"{container['image']} may be another image tomorrow: name it by its digest"
    if not _CONTAINER.items() <= container.get("securityContext", {}).items():
        yield "may write its image, gain rights or keep capabilities: see its securityContext"
    for mount in container.get("volumeMounts", []):
        if mount["name"] not in volumes:
            yield f"mounts {mount['name']}, which isn't among the pod's volumes"
    yield from _resources(container.get("resources", {}))
    ports = {port["name"] for port in container.get("ports", [])}
    for name in _PROBES:
        request = container.get(name, {}).get("httpGet")
        if request is None:
            yield f"has no {name}"
        elif isinstance(request["port"], str) and request["port"] not in ports:
            yield f"{name} asks the port {request['port']}, which isn't among its ports"
    if spec.get("terminationGracePeriodSeconds", 0) < _FEWEST:
        yield "is killed before it could hand its tasks over: terminationGracePeriodSeconds"


def _resources(resources: Object) -> Iterator[str]:
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name in ("cpu", "memory", "ephemeral-storage"):
        amounts = [_amount(str(found.get(name, ""))) for found in (requests, limits)]
        if None in amounts:
            yield f"{name}: request and limit must be amounts such as 500m or 2Gi"
        elif amounts[0] > amounts[1]:  # type: ignore[operator]
            yield f"{name}: asks for {requests[name]}, and may have {limits[name]}"


def _amount(text: str) -> Decimal | None:
    found = _QUANTITY.fullmatch(text)
    return Decimal(found[1]) * _SUFFIXES[found[2] or ""] if found else None


def _service(service: Object, there: list[Object]) -> Iterator[str]:
    pods = _selected(service["spec"].get("selector", {}), there)
    if not pods or not service["spec"].get("selector"):
        yield "selects no pod of these objects"
    if service["spec"].get("type", "ClusterIP") != "ClusterIP":
        yield "is reached from outside the cluster: only ClusterIP is expected"
    names = {port["name"] for pod in pods for c in pod["spec"]["containers"] for port in c.get("ports", [])}
    for port in service["spec"]["ports"]:
        if isinstance(port.get("targetPort"), str) and port["targetPort"] not in names:
            yield f"leads to the port {port['targetPort']}, which no container has"


def _budget(budget: Object, there: list[Object]) -> Iterator[str]:
    spec = budget["spec"]
    if not any(_selects(budget, pod) for pod in _pods(there)):
        yield "selects no pod of these objects"
    if ("minAvailable" in spec) == ("maxUnavailable" in spec):
        yield "says either minAvailable or maxUnavailable"
    if spec.get("maxUnavailable") == 0:
        yield "keeps every node from being drained: maxUnavailable 1 or more"
    if spec.get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
        yield "keeps a node whose worker has failed tasks from being drained: unhealthyPodEvictionPolicy AlwaysAllow"


def _policy(policy: Object, there: list[Object]) -> Iterator[str]:
    spec = policy["spec"]
    if sorted(spec.get("policyTypes", [])) != ["Egress", "Ingress"]:
        yield "leaves a direction open: policyTypes Ingress and Egress"
    if spec["podSelector"] and not any(_selects(policy, pod, "podSelector") for pod in _pods(there)):
        yield "selects no pod of these objects"
    for rule in spec.get("ingress", []):
        if not rule.get("from") or not rule.get("ports"):
            yield "lets anybody in, or in by any port: name from and ports"
        if any(each.get("ipBlock", {}).get("cidr") in ("0.0.0.0/0", "::/0") for each in rule.get("from", [])):
            yield "lets the world in"
    if any(not rule.get("ports") for rule in spec.get("egress", [])):
        yield "lets it out by any port: name ports"


def _autoscaler(scaler: Object, there: list[Object]) -> Iterator[str]:
    spec = scaler["spec"]
    names = {each["metadata"]["name"] for each in there if each["kind"] == "Deployment"}
    if spec["scaleTargetRef"]["name"] not in names:
        yield f"scales {spec['scaleTargetRef']['name']}, which isn't a Deployment of these objects"
    if not _FEWEST <= spec.get("minReplicas", 1) <= spec["maxReplicas"]:
        yield f"goes from {spec.get('minReplicas', 1)} to {spec['maxReplicas']}: from {_FEWEST} or more, upwards"


def _account(account: Object, _there: list[Object]) -> Iterator[str]:
    if account.get("automountServiceAccountToken") is not False:
        yield "hands out tokens of the Kubernetes API: automountServiceAccountToken false"


def _namespace(namespace: Object, _there: list[Object]) -> Iterator[str]:
    if namespace["metadata"].get("labels", {}).get("pod-security.kubernetes.io/enforce") != "restricted":
        yield "takes any pod: label pod-security.kubernetes.io/enforce restricted"


def _role(role: Object, _there: list[Object]) -> Iterator[str]:
    for rule in role["rules"]:
        if any("*" in rule[key] for key in ("apiGroups", "resources", "verbs")):
            yield "allows everything of something: name groups, resources and verbs"
        if {"secrets", "pods/exec", "pods/attach", "roles", "rolebindings"} & set(rule["resources"]):
            yield "may read secrets, run commands in pods or give rights: nobody here needs that"


def _refused(each: Object, _there: list[Object]) -> Iterator[str]:
    yield f"{each['kind']} hasn't been judged: write what it may, and name it in stacks/gate/manifests.py"


def kubernetes_closed(subject: Subject) -> Iterator[str]:
    """The API must accept only the VPC or named addresses, and keep logs."""
    if subject.type != "AWS::EKS::Cluster":
        return
    network = subject.get("ResourcesVpcConfig") or {}
    if network.get("EndpointPublicAccess") is not False:
        ranges = as_list(network.get("PublicAccessCidrs") or ["0.0.0.0/0"])
        if reason := too_many(map(str, ranges)):
            yield f"its API is open to the world: {reason}"
    types = {each["Type"] for each in subject.get("Logging.ClusterLogging.EnabledTypes") or []}
    if missing := sorted(LOGGED - types):
        yield f"doesn't log {', '.join(missing)}"


def members(subject: Subject) -> Iterator[str]:
    """Our functions must be in our groups; only one of them, and whom the environment names, has full access."""
    if subject.type != "AWS::EKS::AccessEntry":
        return
    for group in subject.get("KubernetesGroups") or []:
        if not _OWN_GROUP.fullmatch(written(group)):
            yield f"is a member of {written(group)}, which isn't a group of ours"
    for policy in subject.get("AccessPolicies") or []:
        name = plain_text(policy.get("PolicyArn")).rpartition("/")[2]
        target = subject.target(subject.get("PrincipalArn"))
        if name != EVERYTHING:
            yield f"{name}: an access policy that we haven't judged"
        elif target is not None and not _is_administrators(subject, target):
            yield f"{target[1]} may do everything in the cluster: only {ADMINISTRATOR}* may"
        elif target is None and not isinstance(subject.get("PrincipalArn"), str):
            yield f"{written(subject.get('PrincipalArn'))} may do everything in the cluster: name who it is"


def pods_roles(subject: Subject) -> Iterator[str]:
    """A role of pods must say of which: no other pods may assume it."""
    if subject.type == "AWS::IAM::Role":
        for statement in as_list(subject.get("AssumeRolePolicyDocument.Statement") or []):
            if "pods.eks.amazonaws.com" in written(statement.get("Principal")):
                equal = (statement.get("Condition") or {}).get("StringEquals", {})
                if missing := [name for name in _WHOSE if not equal.get(f"{_SESSION_TAG}{name}")]:
                    yield f"pods of any {' and '.join(missing)} may take this role: add conditions on the session tags"


def _is_administrators(subject: Subject, role: tuple[str, str]) -> bool:
    worn = [
        str(function.get("Handler"))
        for function in subject.app.resources("AWS::Lambda::Function")
        if function.target(function.get("Role")) == role
    ]
    return bool(worn) and all(handler.startswith(ADMINISTRATOR) for handler in worn)


CHECKS = {
    "ConfigMap": _nothing,
    "Deployment": _deployment,
    "HorizontalPodAutoscaler": _autoscaler,
    "Namespace": _namespace,
    "NetworkPolicy": _policy,
    "PodDisruptionBudget": _budget,
    "Role": _role,
    "RoleBinding": _nothing,
    "Service": _service,
    "ServiceAccount": _account,
}
