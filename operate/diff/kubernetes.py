"""Changed rights in the connector workers' cluster, changed roles of its pods, and who reaches its API.

CDK's comparison covers only IAM statements and security groups: to it, access entries, Pod Identity, Kubernetes roles
and the API's public addresses are ordinary properties.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from operate.diff.normal_form import Template, readable
from operate.diff.rights import EVERYBODY
from stacks.gate.manifests import EVERYTHING
from stacks.gate.template import as_list, written

# CloudFormation's default for an API without listed addresses.
ANYWHERE = "0.0.0.0/0"
_CLUSTER_WIDE = "the whole cluster"


class Right(NamedTuple):
    """One right of one subject, and on what."""

    who: str
    action: str
    on: str


def kubernetes_rights(stack: str, before: Template, after: Template) -> tuple[list[str], list[str]]:
    """Return what widens rights in and of the cluster, and what narrows them, a line per subject and target."""
    was, is_ = (set(_rights(side)) for side in (before, after))
    return (
        [f"{stack}: {line}" for line in _lines(is_ - was, "may now")],
        [f"{stack}: {line}" for line in _lines(was - is_, "may no longer")],
    )


def kubernetes_network(stack: str, before: Template, after: Template) -> tuple[list[str], list[str]]:
    """Return the addresses outside the VPC that gain access to the API, and those that lose it."""
    was, is_ = (set(_reached(side)) for side in (before, after))
    wider = [f"{stack}/Kubernetes API in from {_peer(each)}" for each in sorted(is_ - was)]
    return wider, [f"{stack}/Kubernetes API no longer in from {_peer(each)}" for each in sorted(was - is_)]


def _lines(rights: Iterable[Right], verb: str) -> Iterator[str]:
    alike: dict[tuple[str, str], list[str]] = {}
    for right in sorted(rights):
        alike.setdefault((right.who, right.on), []).append(right.action)
    for (who, on), actions in alike.items():
        yield f"{who} {verb} {', '.join(actions)} {on}"


def _peer(cidr: str) -> str:
    return f"everybody ({cidr})" if cidr in EVERYBODY else cidr


def _rights(template: Template) -> Iterator[Right]:
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        match resource["Type"]:
            case "AWS::EKS::AccessEntry":
                yield from _entry(properties)
            case "AWS::EKS::PodIdentityAssociation":
                yield from _pods(properties, written(properties.get("Namespace", "")))
            case "AWS::EKS::Addon":
                for each in properties.get("PodIdentityAssociations") or []:
                    yield from _pods(each, f"the add-on {written(properties.get('AddonName', ''))}")
            case "AWS::EKS::Cluster":
                yield from _of_cluster(properties)
            case "Custom::KubernetesObjects":
                yield from _own_roles((properties.get("Request") or {}).get("json", {}).get("objects", []))


def _entry(properties: Mapping[str, Any]) -> Iterator[Right]:
    who = _name(properties.get("PrincipalArn"))
    yield Right(who, "log in", f"to the Kubernetes API{_as(properties)}")
    for policy in properties.get("AccessPolicies") or []:
        name = written(policy.get("PolicyArn", "")).rpartition("/")[2]
        what = "do everything" if name == EVERYTHING else f"do what {name} allows"
        yield Right(who, what, f"in {_scope(policy.get('AccessScope') or {})} by the Kubernetes API")
    for group in properties.get("KubernetesGroups") or []:
        yield Right(who, "do in Kubernetes", f"what its group {written(group)} may")


def _as(properties: Mapping[str, Any]) -> str:
    """An entry's user and groups where they aren't the default."""
    kind, name = properties.get("Type", "STANDARD"), properties.get("Username")
    node = f" as {written(kind)}" if kind != "STANDARD" else ""
    return f"{node} as {written(name)}" if name else node


def _scope(scope: Mapping[str, Any]) -> str:
    namespaces = [written(each) for each in scope.get("Namespaces") or []]
    return f"the namespace {', '.join(namespaces)}" if scope.get("Type") == "namespace" else _CLUSTER_WIDE


def _pods(association: Mapping[str, Any], where: str) -> Iterator[Right]:
    who = f"pods of {where} with the service account {written(association.get('ServiceAccount', ''))}"
    for key in ("RoleArn", "TargetRoleArn"):
        if role := association.get(key):
            yield Right(who, "do", f"what {_name(role)} may")


def _of_cluster(properties: Mapping[str, Any]) -> Iterator[Right]:
    """Rights that need no entry; CloudFormation's defaults are the wide ones."""
    access = properties.get("AccessConfig") or {}
    if access.get("BootstrapClusterCreatorAdminPermissions") is not False:
        yield Right("the cluster's creator", "do everything", f"in {_CLUSTER_WIDE} by the Kubernetes API")
    if access.get("AuthenticationMode") != "API":
        yield Right("whom the ConfigMap aws-auth names", "log in", "to the Kubernetes API")


def _own_roles(objects: Iterable[Mapping[str, Any]]) -> Iterator[Right]:
    for each in objects:
        metadata, kind = each.get("metadata", {}), each.get("kind")
        place = f"in the namespace {metadata['namespace']}" if "namespace" in metadata else f"in {_CLUSTER_WIDE}"
        if kind in ("Role", "ClusterRole"):
            who = f"holders of Kubernetes's role {metadata.get('name')}"
            yield from (Right(who, verb, f"{what} {place}") for verb, what in _rules(each.get("rules") or []))
        if kind in ("RoleBinding", "ClusterRoleBinding"):
            for subject in each.get("subjects") or []:
                who = f"Kubernetes's {subject['kind'].lower()} {subject['name']}"
                yield Right(who, "do", f"{place} what Kubernetes's role {each['roleRef']['name']} may")


def _rules(rules: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for rule in rules:
        names = f" called {', '.join(rule['resourceNames'])}" if rule.get("resourceNames") else ""
        for kind in rule.get("resources") or rule.get("nonResourceURLs") or []:
            for group in rule.get("apiGroups") or [""]:
                for verb in rule.get("verbs") or []:
                    yield verb, f"{kind}{f'.{group}' if group else ''}{names}"


def _name(principal: Any) -> str:
    return readable(written(principal or ""))


def _reached(template: Template) -> Iterator[str]:
    for resource in template["Resources"].values():
        network = resource.get("Properties", {}).get("ResourcesVpcConfig") or {}
        if resource["Type"] == "AWS::EKS::Cluster" and network.get("EndpointPublicAccess") is not False:
            yield from (written(each) for each in as_list(network.get("PublicAccessCidrs") or [ANYWHERE]))
