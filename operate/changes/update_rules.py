"""What CloudFormation does to a resource when a property changes, with the source of each fact.

For AWS types the source is the provider's schema in cfn-lint (`createOnlyProperties`); what no schema states is in
`FACTS`, each with its source. For our own types it is the handlers (stacks/handlers).
"""

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from plugins.connector_names import FIXED

# From the mildest to those that need manual work.
EFFECTS = ("in place", "new", "gone", "recreated", "replaced", "refused")
Effect = Literal["in place", "new", "gone", "recreated", "replaced", "refused"]
Path = tuple[str, ...]
REGION = "ap-southeast-2"
UNKNOWN = "nobody has written down what this change does"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """What a change of a property does, if `when` (given the old value and the new one) is true."""

    path: Path
    effect: Effect
    why: str
    source: str
    when: Callable[[Any, Any], bool] = lambda _before, _after: True


def version(text: str) -> tuple[int, ...]:
    """Make versions such as `3.9.x.kraft` and `16.11` comparable."""
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _smaller(before: Any, after: Any) -> bool:
    return int(after) < int(before)


def _older(before: Any, after: Any) -> bool:
    return version(after) < version(before)


_EMR = "CloudFormation template reference, AWS::EMR::Cluster: JobFlowInstancesConfig and InstanceGroupConfig"
_INSTANCE = "CloudFormation template reference, AWS::EC2::Instance"
_CLUSTER = "CloudFormation template reference, AWS::RDS::DBCluster"
_MSK = "Amazon MSK developer guide"
FACTS: dict[str, tuple[Fact, ...]] = {
    "AWS::EC2::Instance": (
        Fact(path=("InstanceType",), effect="in place", why="stopped and started", source=_INSTANCE),
        Fact(path=("UserData",), effect="in place", why="stopped and started", source=_INSTANCE),
        Fact(path=("SecurityGroupIds",), effect="in place", why="", source=_INSTANCE),
    ),
    "AWS::EMR::Cluster": (
        Fact(path=("Instances", "CoreInstanceGroup", "InstanceCount"), effect="in place", why="resized", source=_EMR),
        Fact(path=("Instances", "TerminationProtected"), effect="in place", why="", source=_EMR),
        Fact(path=("Instances",), effect="replaced", why="", source=_EMR),
    ),
    "AWS::MSK::Cluster": (
        Fact(
            path=("BrokerNodeGroupInfo", "StorageInfo"),
            effect="refused",
            why='"You can only increase the amount of storage, you can\'t decrease it"',
            source=f'{_MSK}, "Manual scaling for Standard brokers"',
            when=lambda before, after: isinstance(before, int) and _smaller(before, after),
        ),
        Fact(
            path=("BrokerNodeGroupInfo", "InstanceType"),
            effect="in place",
            why="one broker after the other",
            source=f'{_MSK}, "Update the Amazon MSK cluster broker size"',
        ),
        Fact(
            path=("KafkaVersion",),
            effect="refused",
            why='"You can\'t downgrade an existing MSK cluster to an older version of Apache Kafka"',
            source=f'{_MSK}, "Upgrade the Apache Kafka version"',
            when=_older,
        ),
        Fact(
            path=("KafkaVersion",),
            effect="refused",
            why="from ZooKeeper to KRaft needs three zones and ZooKeeper's access switched off by hand",
            source=f'{_MSK}, "Migrate from ZooKeeper to KRaft mode"',
            when=lambda before, after: before.endswith("kraft") != after.endswith("kraft"),
        ),
        Fact(
            path=("KafkaVersion",),
            effect="in place",
            why="one broker after the other",
            source=f'{_MSK}, "Upgrade the Apache Kafka version"',
        ),
        Fact(
            path=("NumberOfBrokerNodes",),
            effect="refused",
            why="unless the brokers that go hold no partitions",
            source=f'{_MSK}, "Remove a broker from an Amazon MSK cluster"',
            when=_smaller,
        ),
    ),
    "AWS::RDS::DBCluster": (
        Fact(
            path=("EngineVersion",),
            effect="refused",
            why="an older version isn't among a version's upgrade targets",
            source='Aurora user guide, "Upgrading Amazon Aurora PostgreSQL DB clusters"',
            when=_older,
        ),
        Fact(
            path=("EngineVersion",),
            effect="in place",
            why="interrupts the database for a short while",
            source='Aurora user guide, "Upgrading Amazon Aurora PostgreSQL DB clusters"',
        ),
        *(
            Fact(path=(name,), effect="replaced", why="", source=f"{_CLUSTER}: Update requires: Replacement")
            for name in ("MasterUsername", "SnapshotIdentifier", "SourceDBClusterIdentifier", "StorageEncrypted")
        ),
    ),
    "AWS::RDS::DBInstance": (
        Fact(
            path=("DBInstanceClass",),
            effect="in place",
            why="interrupts the database for a short while",
            source="CloudFormation template reference, AWS::RDS::DBInstance",
        ),
    ),
}
# Our resources and CDK's: what their handlers do with a changed request. Paths begin in `Request`.
_CONNECTOR = "stacks/handlers/msk_connect/changes.py"
CUSTOM: dict[str, tuple[Fact, ...]] = {
    "Custom::BootstrapBrokers": (Fact(path=("clusterArn",), effect="replaced", why="", source="bootstrap_brokers.py"),),
    "Custom::Connector": (
        Fact(path=("connectorName",), effect="refused", why="slot and offsets go by it", source="connector.py"),
        *(
            Fact(
                path=(key,), effect="recreated", why="the connector, under its name: progress stays", source=_CONNECTOR
            )
            for key in FIXED
        ),
    ),
    "Custom::KubernetesConnector": (
        Fact(
            path=("connectorName",), effect="refused", why="slot and offsets go by it", source="kubernetes_connector.py"
        ),
    ),
    "Custom::KubernetesObjects": (),
    "Custom::Plugin": (
        Fact(path=("tags",), effect="in place", why="", source="connector_plugin.py"),
        Fact(path=(), effect="replaced", why="its name is its content's", source="connector_plugin.py"),
    ),
    "Custom::EmrStep": (
        Fact(path=("name",), effect="replaced", why="", source="emr_step.py"),
        Fact(path=(), effect="recreated", why="the job restarts after its commit", source="emr_step.py"),
    ),
    "Custom::OutsideSource": (),
    "Custom::PreparedPipeline": (),
    "Custom::PreparedSource": (),
    "Custom::ProtectedDatabase": (),
    "Custom::QueriedSource": (),
    "Custom::S3AutoDeleteObjects": (),
    "Custom::Topics": (),
    "Custom::VpcRestrictDefaultSG": (),
}
# No schema in cfn-lint: a nested stack of an AWS application.
WITHOUT_SCHEMA = frozenset({"AWS::Serverless::Application"})


