"""Rules for Kubernetes that the list of properties can't say: the connectors' cluster, and relations of its objects.

Who reaches the cluster's API, who may do what in it, which roles pods assume, and which objects must go together. A
Service that selects nothing, or a budget that blocks every drain, is well-formed for the API. Each finding names the
object and says what to change.
"""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from contract.secret_names import is_secret
from settings.addresses import is_within, too_many
from stacks.gate.template import Subject, as_list, plain_text, written

Object = Mapping[str, Any]
# Needed to tell later who has done what.
LOGGED = frozenset({"api", "audit", "authenticator"})
EVERYTHING = "AmazonEKSClusterAdminPolicy"
# The administrator's handler: only it creates the namespace and its access rules.
ADMINISTRATOR = "stacks.handlers.kubernetes_objects."
# EKS's agent that hands pods their roles' credentials.
AGENT = "169.254.170.23/32"
HTTPS = 443
_DNS = 53
_SESSION_TAG = "aws:RequestTag/kubernetes-"
_WHOSE = ("namespace", "service-account")
_DENY_ALL = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def objects_together(subject: Subject) -> Iterator[str]:
    """The objects that a custom resource applies to the cluster must fit each other."""
    there = subject.objects
    outside = {HTTPS: {"0.0.0.0/0"}}
    for pipeline in subject.facts.settings.pipelines:
        if pipeline.database is not None:
            outside.setdefault(pipeline.database.port, set()).update(pipeline.database.cidrs)
    for each in there:
        for reason in _problems(each, there, subject.facts.cidr, outside):
            yield f"{each['kind']} {each['metadata']['name']}: {reason}"
    if subject.type == "Custom::KubernetesObjects" and not any(
        each["kind"] == "NetworkPolicy" and each["spec"] == _DENY_ALL for each in there
    ):
        yield "has no NetworkPolicy that denies what no other allows: an empty podSelector, both directions, no rules"


def _problems(each: Object, there: list[Object], vpc: str, outside: Mapping[int, set[str]]) -> Iterator[str]:
    match each["kind"]:
        case "Deployment":
            yield from _deployment(each, there)
        case "NetworkPolicy":
            yield from _ingress(each, vpc)
            yield from _egress(each, vpc, outside)
        case "Service" | "PodDisruptionBudget" if not _selects(each, _pods(there)):
            yield "selects no pod of these objects"


def _pods(there: Iterable[Object]) -> list[Object]:
    return [each["spec"]["template"] for each in there if each["kind"] == "Deployment"]


def _selects(each: Object, pods: Iterable[Object], key: str = "selector") -> bool:
    selector = each["spec"].get(key, {})
    labels = selector.get("matchLabels", selector)
    return bool(labels) and any(labels.items() <= pod["metadata"]["labels"].items() for pod in pods)


def _deployment(deployment: Object, there: list[Object]) -> Iterator[str]:
    pod = deployment["spec"]["template"]
    names = {(each["kind"], each["metadata"]["name"]) for each in there}
    if not _selects(deployment, [pod]):
        yield "its selector doesn't select its own pods: use the labels of the template"
    if not any(each["kind"] == "PodDisruptionBudget" and _selects(each, [pod]) for each in there):
        yield "has no PodDisruptionBudget: a drain of nodes may stop all of it at once"
    if not any(each["kind"] == "NetworkPolicy" and _selects(each, [pod], "podSelector") for each in there):
        yield "has no NetworkPolicy: anybody may talk to it, and it to anybody"
    if ("ServiceAccount", pod["spec"].get("serviceAccountName")) not in names:
        yield f"runs as {pod['spec'].get('serviceAccountName')}, which isn't a ServiceAccount of these objects"
    for volume in pod["spec"].get("volumes", []):
        if "configMap" in volume and ("ConfigMap", volume["configMap"]["name"]) not in names:
            yield f"mounts {volume['configMap']['name']}, which isn't a ConfigMap of these objects"
    words = [str(word) for container in pod["spec"]["containers"] for word in container.get("command", [])]
    if secret := next((word for word in words if "=" in word and is_secret(word.partition("=")[0])), None):
        yield f"its command has the value of {secret.partition('=')[0]}: read it from a secret"


def _ingress(policy: Object, vpc: str) -> Iterator[str]:
    if sorted(policy["spec"].get("policyTypes", [])) != ["Egress", "Ingress"]:
        yield "leaves a direction open: policyTypes Ingress and Egress"
    for rule in policy["spec"].get("ingress", []):
        if not rule.get("from") or not rule.get("ports"):
            yield "lets anybody in, or in by any port: name from and ports"
        for source in rule.get("from", []):
            if "podSelector" not in source and not _is_inside(source, vpc):
                yield f"lets in {written(source)}: only pods of these objects and the VPC are expected"


def _egress(policy: Object, vpc: str, outside: Mapping[int, set[str]]) -> Iterator[str]:
    for rule in policy["spec"].get("egress", []):
        ports = [port.get("port") for port in rule.get("ports", [])]
        if not ports:
            yield "lets it out by any port: name ports"
        for target in rule.get("to", []):
            cidr = target.get("ipBlock", {}).get("cidr")
            named = "podSelector" in target or cidr == AGENT or _is_inside(target, vpc)
            if not named and not all(cidr in outside.get(port, ()) for port in ports):
                yield f"lets it out to {written(target)} by {ports}: the settings don't name that"
        if not rule.get("to") and set(ports) != {_DNS}:
            yield f"lets it out to everybody by {ports}: name to whom"


def _is_inside(peer: Object, vpc: str) -> bool:
    cidr = peer.get("ipBlock", {}).get("cidr")
    return set(peer) == {"ipBlock"} and bool(cidr) and is_within(ip_network(cidr), ip_network(vpc))


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
    """Only one of our functions, and whom the environment names, has full access."""
    if subject.type != "AWS::EKS::AccessEntry":
        return
    for policy in subject.get("AccessPolicies") or []:
        name = plain_text(policy.get("PolicyArn")).rpartition("/")[2]
        target = subject.target(subject.get("PrincipalArn"))
        if name == EVERYTHING and target is not None and not _is_administrators(subject, target):
            yield f"{target[1]} may do everything in the cluster: only {ADMINISTRATOR}* may"


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
