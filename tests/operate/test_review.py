"""The review's words, and its page's section on security groups and VPN users."""

import json
from pathlib import Path
from typing import Any

import pytest

from operate.review.holdings import DESCRIPTIONS
from operate.review.material import Material
from operate.review.network import Network, Way, graphviz, mermaid, network, section
from operate.review.rows import Table, siblings
from operate.review.words import condition_in_words, in_words, rule_in_words
from operate.synth import Synthesis
from settings.environment import Environment
from settings.load import load
from stacks.gate.data import DATA, EMPTIES

pytestmark = pytest.mark.synth

STACK = "dev-cdc-lake-streaming"
BASTION = {"Fn::GetAtt": ["VpnAccessA1B2C3D4", "GroupId"]}
NOTHING = [{"CidrIp": "255.255.255.255/32", "IpProtocol": "icmp", "FromPort": 252, "ToPort": 86}]


def group(description: str, *into: dict[str, Any], out: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    properties = {
        "GroupDescription": description,
        "SecurityGroupIngress": [*into],
        "SecurityGroupEgress": NOTHING if out is None else out,
    }
    return {"Type": "AWS::EC2::SecurityGroup", "Properties": properties}


def material(environment: Environment, **resources: dict[str, Any]) -> Material:
    templates = {STACK: {"Resources": resources}}
    return Material(
        environment, Synthesis(folder=Path(), templates=templates, violations=(), acknowledged=(), accepted={})
    )


def read(*into: dict[str, Any], out: list[dict[str, Any]] | None = None, **more: dict[str, Any]) -> Network:
    groups = {"BrokerAccess1A2B3C4D": group("Brokers", *into, out=out), "VpnAccessA1B2C3D4": group("VPN")}
    return network(material(load("dev"), **groups, **more))


def rule(port: int | None, **peer: Any) -> dict[str, Any]:
    ports = {} if port is None else {"FromPort": port, "ToPort": port}
    return {"IpProtocol": "-1" if port is None else "tcp", **ports, **peer}


def shown(ways: tuple[Way, ...]) -> list[tuple[str, str, str, bool]]:
    return [(way.source, way.target, ", ".join(way.ports), way.public) for way in ways]


def test_rules_in_a_group_and_beside_it_are_one_way_with_all_their_ports() -> None:
    apart = {"GroupId": {"Fn::GetAtt": ["BrokerAccess1A2B3C4D", "GroupId"]}, "SourceSecurityGroupId": BASTION}
    more = {"Type": "AWS::EC2::SecurityGroupIngress", "Properties": rule(9094) | apart}
    found = read(rule(9098, SourceSecurityGroupId=BASTION), More=more)
    assert shown(found.ways_in) == [("VPN", "Brokers", "TCP 9094, TCP 9098", False)]


def test_a_port_that_is_opened_to_the_internet_comes_first_and_is_said_to_be_open() -> None:
    found = read(rule(443, CidrIp="10.100.0.0/16"), rule(22, CidrIp="0.0.0.0/0"), rule(22, CidrIpv6="2001:db8::/32"))
    assert shown(found.ways_in) == [
        ("2001:db8::/32", "Brokers", "TCP 22", True),
        ("the internet", "Brokers", "TCP 22", True),
        ("the VPC (10.100.0.0/16)", "Brokers", "TCP 443", False),
    ]


def test_a_group_that_says_nothing_of_its_way_out_lets_everything_out() -> None:
    assert shown(read().ways_out) == []
    assert shown(read(out=[]).ways_out) == [("Brokers", "the internet", "everything", True)]
    assert shown(read(out=[rule(443, CidrIp="0.0.0.0/0")]).ways_out) == [("Brokers", "the internet", "TCP 443", True)]


@pytest.mark.parametrize("peer", [{"SourcePrefixListId": "pl-12345678"}, {"CidrIp": {"Ref": "Anyone"}}, {}])
def test_whom_no_template_shows_counts_as_outside(peer: dict[str, Any]) -> None:
    (way,) = read(rule(443, **peer)).ways_in
    assert way.public


def test_a_group_names_what_wears_it() -> None:
    cluster = {
        "Type": "AWS::MSK::Cluster",
        "Properties": {"SecurityGroups": [{"Fn::GetAtt": ["BrokerAccess1A2B3C4D", "GroupId"]}]},
    }
    assert read(Cluster=cluster).groups == {"Brokers": ("streaming/Cluster",), "VPN": ()}


def test_two_groups_of_one_description_are_two() -> None:
    names = read(Other1A2B3C4D=group("Brokers")).groups
    assert names.keys() == {"Brokers (streaming/BrokerAccess)", "Brokers (streaming/Other)", "VPN"}


def test_what_lets_in_the_bastions_group_or_address_lets_a_vpn_user_in() -> None:
    environment = load("dev")
    into = [
        rule(9098, SourceSecurityGroupId=BASTION),
        rule(9094, SourceSecurityGroupId={"Fn::GetAtt": ["BrokerAccess1A2B3C4D", "GroupId"]}),
        rule(443, CidrIp="10.100.0.0/16"),
        rule(None, CidrIp="0.0.0.0/0"),
        rule(22, CidrIp="203.0.113.0/24"),
        rule(22, CidrIpv6="::1/128"),
    ]
    vpn = group("VPN", out=[rule(443, CidrIp="0.0.0.0/0")])
    found = material(environment, BrokerAccess1A2B3C4D=group("Brokers", *into), VpnAccessA1B2C3D4=vpn)
    ways, _ = section(found, network(found)).folded
    assert isinstance(ways, Table)
    assert [row[:3] for row in ways.rows if row[-1] == "yes"] == [
        ("the internet", "Brokers", ("everything",)),
        ("VPN", "Brokers", ("TCP 9098",)),
        ("the VPC (10.100.0.0/16)", "Brokers", ("TCP 443",)),
        ("VPN", "the internet", ("TCP 443",)),
    ]


def test_it_says_who_may_connect_and_from_where() -> None:
    prod = load("prod")
    prod = prod.model_copy(update={"vpn": prod.vpn.model_copy(update={"users": ("alice", "bob")})})
    _, said = section(material(prod), Network(groups={}, ways_in=(), ways_out=())).shown
    assert str(said).startswith("VPN users: alice, bob. They come from 203.0.113.0/24. ")


def test_both_drawings_have_every_way_and_mark_what_is_open() -> None:
    found = read(rule(22, CidrIp="0.0.0.0/0"), rule(9098, SourceSecurityGroupId=BASTION), out=[])
    dot, drawn = graphviz(found), mermaid(found)
    assert dot.count(" -> ") == 3
    assert dot.count('class="open"') == 1
    assert dot.count('class="out" style=dashed') == 1
    assert '==>|"TCP 22"|' in drawn
    assert '-->|"TCP 9098"|' in drawn
    assert '-.->|"everything"|' in drawn


def test_a_description_cannot_end_a_label() -> None:
    text = 'quoted" ]; x -> y [label="'
    found = network(material(load("dev"), A1B2C3D4=group(text, rule(1, CidrIp="10.0.0.0/8"))))
    assert graphviz(found).count(" -> ") == 2
    assert '\\" ]; x -> y' in graphviz(found)
    assert "quoted' ]; x" in mermaid(found)


def test_actions_are_said_by_service_as_what_they_do() -> None:
    assert in_words(["s3:GetObject", "s3:ListBucket", "s3:PutObject", "kafka-cluster:ReadData"]) == (
        "Kafka: reads",
        "S3: reads, changes",
    )
    assert in_words(["glue:BatchDeletePartition", "rds:AddTagsToResource"]) == ("Glue: deletes", "RDS: changes")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("iam:PassRole", "IAM: pass role"),
        ("s3:PutBucketPolicy", "S3: put bucket policy"),
        ("secretsmanager:GetSecretValue", "Secrets Manager: get secret value"),
        ("kms:Decrypt", "KMS: decrypt"),
        ("ec2:AuthorizeSecurityGroupIngress", "EC2: authorize security group ingress"),
        ("iam:*", "IAM: *"),
        ("nobody:Knows", "nobody: knows"),
    ],
)
def test_what_hands_on_rights_opens_or_is_unknown_is_said_by_name(action: str, words: str) -> None:
    assert in_words([action]) == (words,)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"Null": {"aws:RequestTag/owner": "false"}}, "aws:RequestTag/owner is given"),
        ({"StringEquals": {"cloudwatch:namespace": "x"}}, "cloudwatch:namespace is x"),
        ({"StringEqualsIfExists": {"aws:ResourceTag/a": "x"}}, "aws:ResourceTag/a is missing or x"),
        ({"ForAllValues:StringLike": {"aws:TagKeys": ["a-*", "b"]}}, "each of aws:TagKeys is like a-* or b"),
        ({"Bool": {"aws:SecureTransport": True}}, "aws:SecureTransport is true"),
        ({"ArnLike": {"aws:SourceArn": {"Fn::GetAtt": ["Lake", "Arn"]}}}, "aws:SourceArn is like <Lake.Arn>"),
        ({"NumericLessThan": {"aws:x": "1"}}, "aws:x numeric less than 1"),
    ],
)
def test_a_condition_is_a_clause(condition: dict[str, object], words: str) -> None:
    assert condition_in_words(json.dumps(condition)) == words
    assert condition_in_words("") == ""


def test_a_rule_says_what_it_found_without_the_resource() -> None:
    assert rule_in_words("AwsSolutions-IAM5[Resource::<A.Arn>:*]") == "AwsSolutions-IAM5: a wildcard in a policy"
    assert rule_in_words("AwsSolutions-XYZ9") == "AwsSolutions-XYZ9"


def test_names_of_one_place_are_said_together() -> None:
    assert siblings(["a/H/OnEvent", "b/R", "a/H/IsComplete", "a/H/OnEvent", "alone"]) == (
        "a/H/IsComplete and OnEvent",
        "alone",
        "b/R",
    )


def test_whatever_loses_data_for_good_is_on_the_page() -> None:
    # One empties a bucket, which is on the page.
    assert {type_ for type_, each in DATA.items() if each.for_good} <= DESCRIPTIONS.keys() | {EMPTIES}
