"""Changes in our custom resources' requests are listed key by key; weaker protection is reported, stronger isn't."""

from collections.abc import Callable
from typing import Any

import pytest

from operate.diff.requests import requests
from operate.diff.weakened import weakened
from tests.operate.diff.conftest import Templates


def requests_said(templates: Templates, stack: str) -> list[str]:
    return list(requests(stack, templates.before[stack], templates.after[stack]))


def test_nothing_is_said_of_templates_that_are_the_same(templates: Templates) -> None:
    assert [line for stack in templates.before for line in requests_said(templates, stack)] == []


def test_a_connectors_configuration_is_told_by_key(templates: Templates) -> None:
    configuration = templates.request("connectors", "Custom::Connector", "Source")["connectorConfiguration"]
    configuration["slot.name"] = "another"
    configuration["poll.interval.ms"] = "100"
    del configuration["heartbeat.interval.ms"]
    configuration["snapshot.max.threads"] = "4"
    begin = "connectors/SourceConnector (Connector): connectorConfiguration"
    assert requests_said(templates, "connectors") == [
        f"{begin} heartbeat.interval.ms: gone, was 10000. How soon the slot moves on in a quiet database; until then"
        " WAL is held",
        f"{begin} poll.interval.ms: 500 → 100",
        f"{begin} slot.name: cdc_orders → another. Another slot begins now: what the old one still held isn't captured",
        f"{begin} snapshot.max.threads: new, 4",
    ]


def test_of_a_long_statement_only_what_differs_is_shown(templates: Templates) -> None:
    configuration = templates.request("connectors", "Custom::Connector", "Sink")["connectorConfiguration"]
    configuration["connect.s3.kcql"] = configuration["connect.s3.kcql"].replace("JSON", "AVRO")
    [line] = requests_said(templates, "connectors")
    before, after = (f"…ake.cdc_events STOREAS `{kind}` PROPERTIES('flush.inte…" for kind in ("JSON", "AVRO"))
    assert f": connectorConfiguration connect.s3.kcql: {before} → {after}. What lands where" in line


def test_workers_and_role_are_told(templates: Templates) -> None:
    request = templates.request("connectors", "Custom::Connector", "Sink")
    request["capacity"]["provisionedCapacity"]["workerCount"] = 2
    request["serviceExecutionRoleArn"] = "<OtherRole295E6157.Arn>"
    assert requests_said(templates, "connectors") == [
        "connectors/SinkConnector (Connector): capacity provisionedCapacity workerCount: 1 → 2. Workers are added or"
        " taken away; tasks move over",
        "connectors/SinkConnector (Connector): serviceExecutionRoleArn: <SinkRole> → <OtherRole>. What the connector"
        " may do is another role's",
    ]


def test_a_steps_arguments_are_told_by_option(templates: Templates) -> None:
    arguments = templates.request("processing", "Custom::EmrStep")["arguments"]
    arguments[arguments.index("--driver-memory") + 1] = "3g"
    arguments[arguments.index("spark.executor.instances=2")] = "spark.executor.instances=4"
    arguments.remove("--enable-sync")
    arguments.insert(1, "--verbose")
    begin = "processing/Stepcdcevents (EmrStep): arguments"
    assert requests_said(templates, "processing") == [
        f"{begin} --conf spark.executor.instances: 2 → 4",
        f"{begin} --driver-memory: 2g → 3g. Must fit the node that it runs on",
        f"{begin} --enable-sync: gone. Whether Glue, and so Athena, learns of tables and columns",
        f"{begin} --verbose: new",
    ]


def test_topics_are_told_by_name(templates: Templates) -> None:
    topics = templates.request("connectors", "Custom::Topics")["topics"]
    topics[0]["partitions"] = 3
    topics.append({"name": "dead", "partitions": 1})
    assert requests_said(templates, "connectors") == [
        "connectors/Topics (Topics): topic dead partitions: new, 1. More are added and never taken away; a key may go"
        " to another one from then on",
        "connectors/Topics (Topics): topic msk.datalake.cdc_events partitions: 1 → 3. More are added and never taken"
        " away; a key may go to another one from then on",
    ]


def test_a_plugins_version_is_told_as_a_change_of_its_release(templates: Templates) -> None:
    release = templates.request("connectors", "Custom::Plugin", "SourcePlugin")["releases"][0]
    release["file"] = "debezium-connector-postgres-3.8.0.Final-plugin.tar.gz"
    [line] = requests_said(templates, "connectors")
    begin = "connectors/SourcePlugin (Plugin): release debezium-connector-postgres file: "
    assert line.startswith(begin)
    assert line.endswith("3.8.0.Final-plugin.tar.gz")


