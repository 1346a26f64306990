"""What a reviewer asks of the services: durability, failures, who is told, what code is foreign, and Kubernetes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from operate.review.holdings import encryption_of_emr
from operate.review.material import Material, unknown_shown
from operate.review.rows import Section, Table, count, grouped, several
from operate.review.secrets import ROTATION, secret_of
from stacks.gate.expected import topics_told
from stacks.gate.manifests import EVERYTHING
from stacks.gate.network import users
from stacks.gate.template import Subject, as_list, plain_text, strings, written
from stacks.gate.trust import by_partition

ALARM, EVENT, BUDGET = "AWS::CloudWatch::Alarm", "AWS::Events::Rule", "AWS::Budgets::Budget"
_ENCRYPTED = {"EnableInTransitEncryption": "between its nodes", "EnableAtRestEncryption": "on its disks"}
MB = 1024 * 1024
_UNBOUND = {"-1": "ever", "": "AWS's default time"}
HOUR_MS = 60 * 60 * 1000
# What can fail: by type, and whose metrics or events would tell.
_TELLS: Mapping[str, tuple[str, str]] = {
    "AWS::RDS::DBCluster": ("the database", "AWS/RDS"),
    "AWS::MSK::Cluster": ("the brokers", "AWS/Kafka"),
    "Custom::Connector": ("the connectors", "AWS/KafkaConnect"),
    "Custom::KubernetesConnector": ("the connectors", "{prefix}/kafka-connect"),
    "AWS::EMR::Cluster": ("the job's cluster", "aws.emr"),
    "AWS::EKS::Cluster": ("Kubernetes' nodes", "ContainerInsights"),
    "AWS::EC2::Instance": ("EC2's instances", "AWS/EC2"),
    "AWS::EC2::NatGateway": ("the NAT gateways", "AWS/NATGateway"),
    "AWS::Lambda::Function": ("the functions", "AWS/Lambda"),
    ROTATION: ("rotations of secrets", "aws.secretsmanager"),
    "AWS::QuickSight::DataSet": ("QuickSight's refreshes", "AWS/QuickSight"),
}


def kafka(material: Material) -> Iterator[str]:
    for cluster in material.app.resources("AWS::MSK::Cluster"):
        configuration = cluster.referred(cluster.get("ConfigurationInfo.Arn"))
        set_ = configuration.opened.get("ServerProperties", {}) if configuration else {}
        least, replicas = (set_.get(key, "?") for key in ("min.insync.replicas", "default.replication.factor"))
        unclean = "no" if set_.get("unclean.leader.election.enable") == "false" else "even a"
        yield f"a write counts once {least} of {replicas} replicas have it; {unclean} replica that lags may lead"
        yield f"events of at most {_size(set_.get('message.max.bytes'))}"
    requests = (each.opened["Request"].get("topics", []) for each in material.app.resources("Custom::Topics"))
    found = grouped((_topic(each), unknown_shown(str(each["name"]))) for topics in requests for each in topics)
    for words, names in found.items():
        yield f"{several(names, 'topics')}: {words}"


def _topic(topic: Mapping[str, Any]) -> str:
    config: Mapping[str, str] = topic.get("config", {})
    kept = config.get("retention.ms", "")
    hours = int(kept) // HOUR_MS if kept.isdigit() else 0
    days = count(hours, "hour") if hours % 24 else count(hours // 24, "day")
    words = [f"kept for {days if hours else _UNBOUND.get(kept, f'{kept} ms')}"]
    if config.get("cleanup.policy") == "compact":
        words = ["kept: the newest of each key"]
    if config.get("retention.bytes", "-1") != "-1":
        words += [f"until there are {_size(config['retention.bytes'])}"]
    if size := config.get("max.message.bytes"):
        words += [f"events of at most {_size(size)}"]
    return ", ".join([*words, f"{topic.get('replicas', 'default')} replicas"])


def _size(number: object) -> str:
    return f"{int(str(number)) / MB:g} MB" if str(number).isdigit() else "AWS's default size"


def emr(material: Material) -> Iterator[str]:
    for cluster in material.app.resources("AWS::EMR::Cluster"):
        subnets = as_list(cluster.get("Instances.Ec2SubnetIds") or cluster.get("Instances.Ec2SubnetId"))
        found = [(cluster.referred(each), each) for each in subnets]
        zones = sorted({written(subnet.get("AvailabilityZone") if subnet else each) for subnet, each in found})
        yield f"in {', '.join(zones)}" + (" alone: if that zone fails, the job waits" if len(zones) == 1 else "")
        for key, what in _ENCRYPTED.items():
            yield f"{what}: {'encrypted' if encryption_of_emr(cluster).get(key) is True else 'not encrypted'}"


def protection(material: Material) -> Iterator[str]:
    open_ = [material.stack_name(each) for each in material.app.templates if not material.app.protected.get(each)]
    closed = len(material.app.templates) - len(open_)
    yield f"{closed} of {count(closed + len(open_), 'stack')}"
    if open_:
        yield f"not {', '.join(open_)}"


def alarms(material: Material) -> Iterator[str]:
    """Say who is told, of how much, and which of the parts that can fail no alarm and no event watches."""
    kinds = {ALARM: "alarm", EVENT: "event", BUDGET: "budget"}
    telling = {kind: list(_telling(material, kind)) for kind in kinds}
    for topic in material.app.resources("AWS::SNS::Topic"):
        told = [written(each.get("Endpoint")) for each in users(topic, "AWS::SNS::Subscription")]
        counts = [count(sum(topic in topics for _, topics in telling[kind]), what) for kind, what in kinds.items()]
        yield f"{', '.join(told) or 'nobody'}: {', '.join(counts)}"
    if silent := [material.name(each) for each, topics in telling[ALARM] if not topics]:
        yield f"{several(silent, 'alarms')}: tells nobody"
    heard = [each for found in telling.values() for each, topics in found if topics]
    said = {text for each in heard for _, text in strings(dict(each.properties))}
    there, prefix = {each.type for each in material.app.subjects}, material.environment.prefix
    parts = [(what, by.format(prefix=prefix)) for type_, (what, by) in _TELLS.items() if type_ in there]
    unwatched = [what for what, by in parts if by not in said]
    yield f"not watched: {', '.join(unwatched) or 'nothing that runs'}"


def _telling(material: Material, kind: str) -> Iterator[tuple[Subject, list[Subject]]]:
    """Yield what tells something, with the topics that it does so to: none while an alarm's actions are off."""
    for each in material.app.resources(kind):
        found = topics_told(each)
        off = each.get("ActionsEnabled") is False or each.get("State") == "DISABLED"
        if kind == ALARM or found:
            yield each, [] if off else found


