"""Reads from a template who may reach what."""

import json
import re
from typing import Any

from tests.stacks.conftest import Synthesized

# Construct ids of our security groups, which every reference to one has in it.
GROUPS = re.compile(r"VpnAccess|DatabaseAccess|PreparationAccess|BrokerAccess|RotationSingleUser|TopicsAccess")


def open_ports(stack: Synthesized, role: str, group: str) -> set[str]:
    """What reaches the group with that construct id, as `tcp 5432 from VpnAccess` or `udp 500 from 0.0.0.0/0`."""
    rules: list[dict[str, Any]] = []
    for logical_id, resource in stack.resources(role, "AWS::EC2::SecurityGroup").items():
        if group in logical_id:
            rules += resource["Properties"].get("SecurityGroupIngress", [])
    for resource in stack.resources(role, "AWS::EC2::SecurityGroupIngress").values():
        if group in json.dumps(resource["Properties"]["GroupId"]):
            rules.append(resource["Properties"])
    return {f"{_ports(rule)} from {_source(rule)}" for rule in rules}


def ways_out(stack: Synthesized, role: str, group: str) -> set[str]:
    """Where the group's members may go, as `tcp 443 to 0.0.0.0/0`."""
    rules: list[dict[str, Any]] = []
    for logical_id, resource in stack.resources(role, "AWS::EC2::SecurityGroup").items():
        if group in logical_id:
            rules += resource["Properties"].get("SecurityGroupEgress", [])
    for resource in stack.resources(role, "AWS::EC2::SecurityGroupEgress").values():
        if group in json.dumps(resource["Properties"]["GroupId"]):
            rules.append(resource["Properties"])
    return {f"{_ports(rule)} to {_target(rule)}" for rule in rules}


def _ports(rule: dict[str, Any]) -> str:
    if rule["IpProtocol"] == "-1":
        return "all"
    first, last = _port(rule["FromPort"]), _port(rule["ToPort"])
    return f"{rule['IpProtocol']} {first}" if first == last else f"{rule['IpProtocol']} {first}-{last}"


def _port(value: Any) -> str:
    """A number, or the attribute that says it, such as `Endpoint.Port`."""
    return str(value) if isinstance(value, int) else str(value["Fn::GetAtt"][1])


def _source(rule: dict[str, Any]) -> str:
    return _peer(rule, "SourceSecurityGroupId")


def _target(rule: dict[str, Any]) -> str:
    return _peer(rule, "DestinationSecurityGroupId")


def _peer(rule: dict[str, Any], key: str) -> str:
    if "CidrIp" in rule:
        return str(rule["CidrIp"])
    match = GROUPS.search(json.dumps(rule[key]))
    assert match, rule
    return match.group()
