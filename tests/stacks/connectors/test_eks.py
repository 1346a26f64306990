"""The connectors on EKS in both environments: every check passes, rights are exact, and faults are refused."""

from pathlib import Path
from typing import Any

import pytest

from operate.review.page import page
from operate.review.render import render
from plugins.workers.connect_workers import only_in_utf8
from stacks.paused import Paused
from tests.cases import long
from tests.stacks.conftest import Synthesized, stack_alone
from tests.stacks.environments import environment_on_eks
from tests.synthesis import found_in, shared_synthesis

pytestmark = pytest.mark.synth


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
    theirs = {name: each["connectorConfiguration"] for name, each in on_msk_connect.connectors().items()}
    # Their JVM can't be set.
    checked = {each["connectorName"]: only_in_utf8(each["connectorConfiguration"]) for each in connectors(eks)}
    assert checked == theirs


@ENVIRONMENTS
def test_the_source_alone_reaches_the_database(eks: Synthesized) -> None:
    source, sink = connectors(eks)
    for each in (source, sink):
        assert next(iter(each["objects"]))["kind"] == "ServiceAccount"

    def ports(each: dict[str, Any]) -> set[int]:
        [policy] = [one for one in each["objects"] if one["kind"] == "NetworkPolicy"]
        return {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}

    assert ports(source) - ports(sink) == {5432}
    assert {"HorizontalPodAutoscaler"} == {one["kind"] for one in sink["objects"]} - {
        one["kind"] for one in source["objects"]
    }


@ENVIRONMENTS
def test_a_role_is_for_the_pods_of_its_connector(eks: Synthesized) -> None:
    roles = eks.resources("connectors", "AWS::IAM::Role")
    for properties in eks.properties("connectors", "AWS::EKS::PodIdentityAssociation"):
        role = roles[properties["RoleArn"]["Fn::GetAtt"][0]]["Properties"]
        [statement] = role["AssumeRolePolicyDocument"]["Statement"]
        assert statement["Condition"]["StringEquals"] == {
            "aws:RequestTag/eks-cluster-name": eks.settings.prefix,
            "aws:RequestTag/kubernetes-namespace": "kafka-connect",
            "aws:RequestTag/kubernetes-service-account": properties["ServiceAccount"],
        }


@ENVIRONMENTS
def test_alarms_and_dashboard_look_where_the_figures_are(eks: Synthesized) -> None:
    alarms = eks.properties("monitoring", "AWS::CloudWatch::Alarm")
    watched = [alarm for alarm in alarms if "connector-" in alarm["AlarmName"]]
    assert len(watched) == 4
    assert {each["Namespace"] for each in watched} == {f"{eks.settings.prefix}/kafka-connect"}
    [watch] = [
        each["Environment"]["Variables"]
        for each in eks.properties("connectors", "AWS::Lambda::Function")
        if each["Handler"] == "stacks.handlers.kubernetes_watch.handler"
    ]
    assert watch["METRICS"] == f"{eks.settings.prefix}/kafka-connect"
    assert watch["CONNECTORS"].split(",") == [each["connectorName"] for each in connectors(eks)]


def test_an_administrator_who_goes_changes_no_others_entry(tmp_path: Path) -> None:
    """EKS takes one entry for each: one that became its neighbour's would be refused."""
    import stacks.node  # noqa: F401  before aws_cdk
    from stacks.connectors.eks_cluster import KubernetesStack
    from stacks.network import NetworkStack

    def entries(*names: str) -> dict[str, Any]:
        who = [f"arn:aws:iam::111111111111:role/{name}" for name in names]
        folder = tmp_path / "".join(names)
        own = environment_on_eks(folder, "dev", f"administrators = {who}")
        assert own.eks is not None
        settings = own.eks
        found = stack_alone(
            own, lambda app: KubernetesStack(app, own, settings, NetworkStack(app, own), Paused.NOTHING)
        )
        return {id_: one for id_, one in found.items() if one["Type"] == "AWS::EKS::AccessEntry"}

    both, second = entries("a", "b"), entries("b")
    assert len(both) == len(second) + 1
    assert {id_: both.get(id_) for id_ in second} == second


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
