"""Careless or hostile changes to the templates: most are rows of mutations.tsv, some need more than one step.

A row has the environment, the class and the name of the mutation, the method of Changed that makes it with the
method's arguments (in JSON; an object at the end has those with names), and the beginning of the line that refuses it.
"""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stacks.gate.changed import Changed, Mutation, imported, port


def split_over_two_resources(changed: Changed) -> None:
    logical_id = next(name for name in changed.stack("database")["Resources"] if name.startswith("DatabaseAccess"))
    group = {"Fn::GetAtt": [logical_id, "GroupId"]}
    changed.open("database", "DatabaseAccess", port(5432, CidrIp="203.0.0.0/17"))
    changed.add("database", "AWS::EC2::SecurityGroupIngress", GroupId=group, **port(5432, CidrIp="203.0.128.0/17"))
    changed.open("database", "DatabaseAccess", port(5432, CidrIp="203.1.0.0/17"))


def route_private_subnets_to_the_internet(changed: Changed) -> None:
    route = changed.properties("network", "AWS::EC2::Route", "VpcPrivateSubnet1")
    route.pop("NatGatewayId")
    gateway = next(n for n, r in changed.stack("network")["Resources"].items() if r["Type"].endswith("InternetGateway"))
    route["GatewayId"] = {"Ref": gateway}


def public_instance_in_a_private_subnet(changed: Changed) -> None:
    interface = changed.properties("vpn", "AWS::EC2::Instance")["NetworkInterfaces"][0]
    interface["SubnetId"] = imported(changed, "VpcPrivateSubnet1Subnet")


def database_in_public_subnets(changed: Changed) -> None:
    group = changed.properties("database", "AWS::RDS::DBSubnetGroup")
    group["SubnetIds"] = [imported(changed, "VpcPublicSubnet1Subnet")]


def connector_in(reference: str, other: Callable[[Changed], Any]) -> Mutation:
    """Put another reference into a connector's request, in place of the first that has `reference` in it."""

    def mutate(changed: Changed) -> None:
        parts = changed.properties("connectors", "Custom::Connector")["Request"]["Fn::Join"][1]
        place = next(at for at, part in enumerate(parts) if isinstance(part, dict) and reference in str(part))
        parts[place] = other(changed)

    return mutate


def attach_the_databases_subnet_to_a_public_table(changed: Changed) -> None:
    resources = changed.stack("network")["Resources"]
    table = next(n for n, r in resources.items() if n.startswith("VpcPublicSubnet1RouteTable") and "Tag" in str(r))
    association = changed.properties("network", "AWS::EC2::SubnetRouteTableAssociation", "VpcPrivateSubnet1")
    association["RouteTableId"] = {"Ref": table}


def another_functions_role(changed: Changed) -> None:
    resources = changed.stack("connectors")["Resources"].values()
    first, second, *_ = [each for each in resources if each["Type"] == "AWS::Lambda::Function"]
    first["Properties"]["Role"] = second["Properties"]["Role"]


def a_topic_that_nobody_reads(type_: str, path: str) -> Mutation:
    """Have the first resource of a type tell a topic of this app that has no subscription."""

    def mutate(changed: Changed) -> None:
        changed.add("monitoring", "AWS::SNS::Topic")
        changed.set("monitoring", type_, path, {"Ref": "Added"})

    return mutate


def script(old: str, new: str) -> Mutation:
    """Change a part of the bastion's script; raises AssertionError if nothing has changed."""

    def mutate(changed: Changed) -> None:
        parts = changed.properties("vpn", "AWS::EC2::Instance")["UserData"]["Fn::Base64"]["Fn::Join"][1]
        before = list(parts)
        parts[:] = [part.replace(old, new, 1) if isinstance(part, str) else part for part in before]
        assert parts != before

    return mutate


def open_to_the_world(changed: Changed) -> None:
    network = changed.properties("kubernetes", "AWS::EKS::Cluster")["ResourcesVpcConfig"]
    network |= {"EndpointPublicAccess": True, "PublicAccessCidrs": ["0.0.0.0/0"]}


# Methods whose last argument may be an object with those that have names.
WITH_NAMES = frozenset({"add", "allow", "let_in", "replace"})
REACHED = "the internet reaches it, and "
# Each with the environment and the beginning of the line that refuses it.
STEPS: dict[str, tuple[str, Mutation, str]] = {
    "network: private subnets to the internet": ("prod", route_private_subnets_to_the_internet, REACHED),
    "network: private subnet at a public table": (
        "prod",
        attach_the_databases_subnet_to_a_public_table,
        REACHED,
    ),
    "network: public instance among private ones": (
        "prod",
        public_instance_in_a_private_subnet,
        "it is private, and Bastion",
    ),
    "network: database in public subnets": ("prod", database_in_public_subnets, f"{REACHED}DatabaseSubnets"),
    "network: connector in a public subnet": (
        "prod",
        connector_in("VpcPrivateSubnet1", lambda changed: imported(changed, "VpcPublicSubnet1Subnet")),
        f"{REACHED}SourceConnector",
    ),
    "network: connector in somebody's group": (
        "prod",
        connector_in("GroupId", lambda _changed: {"Fn::ImportValue": "somebodys-group"}),
        "imports somebodys-group, which no stack of this app exports",
    ),
    "ports: two groups of rules": ("prod", split_over_two_resources, "TCP 5432 is open to the world"),
    "roles: a function with another's": ("prod", another_functions_role, "has the role of "),
    "notifications: an alarm that nobody reads": (
        "prod",
        a_topic_that_nobody_reads("AWS::CloudWatch::Alarm", "AlarmActions/0"),
        "tells <Added>, to which nobody has subscribed",
    ),
    "notifications: an event that nobody reads": (
        "prod",
        a_topic_that_nobody_reads("AWS::Events::Rule", "Targets/0/Arn"),
        "tells <Added>, to which nobody has subscribed",
    ),
    "notifications: a budget that nobody reads": (
        "prod",
        a_topic_that_nobody_reads("AWS::Budgets::Budget", "NotificationsWithSubscribers/0/Subscribers/0/Address"),
        "tells <Added>, to which nobody has subscribed",
    ),
    "code: another release of the VPN server": (
        "prod",
        script("https://github.com/", "https://x.example/"),
        "UserData is none of our scripts",
    ),
    "code: a VPN server without the check of its download": (
        "prod",
        script("\n  check_release\n", "\n"),
        "UserData is none of our scripts",
    ),
    "Kubernetes: an API open to the world": ("prod_on_eks", open_to_the_world, "its API is open to the world"),
}


def rows() -> Iterator[Any]:
    """Parameters of a test: environment, mutation and line of each."""
    for name, (environment, mutation, line) in STEPS.items():
        yield pytest.param(environment, mutation, line, id=name)
    with Path(__file__).with_name("mutations.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            name, arguments = f"{row['class']}: {row['mutation']}", json.loads(row["arguments"])
            mutation = _calling(row["how"], arguments)
            yield pytest.param(row["environment"], mutation, row["refused by"], id=name)


def _calling(method: str, arguments: list[Any]) -> Mutation:
    named = arguments.pop() if isinstance(arguments[-1], dict) and method in WITH_NAMES else {}
    return lambda changed: getattr(changed, method)(*arguments, **named)
