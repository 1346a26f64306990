"""Careless or hostile changes to the templates: most are rows of mutations.tsv, some need more than one step.

A row has the environment, the class and the name of the mutation, the method of Changed that makes it with the
method's arguments (in JSON; an object at the end has those with names), and the beginning of the line that refuses it.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stacks.gate.changed import Changed, Mutation, port


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


def request_with(reference: str, other: Any, type_: str = "Custom::Connector", role: str = "connectors") -> Mutation:
    """Put something else into a request, in place of the first function that has `reference` in it."""

    def mutate(changed: Changed) -> None:
        parts = changed.properties(role, type_)["Request"]["Fn::Join"][1]
        place = next(at for at, part in enumerate(parts) if isinstance(part, dict) and reference in str(part))
        parts[place] = other

    return mutate


def unread(type_: str, path: str) -> Mutation:
    """Have the first resource of a type tell a topic of this app that has no subscription."""

    def mutate(changed: Changed) -> None:
        changed.add("monitoring", "AWS::SNS::Topic")
        changed.set("monitoring", type_, path, {"Ref": "Added"})

    return mutate


# Methods whose last argument may be an object with those that have names.
WITH_NAMES = frozenset({"add", "allow", "let_in", "replace"})
REACHED = "the internet reaches it, and "
UNREAD = "tells <Added>, to which nobody has subscribed"
PUBLIC = "prod-cdc-lake-network:ExportsOutputRefVpcPublicSubnet1Subnet5C2D37C4FFA2B456"
ANOTHER_API = {"Fn::Join": ["", ['<","endpoint":"https://x.example","authority":"eA==>']]}
# Each with the environment and the beginning of the line that refuses it.
STEPS: dict[str, tuple[str, Mutation, str]] = {
    "network: private subnets to the internet": ("prod", route_private_subnets_to_the_internet, REACHED),
    "network: a public connector": (
        "prod",
        request_with("VpcPrivateSubnet1", {"Fn::ImportValue": PUBLIC}),
        f"{REACHED}SourceConnector",
    ),
    "network: connector in somebody's group": (
        "prod",
        request_with("GroupId", {"Fn::ImportValue": "somebodys-group"}),
        "imports somebodys-group, which no stack of this app exports",
    ),
    "Kubernetes: another API by a function that writes keys": (
        "prod_on_eks",
        request_with("CertificateAuthorityData", ANOTHER_API, "Custom::KubernetesObjects", "kubernetes"),
        "Request has a function with a quotation mark",
    ),
    "network: brokers written like a reference": (
        "prod",
        request_with("", "<x:1,b.evil.example:9098,y:1>", "Custom::Topics"),
        "Request has a text with <",
    ),
    "ports: two groups of rules": ("prod", split_over_two_resources, "TCP 5432 is open to the world"),
    "notifications: an alarm that nobody reads": ("prod", unread("AWS::CloudWatch::Alarm", "AlarmActions/0"), UNREAD),
    "notifications: an event that nobody reads": ("prod", unread("AWS::Events::Rule", "Targets/0/Arn"), UNREAD),
    "notifications: a budget that nobody reads": (
        "prod",
        unread("AWS::Budgets::Budget", "NotificationsWithSubscribers/0/Subscribers/0/Address"),
        UNREAD,
    ),
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
