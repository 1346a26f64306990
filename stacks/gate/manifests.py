"""Rules for Kubernetes that the list of properties can't say: the connectors' cluster, and relations of its objects.

Who reaches the cluster's API, who may do what in it, which roles pods assume, and which objects must go together. Each
finding names the object and says what to change.
"""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from settings.addresses import is_within, too_many
from stacks.gate.network import users
from stacks.gate.template import Subject, as_list, plain_text, written

Object = Mapping[str, Any]
# Needed to tell later who has done what.
LOGGED = frozenset({"api", "audit", "authenticator"})
EVERYTHING = "AmazonEKSClusterAdminPolicy"
# The administrator's handler: only it creates the namespace and its access rules.
ADMINISTRATOR = "stacks.handlers.kubernetes_objects."
# EKS's agent that hands pods their roles' credentials.
AGENT = "169.254.170.23/32"
# Whose functions are in our groups, and what a watch may do.
HANDLERS = {"cdc-lake-deployers": "kubernetes_connector", "cdc-lake-watchers": "kubernetes_watch"}
WATCHERS = "cdc-lake-watchers"
WATCHING = {("pods", "list"), ("pods/proxy", "get"), ("services/proxy", "create"), ("services/proxy", "get")}
HTTPS = 443
_DNS = 53
_SESSION_TAG = "aws:RequestTag/kubernetes-"
_WHOSE = ("namespace", "service-account")
_DENY_ALL = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def objects_together(subject: Subject) -> Iterator[str]:
    """The objects that a custom resource applies to the cluster must fit each other."""
    there, vpc = subject.objects, subject.settings.network.cidr
    outside = {HTTPS: {"0.0.0.0/0"}}
    for pipeline in subject.settings.pipelines:
        if pipeline.database is not None:
            outside.setdefault(pipeline.database.port, set()).update(pipeline.database.cidrs)
    for each in there:
        reasons: list[str] = []
        if each["kind"] == "Deployment":
            reasons += _deployment(each, there)
        elif each["kind"] == "NetworkPolicy":
            reasons += [*_ingress(each, vpc), *_egress(each, vpc, outside)]
        elif each["kind"] == "RoleBinding":
            ends = {each["roleRef"]["name"], *(one["name"] for one in each["subjects"])} - {each["metadata"]["name"]}
            reasons += [f"binds {', '.join(sorted(ends))}, too"] if ends else []
        elif each["kind"] == "Role" and each["metadata"]["name"] == WATCHERS:
            may = {(kind, verb) for rule in each["rules"] for kind in rule["resources"] for verb in rule["verbs"]}
            reasons += [f"may {verb} {kind}" for kind, verb in sorted(may - WATCHING)]
        for reason in reasons:
            yield f"{each['kind']} {each['metadata']['name']}: {reason}"
    if subject.type == "Custom::KubernetesObjects" and not any(
        each["kind"] == "NetworkPolicy" and each["spec"] == _DENY_ALL for each in there
    ):
        yield "has no NetworkPolicy that denies what no other allows: an empty podSelector, both directions, no rules"


def _deployment(deployment: Object, there: list[Object]) -> Iterator[str]:
    """Its account, its files and its budget must be reviewed with it."""
    pod = deployment["spec"]["template"]
    names = {(each["kind"], each["metadata"]["name"]) for each in there}
    selected = [each["spec"]["selector"].get("matchLabels") for each in there if each["kind"] == "PodDisruptionBudget"]
    if not any(labels and labels.items() <= pod["metadata"]["labels"].items() for labels in selected):
        yield "has no PodDisruptionBudget: a drain of nodes may stop all of it at once"
    if ("ServiceAccount", pod["spec"].get("serviceAccountName")) not in names:
        yield f"runs as {pod['spec'].get('serviceAccountName')}, which isn't a ServiceAccount of these objects"
    for volume in pod["spec"].get("volumes", []):
        if "configMap" in volume and ("ConfigMap", volume["configMap"]["name"]) not in names:
            yield f"mounts {volume['configMap']['name']}, which isn't a ConfigMap of these objects"


