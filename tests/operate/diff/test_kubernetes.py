"""Wider and narrower rights in the cluster, and access to its API; the templates are in their normal form."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from operate.diff import snapshots
from operate.diff.comparison import compare
from operate.diff.kubernetes import kubernetes_network, kubernetes_rights
from operate.diff.requests import requests
from operate.diff.weakened import weakened
from tests.operate.diff.conftest import lines
from tests.stacks.environments import environment_on_eks
from tests.synthesis import shared_synthesis

POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
ADMIN, OTHER = "arn:aws:iam::111111111111:role/Admin", "arn:aws:iam::111111111111:role/Other"
Template = dict[str, Any]
Change = Callable[[Template], Any]


def policy(name: str = "ClusterAdmin", **scope: Any) -> dict[str, Any]:
    scoped = {"Type": "namespace", "Namespaces": list(scope["namespaces"])} if scope else {"Type": "cluster"}
    return {"PolicyArn": POLICY.replace("ClusterAdmin", name), "AccessScope": scoped}


def of(type_: str, **properties: Any) -> dict[str, Any]:
    return {"Type": type_, "Properties": properties}


METADATA = {"name": "watchers", "namespace": "kafka-connect"}
OBJECTS = [
    {"kind": "Role", "metadata": METADATA, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]},
    {
        "kind": "RoleBinding",
        "metadata": METADATA,
        "roleRef": {"kind": "Role", "name": "watchers"},
        "subjects": [{"kind": "Group", "name": "cdc-lake-watchers"}],
    },
]
TEMPLATE: Template = {
    "Resources": {
        "Cluster": of(
            "AWS::EKS::Cluster",
            AccessConfig={"AuthenticationMode": "API", "BootstrapClusterCreatorAdminPermissions": False},
            EncryptionConfig=[{"Provider": {"KeyArn": "arn:key"}, "Resources": ["secrets"]}],
            Logging={"ClusterLogging": {"EnabledTypes": [{"Type": "api"}, {"Type": "audit"}]}},
            ResourcesVpcConfig={"EndpointPrivateAccess": True, "EndpointPublicAccess": False},
        ),
        "Entry": of("AWS::EKS::AccessEntry", PrincipalArn=ADMIN, AccessPolicies=[policy("View")]),
        "Watch": of(
            "AWS::EKS::AccessEntry",
            PrincipalArn={"Fn::GetAtt": ["WatchRoleB0AE4BAA", "Arn"]},
            KubernetesGroups=["cdc-lake-watchers"],
        ),
        "Identity": of(
            "AWS::EKS::PodIdentityAssociation",
            Namespace="kafka-connect",
            ServiceAccount="source",
            RoleArn={"Fn::GetAtt": ["SourceRole295E6157", "Arn"]},
        ),
        "Logs": of(
            "AWS::EKS::Addon",
            AddonName="logs",
            PodIdentityAssociations=[{"ServiceAccount": "agent", "RoleArn": "arn:logs"}],
        ),
        "Shared": of("Custom::KubernetesObjects", Request={"json": {"objects": OBJECTS}}),
    }
}


def properties(template: Template, name: str) -> dict[str, Any]:
    found: dict[str, Any] = template["Resources"][name]["Properties"]
    return found


def objects(template: Template) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = properties(template, "Shared")["Request"]["json"]["objects"]
    return found


def changed(change: Change) -> Template:
    template = copy.deepcopy(TEMPLATE)
    change(template)
    return template


def entry(**values: Any) -> Change:
    return lambda template: properties(template, "Entry").update(values)


def network(**values: Any) -> Change:
    return lambda template: properties(template, "Cluster")["ResourcesVpcConfig"].update(values)


VIEW = "do what AmazonEKSViewPolicy allows in {} by the Kubernetes API"
ALL, NAMESPACE = "the whole cluster", "the namespace kafka-connect"
SOURCE_PODS = "pods of kafka-connect with the service account source"
# A change, what it lets whom do, and what it no longer lets whom do.
Rights = list[tuple[str, str]]
RIGHTS: dict[str, tuple[Change, Rights, Rights]] = {
    "another principal": (
        entry(PrincipalArn=OTHER),
        [(OTHER, VIEW.format(ALL)), (OTHER, "log in to the Kubernetes API")],
        [(ADMIN, VIEW.format(ALL)), (ADMIN, "log in to the Kubernetes API")],
    ),
    "another policy": (
        entry(AccessPolicies=[policy()]),
        [(ADMIN, "do everything in the whole cluster by the Kubernetes API")],
        [(ADMIN, VIEW.format(ALL))],
    ),
    "a narrower scope": (
        entry(AccessPolicies=[policy("View", namespaces=["kafka-connect"])]),
        [(ADMIN, VIEW.format(NAMESPACE))],
        [(ADMIN, VIEW.format(ALL))],
    ),
    "another group": (
        lambda each: properties(each, "Watch").update(KubernetesGroups=["cdc-lake-watchers", "system:masters"]),
        [("<WatchRole>", "do in Kubernetes what its group system:masters may")],
        [],
    ),
    "another role of pods": (
        lambda each: properties(each, "Identity").update(RoleArn=OTHER),
        [(SOURCE_PODS, f"do what {OTHER} may")],
        [(SOURCE_PODS, "do what <SourceRole> may")],
    ),
    "other pods of a role": (
        lambda each: properties(each, "Identity").update(Namespace="default"),
        [(SOURCE_PODS.replace("kafka-connect", "default"), "do what <SourceRole> may")],
        [(SOURCE_PODS, "do what <SourceRole> may")],
    ),
    "an add-on's role": (
        lambda each: properties(each, "Logs")["PodIdentityAssociations"][0].update(RoleArn=OTHER),
        [("pods of the add-on logs with the service account agent", f"do what {OTHER} may")],
        [("pods of the add-on logs with the service account agent", "do what arn:logs may")],
    ),
    "a rule of Kubernetes's": (
        lambda each: objects(each)[0]["rules"].append(
            {"apiGroups": ["", "apps"], "resources": ["deployments"], "verbs": ["get", "delete"]}
        ),
        [
            ("holders of Kubernetes's role watchers", f"delete, get {kind} in {NAMESPACE}")
            for kind in ("deployments", "deployments.apps")
        ],
        [],
    ),
    "whom a role is bound to": (
        lambda each: objects(each)[1]["subjects"].append({"kind": "User", "name": "somebody"}),
        [("Kubernetes's user somebody", f"do in {NAMESPACE} what Kubernetes's role watchers may")],
        [],
    ),
    "who creates the cluster": (
        lambda each: properties(each, "Cluster").pop("AccessConfig"),
        [
            ("the cluster's creator", "do everything in the whole cluster by the Kubernetes API"),
            ("whom the ConfigMap aws-auth names", "log in to the Kubernetes API"),
        ],
        [],
    ),
    "tags": (entry(Tags=[{"Key": "a", "Value": "b"}]), [], []),
}


@pytest.mark.parametrize("name", RIGHTS)
def test_a_right_that_comes_widens_and_one_that_goes_narrows(name: str) -> None:
    def lines(rights: Rights, verb: str) -> list[str]:
        return [f"eks: {who} {verb} {what}" for who, what in rights]

    change, come, go = RIGHTS[name]
    after = changed(change)
    assert kubernetes_rights("eks", TEMPLATE, after) == (lines(come, "may now"), lines(go, "may no longer"))
    assert kubernetes_rights("eks", after, TEMPLATE) == (lines(go, "may now"), lines(come, "may no longer"))


@pytest.mark.parametrize(
    ("change", "wider"),
    [
        (network(EndpointPublicAccess=True), ["in from everybody (0.0.0.0/0)"]),
        (lambda each: properties(each, "Cluster").pop("ResourcesVpcConfig"), ["in from everybody (0.0.0.0/0)"]),
        (
            network(EndpointPublicAccess=True, PublicAccessCidrs=["203.0.113.0/24", "198.51.100.7/32"]),
            ["in from 198.51.100.7/32", "in from 203.0.113.0/24"],
        ),
    ],
)
def test_an_address_that_comes_to_reach_the_api_is_a_way_that_opens(change: Change, wider: list[str]) -> None:
    after = changed(change)
    assert kubernetes_network("eks", TEMPLATE, after) == ([f"eks/Kubernetes API {line}" for line in wider], [])
    closed = [f"eks/Kubernetes API no longer {line}" for line in wider]
    assert kubernetes_network("eks", after, TEMPLATE) == ([], closed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda each: each.pop("EncryptionConfig"), "encryption of Kubernetes's secrets: "),
        (lambda each: each.pop("Logging"), "logs of the Kubernetes API: "),
        (lambda each: each["Logging"]["ClusterLogging"]["EnabledTypes"].pop(), "logs of the Kubernetes API: "),
        (lambda each: each["ResourcesVpcConfig"].update(EndpointPrivateAccess=False), "an API inside the VPC: true →"),
    ],
)
def test_what_protects_the_cluster_less_is_said_and_the_way_back_is_not(change: Change, said: str) -> None:
    after = changed(lambda template: change(properties(template, "Cluster")))
    [line] = weakened("eks", TEMPLATE, after)
    assert line.startswith(f"eks/Cluster (EKS Cluster): {said}")
    assert list(weakened("eks", after, TEMPLATE)) == []


def test_objects_are_told_by_kind_and_name() -> None:
    after = changed(lambda template: objects(template)[1].update(subjects=[]))
    [line] = requests("eks", TEMPLATE, after)
    assert line.startswith("eks/Shared (KubernetesObjects): RoleBinding watchers subjects: ")


@pytest.mark.synth
def test_an_administrator_more_and_an_api_for_everybody_are_decided_by_a_person(tmp_path: Path) -> None:
    environment = environment_on_eks(tmp_path, "dev")
    before = snapshots.by_stack(environment, shared_synthesis(environment, tmp_path).templates)
    after = json.loads(json.dumps(before))
    resources = after["kubernetes"]["Resources"]
    entry = {"ClusterName": "dev-cdc-lake", "PrincipalArn": ADMIN, "AccessPolicies": [policy()]}
    resources["Administrator"] = of("AWS::EKS::AccessEntry", **entry)
    [cluster] = [each for each in resources.values() if each["Type"] == "AWS::EKS::Cluster"]
    cluster["Properties"]["ResourcesVpcConfig"]["EndpointPublicAccess"] = True
    found = compare("dev", "the snapshot", before, after)
    assert lines(found, "Rights wider") == [
        f"kubernetes: {ADMIN} may now do everything in the whole cluster by the Kubernetes API",
        f"kubernetes: {ADMIN} may now log in to the Kubernetes API",
    ]
    assert lines(found, "Network wider") == ["kubernetes/Kubernetes API in from everybody (0.0.0.0/0)"]
    assert {section.title for section in found.sections if section.grave} == {"Rights wider", "Network wider"}