def effect_of(type_: str, path: Path, before: Any, after: Any) -> tuple[Effect, str]:
    """Return what a changed property does to a resource, and a note: UNKNOWN where no rule says it."""
    for fact in (CUSTOM | FACTS).get(type_, ()):
        if path[: len(fact.path)] == fact.path and fact.when(before, after):
            return fact.effect, fact.why
    if type_ in CUSTOM or type_ in WITHOUT_SCHEMA:
        return "in place", ""
    if type_ not in _types() or type_ == "AWS::CloudFormation::CustomResource":
        return "in place", UNKNOWN
    if _named(type_, path, "createOnlyProperties"):
        return "replaced", ""
    return "in place", UNKNOWN if _named(type_, path, "conditionalCreateOnlyProperties") else ""


def too_many(type_: str, paths: Sequence[Path]) -> str:
    """Why a resource can't take changes of all these properties at once; empty if it can.

    MSK has one operation per property, and its resource takes one at a time: aws/aws-cdk issue 16765 quotes the
    refusal.
    """
    parts = {path[:2] if path[0] == "BrokerNodeGroupInfo" else path[:1] for path in paths}
    if type_ != "AWS::MSK::Cluster" or len(parts) < 2:
        return ""
    return '"You can\'t update multiple attributes of the cluster in same request"'


def fixed_name(type_: str, properties: Mapping[str, Any]) -> str | None:
    """The name that a resource and its replacement share, so that both can't exist at once. None if AWS chooses it."""
    if type_ not in _types():
        return None
    identifier = [path.removeprefix("/properties/") for path in schema(type_).get("primaryIdentifier", [])]
    # Some identifiers have several parts: a table's includes its catalog and database.
    parts = [properties[key] for key in identifier if isinstance(properties.get(key), str)]
    others = [properties[key] for key in _NAMES.get(type_, ()) if isinstance(properties.get(key), str)]
    return "/".join(parts) or next(iter(others), None)


# Names that must be unique without being the type's identifier.
_NAMES = {
    "AWS::MSK::Cluster": ("ClusterName",),
    "AWS::MSK::Configuration": ("Name",),
    "AWS::CloudWatch::Alarm": ("AlarmName",),
}


@functools.cache
def schema(type_: str) -> dict[str, Any]:
    """The provider's schema of a type, from cfn-lint. Raises KeyError."""
    path = files("cfnlint.data.schemas") / "resources" / f"{_types()[type_]}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@functools.cache
def _types() -> dict[str, str]:
    found: dict[str, str] = json.loads(
        (files("cfnlint.data.schemas") / "providers" / f"{REGION}.json").read_text(encoding="utf-8")
    )
    return found


def _named(type_: str, path: Path, kind: str) -> bool:
    """Whether the schema lists the property, one above it or one within it among those of a kind."""
    for text in schema(type_).get(kind, []):
        fixed = tuple(text.removeprefix("/properties/").split("/"))
        shared = min(len(fixed), len(path))
        if fixed[:shared] == path[:shared]:
            return True
    return False
