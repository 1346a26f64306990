"""Our own rules on templates: each detects its fault, and passes correct templates."""

import json
from typing import Any

import pytest

from settings.addresses import too_many
from settings.load import load
from stacks.gate import review
from stacks.gate.rights import is_wide
from stacks.gate.template import Finding, as_text, plain_text, request_of

# These resources are written for one rule each: other rules judge what they lack.
OTHERS = {"known-properties", "as-set", "data-closed", "rights-accepted", "rights-of-roles", "private-network"}


def reviewed(resource: dict[str, Any]) -> list[Finding]:
    found = review({"s": {"Resources": {"R": resource}}}, load("dev"))
    return [finding for finding in found if finding.rule not in OTHERS]


def findings(resource: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(finding.rule for finding in reviewed(resource)))


def custom(request: object) -> dict[str, Any]:
    return {"Type": "Custom::Connector", "Properties": {"ServiceToken": "t", "Request": json.dumps(request)}}


def group(**rule: object) -> dict[str, Any]:
    out = {"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 443, "ToPort": 443}
    properties = {"SecurityGroupIngress": [rule], "SecurityGroupEgress": [out]}
    return {"Type": "AWS::EC2::SecurityGroup", "Properties": properties}


def connector(**configuration: str) -> dict[str, Any]:
    return custom({"connectorConfiguration": {name.replace("_", "."): value for name, value in configuration.items()}})


LATER = ['{"database.password":"${secretsmanager:', {"Ref": "Secret"}, ':password}"}']
NAMES = {"secretArn": "arn:aws:secretsmanager:…", "secretName": "orders", "config.providers.secretsmanager.class": "x"}


@pytest.mark.parametrize(
    ("resource", "found"),
    [
        (connector(database_password="hunter2"), True),
        (connector(database_password="${file:/x:password}"), True),
        (connector(database_password="${secretsmanager:orders}"), True),
        (connector(database_password="${secretsmanager:orders:password}"), False),
        ({"Type": "Custom::Connector", "Properties": {"Request": {"Fn::Join": ["", LATER]}}}, False),
        (custom({"x": "{{resolve:secretsmanager:orders:SecretString:password}}"}), True),
        (custom(NAMES), False),
    ],
)
def test_a_secret_is_a_reference_to_secrets_manager(resource: dict[str, Any], found: bool) -> None:
    assert findings(resource) == (["no-secret-values"] if found else [])


def test_a_release_without_checksum_is_a_warning() -> None:
    (finding,) = reviewed(custom({"releases": [{"file": "x.zip", "sha256": ""}]}))
    assert finding.level == "warning"
    assert "x.zip has no SHA-256" in str(finding)
    assert findings(custom({"releases": [{"file": "x.zip", "sha256": "0" * 64}]})) == []


@pytest.mark.parametrize(
    "rule",
    [
        {"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 443, "ToPort": 443},
        {"CidrIpv6": "::/0", "IpProtocol": "-1"},
        {"CidrIp": "0.0.0.0/0", "IpProtocol": "udp", "FromPort": 500, "ToPort": 4500},
        {"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 500, "ToPort": 500},
    ],
)
def test_a_port_that_is_open_to_the_world_is_seen(rule: dict[str, object]) -> None:
    assert findings(group(**rule)) == ["no-open-ports"]
    assert findings({"Type": "AWS::EC2::SecurityGroupIngress", "Properties": rule}) == ["no-open-ports"]


def test_ipsec_and_private_networks_pass() -> None:
    [clients] = map(str, load("dev").vpn.client_cidrs)
    assert findings(group(CidrIp=clients, IpProtocol="udp", FromPort=4500, ToPort=4500)) == []
    assert findings(group(CidrIp="10.100.0.0/16", IpProtocol="tcp", FromPort=5432, ToPort=5432)) == []


@pytest.mark.parametrize(
    "ranges",
    [
        ["0.0.0.0/1", "128.0.0.0/1"],
        ["0.0.0.0/1"],
        ["203.0.0.0/16", "198.51.0.0/16"],
        [f"{first}.0.0.0/8" for first in range(1, 224)],
        ["::/0"],
        ["::/1", "8000::/1"],
        ["2000::/3"],
        ["2001:db8::/31"],
    ],
)
def test_ranges_that_are_more_than_one_organisations_are_too_many_together(ranges: list[str]) -> None:
    assert "% of all IPv" in (too_many(ranges) or "")


@pytest.mark.parametrize(
    "ranges",
    [[], ["203.0.113.0/24", "198.51.100.7/32"], ["203.0.0.0/16"], ["2001:db8::/32"], ["10.0.0.0/8", "fd00::/8"]],
)
def test_an_organisations_ranges_and_private_ones_arent(ranges: list[str]) -> None:
    assert too_many(ranges) is None


@pytest.mark.parametrize(
    ("resource", "wide"),
    [
        ("*", True),
        ("arn:aws:s3:::*", True),
        ("arn:aws:s3:::*/secret", True),
        ("arn:aws:secretsmanager:ap-southeast-2:1:secret:*", True),
        ("arn:aws:iam::1:role/*", True),
        ("arn:aws:kms:*:1:key/k", True),
        ("arn:aws:s3:::bucket/*", False),
        ("arn:aws:iam::1:role/aws-service-role/x/AWSServiceRoleFor*", False),
        ("<Secret>", False),
    ],
)
def test_a_pattern_that_leaves_open_which_resource_it_is_is_wide(resource: str, wide: bool) -> None:
    assert is_wide(resource) == wide


def test_text_with_functions_is_read() -> None:
    assert plain_text({"Fn::Join": ["-", ["a", {"Ref": "B"}, "c"]]}) == "a-\0-c"
    assert request_of({"Type": "AWS::S3::Bucket"}) is None
    split = {"Fn::Select": [0, {"Fn::Split": ['"', {"Ref": "B"}]}]}
    assert json.loads(as_text({"Fn::Join": ["", ['{"a":"', split, '"}']]})) == {"a": "<Select 0, <Split ', <B>>>"}
