"""What the settings say that an environment's templates must have: compared with what is there."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from contract import origin
from plugins.workers.connect_workers import OF_SOURCES, UTF8_ONLY, resources
from settings.connectors import ROOT_CERTIFICATE, sink_configuration, sink_settings, source_configuration, topics
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.rules.placeholders import refused
from stacks.gate.data import WITH_SLOT
from stacks.gate.network import users
from stacks.gate.properties import REFERRED, differing
from stacks.gate.steps import steps_ours
from stacks.gate.template import LATER, App, Problem, Subject, decoded, written
from stacks.monitoring.metrics import Metrics
from stacks.monitoring.watches import EVENTS, PERIOD_MINUTES, event_pattern, watches
from stacks.preparation_requests import preparation
from stacks.vpn_script import bastion_script

# Of an alarm: its texts, and whom it tells, which other rules judge.
_APART = frozenset({"AlarmActions", "AlarmDescription", "AlarmName", "OKActions", "Tags", "TreatMissingData"})
CONNECTORS = ("Custom::Connector", "Custom::KubernetesConnector")
_RESTARTS = ("stacks.handlers.connector_restarts.handler", "stacks.handlers.kubernetes_watch.handler")
PREPARATIONS = (*WITH_SLOT, "Custom::QueriedSource")
# CDK's script for NAT instances (ec2.NatInstanceProviderV2), and the swap of stacks/network.py.
_NAT = """#!/bin/bash
dd if=/dev/zero of=/swapfile bs=1M count=1024
chmod 600 /swapfile
mkswap /swapfile
swapon /swapfile
yum install iptables-services -y
systemctl enable iptables
systemctl start iptables
echo "net.ipv4.ip_forward=1" > /etc/sysctl.d/custom-ip-forwarding.conf
sudo sysctl -p /etc/sysctl.d/custom-ip-forwarding.conf
sudo /sbin/iptables -t nat -A POSTROUTING -o $(route | awk '/^default/{print $NF}') -j MASQUERADE
sudo /sbin/iptables -F FORWARD
sudo service iptables save"""


def counted(app: App) -> Iterator[Problem]:
    """There must be as many of these as the settings say: one less, and nobody is told, or nothing is protected."""
    settings = app.settings
    streamed = len(settings.streamed)
    there = Counter(subject.type for subject in app.subjects)
    wanted = {
        "AWS::Budgets::Budget": ("monitoring", 1),
        "AWS::SNS::Subscription": ("monitoring", 1),
        "AWS::EC2::FlowLog": ("network", 1),
        "AWS::EC2::VPC": ("network", 1),
        "Custom::GuardedDeployment": ("guard", 1),
        "AWS::Events::Rule": ("monitoring", len(EVENTS) + (1 if streamed else 0)),
        "Custom::Topics": ("connectors", streamed),
        CONNECTORS[settings.eks is not None]: ("connectors", 2 * streamed),
    }
    for type_, (role, number) in wanted.items():
        if there[type_] != number:
            line = f"there must be {number} of this type, and there are {there[type_]}"
            yield f"{settings.prefix}-{role}", type_, line


class _Written(Metrics):
    """The metrics as CloudFormation has them in an alarm: CDK writes the same."""

    def _metric(self, namespace: str, name: str, statistic: str, **dimensions: str) -> Any:
        listed = [{"Name": key, "Value": value} for key, value in sorted(dimensions.items())]
        metric = {"Dimensions": listed, "MetricName": name, "Namespace": namespace}
        return metric | {"Period": 60 * PERIOD_MINUTES, "Statistic": statistic}

    def _expression(self, label: str, expression: str, **metrics: Any) -> Any:
        found: list[Any] = [{"Expression": expression, "Id": "expr_1", "Label": label, "ReturnData": True}]
        for name, metric in metrics.items():
            stat = {"Period": metric.pop("Period"), "Stat": metric.pop("Statistic")}
            found.append({"Id": name, "MetricStat": {"Metric": metric, **stat}, "ReturnData": False})
        return {"Metrics": found}


def alarms(app: App) -> Iterator[Problem]:
    """Each alarm of the settings' pipelines must be there, watch what they say, and act."""
    settings = app.settings
    wanted = {f"{settings.prefix}-{watch.name}": watch for watch in watches(settings)}
    stack, metrics = f"{settings.prefix}-monitoring", _Written(settings)
    found = {alarm.get("AlarmName"): alarm for alarm in app.resources("AWS::CloudWatch::Alarm")}
    for name in sorted(wanted.keys() - found.keys()):
        yield stack, name, "this alarm is missing: nobody would be told"
    for name in sorted(found.keys() & wanted.keys()):
        watch, alarm = wanted[name], found[name]
        measured: Any = watch.metric(metrics)
        planned: dict[str, Any] = {
            "ComparisonOperator": "GreaterThanThreshold" if watch.least is None else "LessThanThreshold",
            "DatapointsToAlarm": watch.datapoints or watch.periods,
            "EvaluationPeriods": watch.periods,
            "Threshold": watch.threshold(settings.monitoring),
            **measured,
        }
        given = {key: value for key, value in alarm.properties.items() if key not in _APART}
        for line in differing("", planned, given):
            yield stack, alarm.id, line


