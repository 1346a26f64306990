"""What CloudFormation does to a resource when a property changes, with the source of each fact.

For AWS types the source is the provider's schema in cfn-lint (`createOnlyProperties`); what no schema states is in
`FACTS`, each with its source. For our own types it is the handlers (stacks/handlers).
"""

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal, NamedTuple, get_args

from plugins.connector_names import FIXED

# From the mildest to those that need manual work.
Effect = Literal["in place", "new", "gone", "recreated", "replaced", "refused"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
Path = tuple[str, ...]
# Schemas are read for this region: those of our types are the same in all regions of settings/aws_offers.py.
REGION = "ap-southeast-2"
UNKNOWN = "nobody has written down what this change does"
MAYBE = "may be replaced: that depends on more than the templates"


class Fact(NamedTuple):
    """What a change of a property, or one below it, does, if `when` (given the old value and the new one) is true.

    `place`: the property's names with dots between them; empty for any property.
    """

    place: str
    effect: Effect
    why: str
    source: str
    when: Callable[[Any, Any], bool] = lambda _before, _after: True


def _less(before: Any, after: Any) -> bool:
    """Whether a number becomes less, or a version such as `3.9.x.kraft` and `16.11` older."""
    texts = [str(each) if isinstance(each, int | str) else "" for each in (before, after)]
    old, new = ([int(number) for number in re.findall(r"\d+", text)] for text in texts)
    return bool(old and new) and new < old


def _other_mode(before: Any, after: Any) -> bool:
    return str(before).endswith("kraft") != str(after).endswith("kraft")


_EMR = "CloudFormation template reference, AWS::EMR::Cluster: JobFlowInstancesConfig and InstanceGroupConfig"
_INSTANCE = "CloudFormation template reference, AWS::EC2::Instance"
_REPLACED = "CloudFormation template reference, AWS::RDS::DBCluster: Update requires: Replacement"
_CDK = "AWS's resource specification, as in CDK's @aws-cdk/aws-service-spec 0.1.216"
_DATABASE = "CloudFormation template reference, AWS::RDS::DBInstance"
_UPGRADE = 'Aurora user guide, "Upgrading Amazon Aurora PostgreSQL DB clusters"'
_STORAGE = 'Amazon MSK developer guide, "Manual scaling for Standard brokers"'
_SIZE = 'Amazon MSK developer guide, "Update the Amazon MSK cluster broker size"'
_VERSION = 'Amazon MSK developer guide, "Upgrade the Apache Kafka version"'
_KRAFT = 'Amazon MSK developer guide, "Migrate from ZooKeeper to KRaft mode"'
_BROKERS = 'Amazon MSK developer guide, "Remove a broker from an Amazon MSK cluster"'
_NO_SHRINKING = '"You can only increase the amount of storage, you can\'t decrease it"'
_NO_DOWNGRADE = '"You can\'t downgrade an existing MSK cluster to an older version of Apache Kafka"'
_BY_HAND = "from ZooKeeper to KRaft needs three zones and ZooKeeper's access switched off by hand"
_GO_BY_IT, _STAYS = "slot and offsets go by it", "the connector, under its name: progress stays"
_CONNECTOR, _EKS = "stacks/handlers/msk_connect/changes.py", "kubernetes_connector.py"
_IN_PLACE = "GuardedDeployment ProtectedDatabase S3AutoDeleteObjects VpcRestrictDefaultSG"
_ROADMAP = "aws-cloudformation/cloudformation-coverage-roadmap issue 802"
_TOKEN = Fact("ServiceToken", "refused", '"Modifying service token is not allowed"', _ROADMAP)
_READING = "rights to read are given or looked for again"
_ONE_BY_ONE, _INTERRUPTED = "one broker after the other", "interrupts the database for a short while"
FACTS: dict[str, tuple[Fact, ...]] = {
    "AWS::EC2::EIP": (Fact("Domain", "replaced", "", _CDK),),
    "AWS::EC2::Instance": (
        Fact("InstanceType", "in place", "stopped and started", _INSTANCE),
        Fact("UserData", "in place", "stopped and started", _INSTANCE),
        Fact("SecurityGroupIds", "in place", "", _INSTANCE),
    ),
    "AWS::EMR::Cluster": (
        Fact("Instances.CoreInstanceGroup.InstanceCount", "in place", "resized", _EMR),
        Fact("Instances.TerminationProtected", "in place", "", _EMR),
        Fact("Instances", "replaced", "", _EMR),
    ),
    "AWS::Glue::Database": (Fact("CatalogId", "replaced", "", _CDK),),
    "AWS::MSK::Cluster": (
        Fact("BrokerNodeGroupInfo.StorageInfo", "refused", _NO_SHRINKING, _STORAGE, _less),
        Fact("BrokerNodeGroupInfo.InstanceType", "in place", _ONE_BY_ONE, _SIZE),
        Fact("KafkaVersion", "refused", _NO_DOWNGRADE, _VERSION, _less),
        Fact("KafkaVersion", "refused", _BY_HAND, _KRAFT, _other_mode),
        Fact("KafkaVersion", "in place", _ONE_BY_ONE, _VERSION),
        Fact("NumberOfBrokerNodes", "refused", "unless the brokers that go hold no partitions", _BROKERS, _less),
    ),
    "AWS::RDS::DBCluster": (
        Fact("EngineVersion", "refused", "an older version isn't among a version's upgrade targets", _UPGRADE, _less),
        Fact("EngineVersion", "in place", _INTERRUPTED, _UPGRADE),
        *(
            Fact(name, "replaced", "", _REPLACED)
            for name in ("MasterUsername", "SnapshotIdentifier", "SourceDBClusterIdentifier", "StorageEncrypted")
        ),
    ),
    "AWS::RDS::DBInstance": (Fact("DBInstanceClass", "in place", _INTERRUPTED, _DATABASE),),
    # No schema in cfn-lint: a nested stack of an AWS application.
    "AWS::Serverless::Application": (),
    # Our resources and CDK's: what their handlers do with a changed request. Places begin in `Request`.
    "Custom::BootstrapBrokers": (Fact("clusterArn", "replaced", "", "bootstrap_brokers.py"),),
    "Custom::Connector": (
        Fact("connectorName", "refused", _GO_BY_IT, "connector.py"),
        *(Fact(key, "recreated", _STAYS, _CONNECTOR) for key in FIXED),
        Fact("", "in place", "updated in place: its tasks start again, its offsets stay", _CONNECTOR),
    ),
    "Custom::KubernetesConnector": (
        Fact("connectorName", "refused", _GO_BY_IT, _EKS),
        Fact("", "in place", "updated in place: its workers change one by one, its offsets stay", _EKS),
    ),
    "Custom::KubernetesObjects": (
        Fact("", "in place", "applied again; what is no longer named is deleted", "kubernetes_objects.py"),
    ),
    "Custom::Plugin": (
        Fact("tags", "in place", "", "connector_plugin.py"),
        Fact("", "replaced", "its name is its content's", "connector_plugin.py"),
    ),
    "Custom::EmrStep": (Fact("", "recreated", "the job restarts after its commit", "emr_step.py"),),
    "Custom::OutsideSource": tuple(
        Fact(key, "refused", _GO_BY_IT, "preparation.py") for key in ("host", "port", "database")
    ),
    "Custom::PreparedPipeline": (Fact("database", "refused", _GO_BY_IT, "preparation.py"),),
    "Custom::PreparedSource": (
        Fact("", "in place", "the preparation runs again; data that is there stays", "preparation.py"),
    ),
    "Custom::QueriedSource": (Fact("", "in place", f"{_READING}; nothing else is touched there", "preparation.py"),),
    "Custom::Topics": (Fact("", "in place", "topics and what they hold stay", "topics.py"),),
    # Any change is in place.
    **dict.fromkeys((f"Custom::{name}" for name in _IN_PLACE.split()), ()),
}


def effect_of(type_: str, path: Path, before: Any, after: Any) -> tuple[Effect, str]:
    """Return what a changed property does to a resource, and a note: UNKNOWN where no rule says it."""
    for fact in (_TOKEN, *FACTS.get(type_, ())):
        if f"{'.'.join(path)}.".startswith(fact.place and f"{fact.place}.") and fact.when(before, after):
            return fact.effect, fact.why
    if type_ not in _types() or type_ == "AWS::CloudFormation::CustomResource":
        return "in place", "" if type_ in FACTS else UNKNOWN
    if _named(type_, path, "createOnlyProperties"):
        return "replaced", ""
    return "in place", MAYBE if _named(type_, path, "conditionalCreateOnlyProperties") else ""


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
    texts = {key: text for key, text in properties.items() if isinstance(text, str)}
    identifier = [path.removeprefix("/properties/") for path in schema(type_).get("primaryIdentifier", [])]
    # Some identifiers have several parts: a table's includes its catalog and database.
    return "/".join(texts[key] for key in identifier if key in texts) or texts.get(_NAMES.get(type_, ""))


# Names that must be unique without being the type's identifier.
_NAMES = {
    "AWS::MSK::Cluster": "ClusterName",
    "AWS::MSK::Configuration": "Name",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
}


def schema(type_: str) -> dict[str, Any]:
    """The provider's schema of a type, from cfn-lint. Raises KeyError."""
    return _data(f"resources/{_types()[type_]}.json")


def _types() -> dict[str, str]:
    return _data(f"providers/{REGION}.json")


@functools.cache
def _data(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files("cfnlint.data.schemas") / name).read_text(encoding="utf-8"))
    return found


def _named(type_: str, path: Path, kind: str) -> bool:
    """Whether the schema lists the property, one above it or one within it among those of a kind."""
    listed = (tuple(text.removeprefix("/properties/").split("/")) for text in schema(type_).get(kind, []))
    return any(all(one == other for one, other in zip(each, path, strict=False)) for each in listed)