def test_the_preparation_is_told(templates: Templates) -> None:
    request = templates.request("database", "Custom::PreparedSource")
    request["sqlHash"] = "0" * 64
    request["sampleScale"] += 1
    assert [line.partition(": ")[2].rpartition(". ")[2] for line in requests_said(templates, "database")] == [
        "Counts when the database is made: data that is there stays",
        "The SQL that prepares the source has changed: it runs again, and migrates the outbox in place",
    ]


Weaken = Callable[[Templates], Any]


def said(templates: Templates) -> list[str]:
    return [line for stack, old in templates.before.items() for line in weakened(stack, old, templates.after[stack])]


def cluster(templates: Templates) -> dict[str, Any]:
    return templates.properties("database", "AWS::RDS::DBCluster")


def bucket(templates: Templates) -> dict[str, Any]:
    return templates.properties("lake", "AWS::S3::Bucket", "Lake")


def alarm(templates: Templates) -> dict[str, Any]:
    return templates.properties("monitoring", "AWS::CloudWatch::Alarm", "commitage")


def budget(templates: Templates) -> dict[str, Any]:
    return templates.properties("monitoring", "AWS::Budgets::Budget")


def retention(templates: Templates) -> None:
    templates.properties("network", "AWS::Logs::LogGroup")["RetentionInDays"] = 1


def expiry(templates: Templates) -> None:
    bucket(templates)["LifecycleConfiguration"]["Rules"].append({"Id": "all", "ExpirationInDays": 3})


def topic(templates: Templates) -> None:
    templates.request("connectors", "Custom::Topics")["topics"][0]["config"]["retention.ms"] = "3600000"


WEAKER: dict[str, tuple[Weaken, str]] = {
    "logs": (retention, "network/FlowLog (Logs LogGroup): days that events are kept: "),
    "backups": (
        lambda each: cluster(each).update(BackupRetentionPeriod=0),
        "database/Database (RDS DBCluster): days that backups are kept: ",
    ),
    "encryption": (lambda each: cluster(each).update(StorageEncrypted=False), "encryption: true → false"),
    "versions": (
        lambda each: bucket(each).pop("VersioningConfiguration"),
        "versions of what is overwritten: Enabled → nothing",
    ),
    "public bucket": (
        lambda each: bucket(each)["PublicAccessBlockConfiguration"].update(BlockPublicAcls=False),
        "closed to the public: true → false",
    ),
    "expiry": (expiry, "days that objects are kept by the rule all: for ever → 3"),
    "topic": (topic, "hours that the topic msk.datalake.cdc_events keeps its events: 168 → 1"),
    "larger budget": (
        lambda each: budget(each)["Budget"]["BudgetLimit"].update(Amount=9_999),
        "monitoring/Budget (Budgets Budget): USD a month until the alarm on costs: ",
    ),
    "costs told to nobody": (
        lambda each: budget(each).pop("NotificationsWithSubscribers"),
        "whom the alarm on costs tells: ",
    ),
    "silent alarm": (lambda each: alarm(each).update(ActionsEnabled=False), "the alarm's actions: nothing → false"),
    "nobody told": (lambda each: alarm(each).pop("AlarmActions"), "whom the alarm tells: "),
    "later alarm": (lambda each: alarm(each).update(Threshold=99_999), "the alarm's threshold: 1800 → 99999"),
    "alarm gone": (lambda each: each.remove("monitoring", "AWS::CloudWatch::Alarm"), "the alarm is gone"),
    "flow log gone": (lambda each: each.remove("network", "AWS::EC2::FlowLog"), "nobody can tell any more"),
    "metadata": (
        lambda each: each.properties("vpn", "AWS::EC2::Instance")["MetadataOptions"].update(HttpTokens="optional"),
        "tokens at the metadata: required → optional",
    ),
}


@pytest.mark.parametrize("case", WEAKER)
def test_what_protects_less_is_said(case: str, templates: Templates) -> None:
    weaken, expected = WEAKER[case]
    weaken(templates)
    [line] = said(templates)
    assert expected in line
    # The opposite change protects more.
    templates.before, templates.after = templates.after, templates.before
    assert said(templates) == []


@pytest.mark.parametrize("policy", ["DeletionPolicy", "UpdateReplacePolicy"])
def test_a_weaker_policy_on_deletion_is_said(policy: str, templates: Templates) -> None:
    found = templates.resource("database", "AWS::RDS::DBCluster")
    was = found.get(policy, "Delete")
    found[policy] = "Delete"
    kept = templates.environment.production
    assert (was != "Delete") == kept
    assert said(templates) == ([f"database/Database (RDS DBCluster): {policy} {was} → Delete"] if kept else [])


def test_a_policy_that_keeps_more_isnt_said(templates: Templates) -> None:
    templates.resource("database", "AWS::RDS::DBCluster").update(DeletionPolicy="Retain", UpdateReplacePolicy="Retain")
    assert said(templates) == []