def _ingress(policy: Object, vpc: str) -> Iterator[str]:
    if sorted(policy["spec"].get("policyTypes", [])) != ["Egress", "Ingress"]:
        yield "leaves a direction open: policyTypes Ingress and Egress"
    for rule in policy["spec"].get("ingress", []):
        if not rule.get("from") or not _ports(rule):
            yield "lets anybody in, or in by any port: name from and ports"
        for source in rule.get("from", []):
            if not _is_inside(source, vpc):
                yield f"lets in {written(source)}: only pods of these objects and the VPC are expected"


def _egress(policy: Object, vpc: str, outside: Mapping[int, set[str]]) -> Iterator[str]:
    for rule in policy["spec"].get("egress", []):
        ports = _ports(rule)
        if not ports:
            yield "lets it out by any port: name ports"
        for target in rule.get("to", []):
            cidr = target.get("ipBlock", {}).get("cidr")
            named = cidr == AGENT or _is_inside(target, vpc)
            if not named and not all(cidr in outside.get(port, ()) for port in ports):
                yield f"lets it out to {written(target)} by {ports}: the settings don't name that"
        if not rule.get("to") and set(ports) != {_DNS}:
            yield f"lets it out to everybody by {ports}: name to whom"


def _ports(rule: Object) -> list[int]:
    """Return a rule's ports; none if it is for all, or for a range of them."""
    ports = rule.get("ports", [])
    return [each["port"] for each in ports] if all("port" in each and "endPort" not in each for each in ports) else []


def _is_inside(peer: Object, vpc: str) -> bool:
    """Whether a peer is pods of this namespace alone, or a part of the VPC."""
    cidr = peer.get("ipBlock", {}).get("cidr")
    return set(peer) == {"podSelector"} or (bool(cidr) and is_within(ip_network(cidr), ip_network(vpc)))


def kubernetes_closed(subject: Subject) -> Iterator[str]:
    """The API must accept only the VPC or named addresses, and keep logs."""
    network = subject.get("ResourcesVpcConfig") or {}
    if network.get("EndpointPublicAccess") is not False:
        ranges = as_list(network.get("PublicAccessCidrs") or ["0.0.0.0/0"])
        if reason := too_many(map(str, ranges)):
            yield f"its API is open to the world: {reason}"
    types = {each["Type"] for each in subject.get("Logging.ClusterLogging.EnabledTypes") or []}
    if missing := sorted(LOGGED - types):
        yield f"doesn't log {', '.join(missing)}"


def members(subject: Subject) -> Iterator[str]:
    """Only one of our functions, and whom the environment names, has full access; a group is for its handler alone."""
    role = subject.referred(subject.get("PrincipalArn"))
    functions = users(role, "AWS::Lambda::Function") if role else []
    ours = {str(each.get("Handler")).startswith(ADMINISTRATOR) for each in functions} == {True}
    for group in subject.get("KubernetesGroups") or []:
        handler = f"stacks.handlers.{HANDLERS.get(group)}."
        if {str(each.get("Handler")).startswith(handler) for each in functions} != {True}:
            yield f"its role is in {group}: only {handler}* may"
    for policy in subject.get("AccessPolicies") or []:
        if role and not ours and plain_text(policy.get("PolicyArn")).endswith(f"/{EVERYTHING}"):
            yield f"{role.id} may do everything in the cluster: only {ADMINISTRATOR}* may"


def pods_roles(subject: Subject) -> Iterator[str]:
    """A role of pods must say of which: no other pods may assume it."""
    for statement in as_list(subject.get("AssumeRolePolicyDocument.Statement") or []):
        if "pods.eks.amazonaws.com" in written(statement.get("Principal")):
            equal = (statement.get("Condition") or {}).get("StringEquals", {})
            if missing := [name for name in _WHOSE if not equal.get(f"{_SESSION_TAG}{name}")]:
                yield f"pods of any {' and '.join(missing)} may take this role: add conditions on the session tags"