def watched_as_set(app: App) -> Iterator[Problem]:
    """Events that are told, figures of what lands, and connectors that are restarted must be the settings'."""
    settings = app.settings
    stack, type_, path = f"{settings.prefix}-monitoring", "AWS::Events::Rule", "EventPattern"
    patterns = sorted((event_pattern(settings.prefix, runbook) for runbook in EVENTS), key=written)
    told = sorted(filter(None, (rule.get(path) for rule in app.resources(type_))), key=written)
    found: list[tuple[str, str, str, Any, Any]] = [(stack, type_, path, patterns, told)]
    prefixes = {each.landed_filter: f"{sink_settings(settings, each).prefix}/" for each in settings.streamed}
    filters = [{"Id": name, "Prefix": prefix} for name, prefix in prefixes.items()]
    for bucket in app.resources("AWS::S3::Bucket"):
        planned = filters if bucket.get("BucketName") == settings.bucket_name("landing") else []
        path = "MetricsConfigurations"
        found.append((bucket.stack, bucket.id, path, planned, bucket.get(path) or []))
    names = [f"{settings.prefix}-{each.name}-{end}" for each in settings.streamed for end in ("source", "sink")]
    for function in app.resources("AWS::Lambda::Function"):
        if function.get("Handler") in _RESTARTS:
            path = "Environment.Variables.CONNECTORS"
            found.append((function.stack, function.id, path, ",".join(names), function.get(path)))
    for stack, id_, path, planned, given in found:
        yield from ((stack, id_, line) for line in differing("", {path: planned}, {path: given}))


def topics_planned(app: App) -> Iterator[Problem]:
    """Each pipeline's topics must be those of the settings: how long events stay, on how many brokers."""
    settings = app.settings
    planned = [_topic(each.as_request()) for pipeline in settings.streamed for each in topics(settings, pipeline)]
    for subject in app.resources("Custom::Topics"):
        for topic in subject.opened["Request"].get("topics", []):
            if _topic(topic) in planned:
                planned.remove(_topic(topic))
            else:
                yield subject.stack, subject.id, f"the topic {topic.get('name')} isn't as the settings plan it"
    for topic in planned:
        yield f"{settings.prefix}-connectors", "Topics", f"the topic {json.loads(topic)['name']} is missing"


def _topic(request: Mapping[str, Any]) -> str:
    """Write a topic as text, its generation left out: CloudFormation fills it in."""
    name = re.sub(r"<[^>]*>|@generation@", REFERRED, request["name"])
    return json.dumps({**request, "name": name}, sort_keys=True)


def connectors_configured(app: App) -> Iterator[Problem]:
    """A connector's configuration must be what plugins/ makes of the settings; secrets are references."""
    settings = app.settings
    wanted = {name: each for pipeline in settings.streamed for name, each in _configurations(settings, pipeline)}
    for subject in app.resources(*CONNECTORS):
        request = subject.opened["Request"]
        planned, given = wanted.get(request.get("connectorName")), request.get("connectorConfiguration", {})
        if planned is None:
            yield subject.stack, subject.id, f"{request.get('connectorName')} isn't a connector of the settings"
            continue
        for line in differing("connectorConfiguration/", planned, given):
            yield subject.stack, subject.id, line


def _configurations(settings: Environment, pipeline: EnvironmentPipeline) -> Iterator[tuple[str, Mapping[str, str]]]:
    prefix, salt = f"{settings.prefix}-{pipeline.name}", REFERRED if pipeline.hashes else None
    source = source_configuration(settings, pipeline, password=REFERRED, hostname=REFERRED, salt=salt)
    yield f"{prefix}-source", source
    yield f"{prefix}-sink", sink_configuration(settings, pipeline)


def sources_prepared(app: App) -> Iterator[Problem]:
    """Each pipeline's database must be prepared, with its tables and for its role, as the settings say."""
    settings, later = app.settings, dict.fromkeys(("cluster", "host", "master", "secret"), REFERRED)
    wanted = {each.name: preparation(settings, each, **later) for each in settings.pipelines}
    outbox = settings.outbox.name if settings.outbox else None
    for subject in app.resources(*PREPARATIONS):
        given = subject.opened["Request"]
        type_, planned = wanted.pop(str(given.get("pipeline", outbox)), ("", {}))
        if subject.type != f"Custom::{type_}":
            yield subject.stack, subject.id, f"Request/pipeline is {given.get('pipeline')}: no pipeline is prepared so"
            continue
        for line in differing("Request/", *(_without_hashes(request) for request in (planned, given))):
            yield subject.stack, subject.id, line
    for name in wanted:
        yield f"{settings.prefix}-database", name, "nothing prepares this pipeline's database"


