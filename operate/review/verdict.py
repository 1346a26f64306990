"""What a reviewer reads first: findings, open access, wildcards, what is kept, Kubernetes, and the cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from operate.diff.resources import looked_up
from operate.review.cost import Cost
from operate.review.holdings import DELETED, Holding
from operate.review.material import Material
from operate.review.network import Network
from operate.review.roles import Roles, Wide
from stacks.gate.manifests import EVERYTHING
from stacks.gate.template import Finding, Subject, as_list, plain_text, request_of, written


@dataclass(frozen=True, kw_only=True)
class Found:
    """A finding for people: its level, its rule, which resource, and what is wrong."""

    level: str
    rule: str
    resource: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The page's first section; `rows` are questions with their answers.

    `changes`: differences from the last reviewed state, in words; None if not compared.
    """

    allowed: bool
    findings: tuple[Found, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    changes: tuple[str, ...] | None

    @property
    def words(self) -> str:
        errors, warnings = (sum(each.level == level for each in self.findings) for level in ("error", "warning"))
        if not self.allowed:
            return f"No: {_count(errors, 'error')} and {_count(warnings, 'warning')}. `./lake aws deploy` refuses it."
        if warnings:
            return f"No check forbids it; {_count(warnings, 'warning')} to read."
        return "No check forbids it, and none warns."


def verdict(
    material: Material,
    findings: Sequence[Finding],
    *,
    network: Network,
    roles: Roles,
    holdings: Sequence[Holding],
    cost: Cost,
    changes: Sequence[str] | None = None,
) -> Verdict:
    found = tuple(_found(material, finding) for finding in findings)
    rows: tuple[tuple[str, Sequence[str]], ...] = (
        ("Open to the internet", _open(network)),
        ("Out to the internet", _out(network)),
        ("Wildcards in rights", _wildcards(roles)),
        ("Kept on delete", [each.name for each in holdings if each.kept]),
        ("Deleted", [_deleted(each) for each in holdings if not each.kept]),
        ("Without encryption or a retention", _missing(holdings)),
        ("Looked up at the deployment", _looked_up(material)),
        *kubernetes(material),
        ("Cost", (cost.words,)),
    )
    return Verdict(
        allowed=not any(each.level == "error" for each in found),
        findings=found,
        rows=tuple((question, tuple(answers) or ("nothing",)) for question, answers in rows),
        changes=None if changes is None else tuple(changes) or ("nothing",),
    )


def _found(material: Material, finding: Finding) -> Found:
    place = (finding.stack, finding.resource)
    by_id = finding.resource in material.app.templates.get(finding.stack, {"Resources": {}})["Resources"]
    path = "/".join(filter(None, place))
    return Found(
        level=finding.level,
        rule=finding.rule,
        resource=material.name(*place) if by_id else material.path_name(path),
        message=material.readable(finding.stack, finding.message),
    )


def _open(network: Network) -> list[str]:
    worn_by = {group.name: ", ".join(group.members) for group in network.groups}
    return [
        f"{worn_by.get(way.target) or way.target}: {', '.join(way.ports)}, from {way.source}"
        for way in network.open_to_internet
    ]


def _out(network: Network) -> list[str]:
    found: dict[str, list[str]] = {}
    for way in network.out_to_internet:
        found.setdefault(", ".join(way.ports), []).append(way.source)
    return [f"{ports}: {', '.join(sources)}" for ports, sources in sorted(found.items())]


def _wildcards(roles: Roles) -> tuple[str, ...]:
    return (
        f"{_rights(roles.everything)} on every resource of a kind",
        f"{_rights(roles.names)} on names that end in a wildcard",
    )


def _rights(wide: Sequence[Wide]) -> str:
    return _count(sum(len(each.rights) * each.count for each in wide), "right")


def _deleted(holding: Holding) -> str:
    return holding.name if holding.on_delete == DELETED else f"{holding.name} ({holding.on_delete})"


def _looked_up(material: Material) -> list[str]:
    return [
        f"{material.name(found.stack, found.logical_id)}: {found.words}" for found in looked_up(material.app.templates)
    ]


def _missing(holdings: Sequence[Holding]) -> list[str]:
    return [f"{each.name}: no {' and no '.join(each.missing)}" for each in holdings if each.missing]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def kubernetes(material: Material) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return an environment's rows, as questions with answers; none without a cluster."""
    clusters = list(material.app.resources("AWS::EKS::Cluster"))
    if not clusters:
        return ()
    return (
        ("Kubernetes API reached from", tuple(text for each in clusters for text in _reached(each))),
        ("Kubernetes API used by", tuple(_members(material))),
        ("Pods of Kubernetes act as", tuple(_acts(material))),
        ("Run on Kubernetes", tuple(_runs(material))),
    )


def _reached(cluster: Subject) -> Iterator[str]:
    network = cluster.get("ResourcesVpcConfig") or {}
    if network.get("EndpointPublicAccess"):
        yield from (f"{cidr}, and inside the VPC" for cidr in as_list(network.get("PublicAccessCidrs") or ["anywhere"]))
    else:
        yield "inside the VPC alone"


def _members(material: Material) -> Iterator[str]:
    for entry in material.app.resources("AWS::EKS::AccessEntry"):
        who = material.readable(entry.stack, written(entry.get("PrincipalArn")))
        policies = [plain_text(each["PolicyArn"]).rpartition("/")[2] for each in entry.get("AccessPolicies") or []]
        groups = [f"what {name} may" for name in entry.get("KubernetesGroups") or []]
        yield f"{who}: {', '.join(['everything' if name == EVERYTHING else name for name in policies] + groups)}"


def _acts(material: Material) -> Iterator[str]:
    """The roles that pods have through Pod Identity, which IAM's policies don't show."""
    for each in material.app.resources("AWS::EKS::PodIdentityAssociation"):
        yield _acting(material, each, each.properties, written(each.get("Namespace")))
    for addon in material.app.resources("AWS::EKS::Addon"):
        for one in addon.get("PodIdentityAssociations") or []:
            yield _acting(material, addon, one, f"the add-on {written(addon.get('AddonName'))}")


def _acting(material: Material, subject: Subject, association: Mapping[str, Any], where: str) -> str:
    role = material.readable(subject.stack, written(association["RoleArn"]))
    return f"{role}: the service account {written(association['ServiceAccount'])} of {where}"


def _runs(material: Material) -> Iterator[str]:
    for connector in material.app.resources("Custom::KubernetesConnector"):
        request = request_of(connector.resource) or {}
        for each in request.get("objects", []):
            if each["kind"] == "Deployment":
                [container] = each["spec"]["template"]["spec"]["containers"]
                most = [o["spec"]["maxReplicas"] for o in request["objects"] if o["kind"] == "HorizontalPodAutoscaler"]
                workers = f"up to {most[0]}" if most else str(each["spec"]["replicas"])
                yield f"{request['connectorName']}: {workers} workers of {container['image']}"
