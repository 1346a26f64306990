"""The connector workers' cluster in the review's first section: who reaches its API, and who may do what in it."""

from collections.abc import Iterator, Mapping
from typing import Any

from operate.review.material import Material
from stacks.gate.kubernetes import EVERYTHING
from stacks.gate.template import Subject, as_list, plain_text, request_of, written


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
    """Each connector's workers: how many, of which image."""
    for connector in material.app.resources("Custom::KubernetesConnector"):
        request = request_of(connector.resource) or {}
        for each in request.get("objects", []):
            if each["kind"] == "Deployment":
                [container] = each["spec"]["template"]["spec"]["containers"]
                most = [o["spec"]["maxReplicas"] for o in request["objects"] if o["kind"] == "HorizontalPodAutoscaler"]
                workers = f"up to {most[0]}" if most else str(each["spec"]["replicas"])
                yield f"{request['connectorName']}: {workers} workers of {container['image']}"