def foreign(material: Material) -> Iterator[str]:
    """Name nested applications: code and rights that no template here shows."""
    for each in material.app.resources("AWS::Serverless::Application", "AWS::CloudFormation::Stack"):
        location = each.get("Location") or {"TemplateURL": each.get("TemplateURL")}
        what = " ".join(by_partition(each, value).rpartition("/")[2] for value in location.values())
        changed = ", ".join(material.name(secret) for one in users(each, ROTATION) if (secret := secret_of(one)))
        does = f", which changes {changed}" if changed else ""
        yield f"{material.name(each)} is {what}{does}: no template shows its code and rights"


def section(material: Material) -> Section:
    rows = [
        (material.name(each), written(each.get("AlarmDescription") or each.get("Description") or "-"))
        for kind in (ALARM, EVENT)
        for each, _ in _telling(material, kind)
    ]
    return Section(
        title="Alarms",
        fold=f"What the {len(rows)} alarms and events tell",
        folded=(Table("Alarms and events", ("Name", "Tells"), rows),),
    )


def _reached(material: Material) -> Iterator[str]:
    for cluster in material.app.resources("AWS::EKS::Cluster"):
        network = cluster.get("ResourcesVpcConfig") or {}
        for cidr in as_list(network.get("PublicAccessCidrs") or "anywhere"):
            yield f"{cidr}, and inside the VPC" if network.get("EndpointPublicAccess") else "inside the VPC alone"


def _members(material: Material) -> Iterator[str]:
    for entry in material.app.resources("AWS::EKS::AccessEntry"):
        who = material.readable(entry.stack, written(entry.get("PrincipalArn")))
        policies = [plain_text(each["PolicyArn"]).rpartition("/")[2] for each in entry.get("AccessPolicies") or []]
        groups = [f"what {name} may" for name in entry.get("KubernetesGroups") or []]
        yield f"{who}: {', '.join(['everything' if name == EVERYTHING else name for name in policies] + groups)}"


def _acts(material: Material) -> Iterator[str]:
    """The roles that pods have through Pod Identity, which IAM's policies don't show."""
    for each in material.app.resources("AWS::EKS::PodIdentityAssociation", "AWS::EKS::Addon"):
        name = each.get("AddonName")
        where = f"the add-on {written(name)}" if name else written(each.get("Namespace"))
        for one in each.get("PodIdentityAssociations") or ([] if name else [each.properties]):
            role = material.readable(each.stack, written(one["RoleArn"]))
            yield f"{role}: the service account {written(one['ServiceAccount'])} of {where}"


def _runs(material: Material) -> Iterator[str]:
    for connector in material.app.resources("Custom::KubernetesConnector"):
        most = [each["spec"]["maxReplicas"] for each in connector.objects if each["kind"] == "HorizontalPodAutoscaler"]
        for each in connector.objects:
            if each["kind"] == "Deployment":
                [container] = each["spec"]["template"]["spec"]["containers"]
                workers = f"up to {most[0]}" if most else str(each["spec"]["replicas"])
                name = connector.opened["Request"]["connectorName"]
                yield f"{name}: {workers} workers of {container['image']}"


QUESTIONS: tuple[tuple[str, Callable[[Material], Iterator[str]]], ...] = (
    ("Kafka's durability", kafka),
    ("EMR runs", emr),
    ("Stacks protected from deletion", protection),
    ("Who is told", alarms),
    ("Others' code", foreign),
    ("Kubernetes API reached from", _reached),
    ("Kubernetes API used by", _members),
    ("Pods of Kubernetes act as", _acts),
    ("Run on Kubernetes", _runs),
)


def answers(material: Material) -> list[tuple[str, tuple[str, ...]]]:
    """Answer the questions that concern something of the environment."""
    return [(question, found) for question, ask in QUESTIONS if (found := tuple(ask(material)))]
