"""The connectors on EKS in both environments: every check passes, rights are exact, and faults are refused."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from operate.review.findings import facts
from operate.review.page import page
from operate.review.render import render
from plugins.connector_names import offset_topic
from plugins.kafka.topics import own_worker_access, sink_access, source_access, statements
from plugins.source.source_connector import source_connector
from plugins.workers.connect_workers import only_in_utf8
from settings.connectors import sink_settings, source_settings
from stacks.gate import review
from stacks.gate.manifests import problems
from stacks.gate.template import plain_text
from tests.cases import long
from tests.stacks.conftest import Synthesized, synthesized
from tests.stacks.connectors.test_stack import arns, on_kafka, pairs
from tests.stacks.environments import environment_on_eks
from tests.synthesis import found_in, shared_synthesis

pytestmark = pytest.mark.synth
ADMINISTRATOR = 'administrators = ["arn:aws:iam::222222222222:role/platform"]'


@pytest.fixture(scope="session")
def dev_on_eks(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """The environment whose pauses tests/operate/pausing tries, so that they share its synthesis."""
    folder = tmp_path_factory.mktemp("dev")
    return synthesized(environment_on_eks(folder, "dev"), folder / "cdk.out")


@pytest.fixture(scope="session")
def prod_on_eks(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """prod, with allowed addresses and an administrator of the API."""
    folder = tmp_path_factory.mktemp("prod")
    settings = environment_on_eks(folder, "prod", 'endpoint_cidrs = ["203.0.113.0/24"]', ADMINISTRATOR)
    return synthesized(settings, folder / "cdk.out", nag=False)


ENVIRONMENTS = pytest.mark.parametrize("name", ["dev", "prod"])


@pytest.fixture
def eks(name: str, request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(f"{name}_on_eks")
    return found


def connectors(eks: Synthesized) -> list[dict[str, Any]]:
    """The requests of both connectors, source first."""
    found = eks.requests("connectors", "Custom::KubernetesConnector").values()
    return sorted(found, key=lambda each: each["connectorName"], reverse=True)


@pytest.mark.parametrize(("name", "whole"), [("dev", True), ("prod", False), long("prod", True)])
def test_every_check_says_yes(eks: Synthesized, tmp_path: Path, *, whole: bool) -> None:
    found = found_in(eks.settings, shared_synthesis(eks.settings, tmp_path, nag=whole), lint=whole)
    assert [each for each in found if each.startswith("error")] == []


@ENVIRONMENTS
def test_the_connectors_are_configured_as_on_msk_connect(
    name: str, eks: Synthesized, request: pytest.FixtureRequest
) -> None:
    on_msk_connect: Synthesized = request.getfixturevalue(name)
    others = on_msk_connect.requests("connectors", "Custom::Connector").values()
    theirs = {each["connectorName"]: each["connectorConfiguration"] for each in others}
    # Their JVM can't be set.
    checked = {each["connectorName"]: only_in_utf8(each["connectorConfiguration"]) for each in connectors(eks)}
    assert checked == theirs


@ENVIRONMENTS
def test_their_objects_are_sound_and_the_source_alone_reaches_the_database(eks: Synthesized) -> None:
    source, sink = connectors(eks)
    for each in (source, sink):
        assert list(problems(each["objects"])) == []
        assert next(iter(each["objects"]))["kind"] == "ServiceAccount"

    def ports(each: dict[str, Any]) -> set[int]:
        [policy] = [one for one in each["objects"] if one["kind"] == "NetworkPolicy"]
        return {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}

    assert ports(source) - ports(sink) == {5432}
    assert {"HorizontalPodAutoscaler"} == {one["kind"] for one in sink["objects"]} - {
        one["kind"] for one in source["objects"]
    }


@ENVIRONMENTS
def test_each_role_may_do_in_kafka_what_is_written_down(eks: Synthesized) -> None:
    [orders] = eks.settings.streamed
    source, sink = source_settings(eks.settings, orders), sink_settings(eks.settings, orders)
    wanted = {
        "connectors/SourceRole": source_access(
            source, worker=own_worker_access(source.name, offset_topic(source.name, "*"))
        ),
        "connectors/SinkRole": sink_access(sink, worker=own_worker_access(sink.name, offset_topic(sink.name))),
    }
    found = on_kafka(eks)
    for role, grants in wanted.items():
        [written] = [each for owner, each in found.items() if owner.startswith(role)]
        assert pairs(written) == pairs(statements(grants, arns(eks.settings)))
    assert {owner.rstrip("0123456789ABCDEF") for owner in found} == {
        *wanted,
        "connectors/TopicsProviderOnEventRole",
        "connectors/TopicsProviderIsCompleteRole",
    }


@ENVIRONMENTS
def test_a_role_is_for_the_pods_of_its_connector(eks: Synthesized) -> None:
    roles = eks.resources("connectors", "AWS::IAM::Role")
    for each in eks.resources("connectors", "AWS::EKS::PodIdentityAssociation").values():
        properties = each["Properties"]
        [statement] = roles[properties["RoleArn"]["Fn::GetAtt"][0]]["Properties"]["AssumeRolePolicyDocument"][
            "Statement"
        ]
        assert statement["Condition"]["StringEquals"] == {
            "aws:RequestTag/eks-cluster-name": eks.settings.prefix,
            "aws:RequestTag/kubernetes-namespace": "kafka-connect",
            "aws:RequestTag/kubernetes-service-account": properties["ServiceAccount"],
        }


@ENVIRONMENTS
def test_alarms_and_dashboard_look_where_the_figures_are(eks: Synthesized) -> None:
    alarms = eks.resources("monitoring", "AWS::CloudWatch::Alarm").values()
    watched = [each["Properties"] for each in alarms if "connector-" in each["Properties"]["AlarmName"]]
    assert len(watched) == 4
    assert {each["Namespace"] for each in watched} == {f"{eks.settings.prefix}/kafka-connect"}
    [watch] = [
        each["Properties"]["Environment"]["Variables"]
        for each in eks.resources("connectors", "AWS::Lambda::Function").values()
        if each["Properties"]["Handler"] == "stacks.handlers.kubernetes_watch.handler"
    ]
    assert watch["METRICS"] == f"{eks.settings.prefix}/kafka-connect"
    assert watch["CONNECTORS"].split(",") == [each["connectorName"] for each in connectors(eks)]


@ENVIRONMENTS
def test_nothing_of_msk_connect_is_made(eks: Synthesized) -> None:
    for type_ in ("Custom::Connector", "Custom::Plugin", "AWS::KafkaConnect::WorkerConfiguration"):
        assert eks.resources("connectors", type_) == {}


@ENVIRONMENTS
def test_the_page_says_who_reaches_and_who_administers_the_cluster(name: str, eks: Synthesized) -> None:
    text = render(page(eks.settings, eks.synthesis, []), "md")
    assert "Kubernetes API" in text
    assert f"connectors/SourceRole/Role: the service account {name}-cdc-lake-orders-source of kafka-connect" in text
    assert "LogRole: the service account cloudwatch-agent of the add-on amazon-cloudwatch-observability" in text
    if name == "prod":
        assert "203.0.113.0/24" in text
        assert "role/platform" in text
    else:
        assert "inside the VPC alone" in text


def _cluster(templates: dict[str, Any]) -> Any:
    return _one(templates, "kubernetes", "AWS::EKS::Cluster")


def _one(templates: dict[str, Any], stack: str, type_: str, part: str = "") -> Any:
    resources = templates[f"prod-cdc-lake-{stack}"]["Resources"]
    return next(r for n, r in resources.items() if r["Type"] == type_ and part in n)["Properties"]


def _put(value: Any, *path: str) -> Callable[[Any], None]:
    def change(properties: Any) -> None:
        for key in path[:-1]:
            properties = properties[key]
        properties[path[-1]] = value

    return change


MUTATIONS: dict[str, tuple[Callable[[dict[str, Any]], Any], Callable[[Any], None], str]] = {
    "API open to the world": (
        _cluster,
        lambda p: p["ResourcesVpcConfig"].update(EndpointPublicAccess=True, PublicAccessCidrs=["0.0.0.0/0"]),
        "kubernetes-closed",
    ),
    "no private endpoint": (
        _cluster,
        _put(False, "ResourcesVpcConfig", "EndpointPrivateAccess"),
        "kubernetes-closed",
    ),
    "secrets in plain text": (_cluster, _put([], "EncryptionConfig"), "kubernetes-closed"),
    "no audit log": (_cluster, _put({}, "Logging"), "kubernetes-closed"),
    "its creator rules": (
        _cluster,
        _put(True, "AccessConfig", "BootstrapClusterCreatorAdminPermissions"),
        "kubernetes-closed",
    ),
    "the connectors' function rules": (
        lambda t: _one(t, "connectors", "AWS::EKS::AccessEntry", "ConnectorAccess"),
        _put(
            [
                {
                    "AccessScope": {"Type": "cluster"},
                    "PolicyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
                }
            ],
            "AccessPolicies",
        ),
        "kubernetes-closed",
    ),
    "a group of Kubernetes's own": (
        lambda t: _one(t, "connectors", "AWS::EKS::AccessEntry", "WatchAccess"),
        _put(["system:masters"], "KubernetesGroups"),
        "kubernetes-closed",
    ),
    "pods of another namespace": (
        lambda t: _one(t, "connectors", "AWS::EKS::PodIdentityAssociation"),
        _put("default", "Namespace"),
        "kubernetes-closed",
    ),
    "pods of anybody": (
        lambda t: _one(t, "connectors", "AWS::IAM::Role", "SinkRole"),
        lambda p: p["AssumeRolePolicyDocument"]["Statement"][0].pop("Condition"),
        "kubernetes-closed",
    ),
    "another add-on": (
        lambda t: _one(t, "kubernetes", "AWS::EKS::Addon"),
        _put("somebodys", "AddonName"),
        "kubernetes-closed",
    ),
    "another managed policy": (
        lambda t: _one(t, "kubernetes", "AWS::IAM::Role", "NodeRole"),
        lambda p: p["ManagedPolicyArns"].append("arn:aws:iam::aws:policy/AdministratorAccess"),
        "rights-of-roles",
    ),
    "an image by its tag": (
        lambda t: _one(t, "connectors", "Custom::KubernetesConnector"),
        lambda p: p.update(Request=_without_digest(p["Request"])),
        "manifests-sound",
    ),
}


def _without_digest(request: Any) -> Any:
    text = request["Fn::Join"][1]
    parts = [part.replace("@sha256:", ":tag-") if isinstance(part, str) else part for part in text]
    return {"Fn::Join": ["", parts]}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_dangerous_change_is_refused(prod_on_eks: Synthesized, name: str) -> None:
    find_it, mutate, rule = MUTATIONS[name]
    templates = copy.deepcopy(dict(prod_on_eks.synthesis.templates))
    mutate(find_it(templates))
    found = review(templates, facts(prod_on_eks.settings), prod_on_eks.synthesis.accepted)
    assert rule in {finding.rule for finding in found if finding.level == "error"}


def test_the_source_is_configured_from_its_settings(dev_on_eks: Synthesized) -> None:
    [orders] = dev_on_eks.settings.streamed
    configured = connectors(dev_on_eks)[0]["connectorConfiguration"]
    wanted = source_connector(source_settings(dev_on_eks.settings, orders))
    same = {key for key in wanted if plain_text(configured[key]) == wanted[key]}
    assert wanted.keys() - same == {"database.hostname", "database.password"}