def _without_hashes(request: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the hashes of code and schemas, which only make a preparation run again."""
    tables = [{key: table[key] for key in table if key != "schemaHash"} for table in request.get("tables", [])]
    found = {key: value for key, value in request.items() if key != "sqlHash"}
    return found | {"tables": tables} if "tables" in found else found


def plugins_ours(app: App) -> Iterator[Problem]:
    """A plugin's files besides its releases must be this project's classes and AWS's certificates."""
    files = {*resources(*OF_SOURCES, UTF8_ONLY).items(), *resources(UTF8_ONLY).items()}
    files |= {(ROOT_CERTIFICATE, text) for text in app.following["certificates"]}
    for subject in app.resources("Custom::Plugin"):
        for name, text in subject.opened["Request"].get("resources", {}).items():
            if (name, text) not in files:
                yield subject.stack, subject.id, f"resources/{name} isn't a file of plugins/"


def scripts_ours(app: App) -> Iterator[Problem]:
    """A machine's script must be the VPN server's, filled in, or CDK's for a NAT instance."""
    for subject in app.resources("AWS::EC2::Instance"):
        ours = bastion_script(app.settings, pre_shared_key=LATER, resource=subject.id)
        if (decoded(subject.get("UserData")) or "?") not in (ours, _NAT):
            yield subject.stack, subject.id, "UserData is none of our scripts, as the settings fill them in"


def told(app: App) -> Iterator[Problem]:
    """Each topic that an alarm, an event or a budget tells must have a subscription."""
    for subject in app.resources("AWS::CloudWatch::Alarm", "AWS::Events::Rule", "AWS::Budgets::Budget"):
        for topic in topics_told(subject):
            if not users(topic, "AWS::SNS::Subscription"):
                yield subject.stack, subject.id, f"tells <{topic.id}>, to which nobody has subscribed"


def heard(app: App) -> Iterator[Problem]:
    """A topic and its key must let in all that tell, from this account: otherwise an alarm's message is lost."""
    ours = {"StringEquals": {"aws:SourceAccount": app.settings.account}}
    budgets = {"ArnLike": {"aws:SourceArn": f"arn:aws:budgets::{app.settings.account}:*"}}
    tellers: dict[str, Any] = {"budgets": ours | budgets, "cloudwatch": ours, "events": {}}
    for topic in app.resources("AWS::SNS::Topic"):
        key = topic.referred(topic.get("KmsMasterKeyId"))
        policies = [each for each in users(topic, "AWS::SNS::TopicPolicy") if each.place != topic.place]
        for holders, action in ((policies, "sns:Publish"), ([key] if key else [], "kms:GenerateDataKey*")):
            let_in = [
                (grant.principal, json.loads(grant.condition or "{}"))
                for each in holders
                for grant in each.grants
                if grant.action == action and grant.resource in ("*", f"<{each.id}>", f"<{topic.id}>")
            ]
            for name, condition in tellers.items():
                if ((teller := f"Service:{name}.amazonaws.com"), condition) not in let_in:
                    yield topic.stack, topic.id, f"{teller} has no {action} here: what it tells would be lost"


def topics_told(subject: Subject) -> list[Subject]:
    """Return the topics of this app that an alarm, an event or a budget tells."""
    addresses = [*(subject.get("AlarmActions") or []), *(each.get("Arn") for each in subject.get("Targets") or [])]
    for each in subject.get("NotificationsWithSubscribers") or []:
        addresses += [subscriber.get("Address") for subscriber in each.get("Subscribers", [])]
    found = (subject.referred(address) for address in addresses)
    return [topic for topic in found if topic is not None and topic.type == "AWS::SNS::Topic"]


def guarded(app: App) -> Iterator[Problem]:
    """The guard must know why these templates aren't to be deployed, and the origin of their database."""
    wanted = refused(app.settings)
    for guard in app.resources("Custom::GuardedDeployment"):
        request = guard.opened["Request"]
        if request.get("refused") != wanted:
            yield guard.stack, guard.id, f"Request/refused is {request.get('refused')}: it must be {wanted}"
        for cluster in app.resources(origin.CLUSTER):
            if origin.changed(cluster.properties, request.get("origin", {})):
                yield guard.stack, guard.id, "Request/origin isn't that of the database's template"


def terminates_never(app: App) -> Iterator[Problem]:
    """In production, a stack must be protected against deletion."""
    for stack, protected in app.protected.items():
        if app.settings.production and not protected:
            yield stack, "-", "isn't protected against its deletion: production's stacks must be"


EXPECTED = (
    counted,
    alarms,
    watched_as_set,
    topics_planned,
    connectors_configured,
    sources_prepared,
    plugins_ours,
    steps_ours,
    scripts_ours,
    told,
    heard,
    guarded,
    terminates_never,
)
