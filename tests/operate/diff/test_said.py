"""Changes in our custom resources' requests are listed key by key, and values that the gate judges one by one."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from operate.diff.comparison import compare
from stacks.gate.properties import is_judged
from tests.operate.diff.conftest import Templates, lines

REQUESTS = ("Connectors, jobs, topics", "Texts of connectors, jobs, topics")
# What is refused or replaced says its first values itself.
VALUES = ("Refused by CloudFormation", "Replaced", "Values that the gate judges")


def said(templates: Templates, titles: Sequence[str]) -> list[str]:
    found = templates.compared()
    return sorted(line for title in titles for line in lines(found, title))


def test_a_connectors_configuration_is_told_by_key(templates: Templates) -> None:
    configuration = templates.request("connectors", "Custom::Connector", "Source")["connectorConfiguration"]
    configuration["slot.name"] = "another"
    configuration["poll.interval.ms"] = "100"
    del configuration["heartbeat.interval.ms"]
    configuration["snapshot.max.threads"] = "4"
    begin = "connectors/SourceConnector (Connector): connectorConfiguration"
    assert said(templates, REQUESTS) == [
        f"{begin} heartbeat.interval.ms: gone, was 10000. How soon the slot moves on in a quiet database; until then"
        " WAL is held",
        f"{begin} poll.interval.ms: 500 → 100",
        f"{begin} slot.name: cdc_orders → another. Another slot begins now: what the old one holds isn't captured; drop"
        " it, or it fills the disk",
        f"{begin} snapshot.max.threads: new, 4",
    ]


def test_of_a_long_statement_only_what_differs_is_shown(templates: Templates) -> None:
    configuration = templates.request("connectors", "Custom::Connector", "Sink")["connectorConfiguration"]
    configuration["connect.s3.kcql"] = configuration["connect.s3.kcql"].replace("JSON", "AVRO")
    [line] = said(templates, REQUESTS)
    before, after = (f"…ake.cdc_events STOREAS `{kind}` PROPERTIES('flush.inte…" for kind in ("JSON", "AVRO"))
    assert f": connectorConfiguration connect.s3.kcql: {before} → {after}. What lands where" in line


def test_workers_and_role_are_told(templates: Templates) -> None:
    request = templates.request("connectors", "Custom::Connector", "Sink")
    request["capacity"]["provisionedCapacity"]["workerCount"] = 2
    request["serviceExecutionRoleArn"] = "<OtherRole295E6157.Arn>"
    assert said(templates, REQUESTS) == [
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
    assert said(templates, REQUESTS) == [
        f"{begin} --conf spark.executor.instances: 2 → 4",
        f"{begin} --driver-memory: 2g → 3g. Must fit the node that it runs on",
        f"{begin} --enable-sync: gone. Whether Glue, and so Athena, learns of tables and columns",
        f"{begin} --verbose: new",
    ]


def test_topics_are_told_by_name(templates: Templates) -> None:
    topics = templates.request("connectors", "Custom::Topics")["topics"]
    topics[0]["partitions"] = 3
    topics.append({"name": "dead", "partitions": 1})
    assert said(templates, REQUESTS) == [
        "connectors/Topics (Topics): topic dead partitions: new, 1. More are added and never taken away; a key may go"
        " to another one from then on",
        "connectors/Topics (Topics): topic msk.datalake.cdc_events partitions: 1 → 3. More are added and never taken"
        " away; a key may go to another one from then on",
    ]


def test_a_plugins_version_is_told_as_a_change_of_its_release(templates: Templates) -> None:
    release = templates.request("connectors", "Custom::Plugin", "SourcePlugin")["releases"][0]
    release["file"] = "debezium-connector-postgres-3.8.0.Final-plugin.tar.gz"
    [line] = said(templates, REQUESTS)
    begin = "connectors/SourcePlugin (Plugin): release debezium-connector-postgres file: "
    assert line.startswith(begin)
    assert line.endswith("3.8.0.Final-plugin.tar.gz")


def test_the_preparation_is_told(templates: Templates) -> None:
    request = templates.request("database", "Custom::PreparedSource")
    request["sqlHash"] = "0" * 64
    request["sampleScale"] += 1
    assert [line.partition(": ")[2].rpartition(". ")[2] for line in said(templates, REQUESTS)] == [
        "Counts when the database is made: data that is there stays",
        "The SQL that prepares the source has changed: it runs again, and migrates the outbox in place",
    ]


def test_kubernetes_objects_are_told_by_kind_and_name_and_their_labels_where_the_gate_judges_them() -> None:
    def template(enforced: str, team: str, subjects: list[str]) -> dict[str, Any]:
        labels = {"pod-security.kubernetes.io/enforce": enforced, "team": team}
        objects = [
            {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kafka-connect", "labels": labels}},
            {"kind": "RoleBinding", "metadata": {"name": "watchers"}, "subjects": subjects},
        ]
        properties = {"ServiceToken": "t", "Request": {"json": {"objects": objects}}}
        return {"Resources": {"Shared": {"Type": "Custom::KubernetesObjects", "Properties": properties}}}

    sides = ({"eks": template(*each)} for each in (("restricted", "a", ["x"]), ("privileged", "b", [])))
    found = compare("dev", "the snapshot", *sides)
    begin = "eks/Shared (KubernetesObjects):"
    assert lines(found, "Connectors, jobs, topics") == [
        f"{begin} Namespace kafka-connect metadata labels pod-security.kubernetes.io/enforce: restricted → privileged",
        f'{begin} RoleBinding watchers subjects: ["x"] → []',
    ]
    assert lines(found, "Texts of connectors, jobs, topics") == []


Change = Callable[[Templates], Any]


def cluster(templates: Templates) -> dict[str, Any]:
    return templates.properties("database", "AWS::RDS::DBCluster")


def bucket(templates: Templates) -> dict[str, Any]:
    return templates.properties("lake", "AWS::S3::Bucket", "Lake")


def alarm(templates: Templates) -> dict[str, Any]:
    return templates.properties("monitoring", "AWS::CloudWatch::Alarm", "commitage")


def retention(templates: Templates) -> None:
    templates.properties("network", "AWS::Logs::LogGroup")["RetentionInDays"] = 1


def expiry(templates: Templates) -> None:
    bucket(templates)["LifecycleConfiguration"]["Rules"].append({"Id": "all", "ExpirationInDays": 3})


def another_hash(templates: Templates) -> None:
    """As CDK does where the content is a part of the name."""
    resources = templates.after["database"]["Resources"]
    name = next(key for key, each in resources.items() if each["Type"] == "AWS::RDS::DBCluster")
    found = resources[f"{name[:-8]}89ABCDEF"] = resources.pop(name)
    found["Properties"]["BackupRetentionPeriod"] = 0


JUDGED: dict[str, tuple[Change, str]] = {
    "a fixed value": (
        lambda each: cluster(each).update(StorageEncrypted=False),
        "database/Database (RDS DBCluster): StorageEncrypted true → false",
    ),
    "a setting": (lambda each: cluster(each).update(BackupRetentionPeriod=0), "BackupRetentionPeriod "),
    "a bound": (retention, "network/FlowLog (Logs LogGroup): RetentionInDays "),
    "a reference": (lambda each: alarm(each).pop("AlarmActions"), "AlarmActions "),
    "a limit": (lambda each: alarm(each).update(Threshold=99_999), "Threshold 1800 → 99999"),
    "a value that goes": (
        lambda each: bucket(each).pop("VersioningConfiguration"),
        'VersioningConfiguration {"Status": "Enabled"} → nothing',
    ),
    "one that nobody has judged": (lambda each: alarm(each).update(ActionsEnabled=False), "ActionsEnabled nothing"),
    "an element more": (expiry, "LifecycleConfiguration.Rules …"),
    "a list that goes": (
        lambda each: each.properties("monitoring", "AWS::Budgets::Budget").pop("NotificationsWithSubscribers"),
        "monitoring/Budget (Budgets Budget): NotificationsWithSubscribers ",
    ),
    "a larger budget": (
        lambda each: each.properties("monitoring", "AWS::Budgets::Budget")["Budget"]["BudgetLimit"].update(Amount=9999),
        "Budget.BudgetLimit.Amount ",
    ),
    "another name by CDK's hash": (another_hash, "database/Database (RDS DBCluster): BackupRetentionPeriod "),
    "a condition": (
        lambda each: each.resource("lake", "AWS::S3::Bucket").update(Condition="C"),
        "(S3 Bucket): Condition nothing → C",
    ),
    "a macro": (lambda each: each.after["lake"].update(Transform="Mine"), "lake: Transform nothing → Mine"),
    "a stack that may be deleted": (
        lambda each: each.after["lake"].update(TerminationProtection=not each.environment.production),
        "lake: TerminationProtection ",
    ),
    "an output of a secret": (
        lambda each: each.after["lake"]["Outputs"].update(P={"Value": "{{resolve:secretsmanager:x}}"}),
        "lake: the output P shows a secret's value",
    ),
}


@pytest.mark.parametrize("case", JUDGED)
def test_what_the_gate_judges_is_said(case: str, templates: Templates) -> None:
    change, expected = JUDGED[case]
    change(templates)
    [line] = said(templates, VALUES)
    assert expected in line


def test_a_custom_resources_handler_is_a_key_that_is_judged_and_cant_be_another(templates: Templates) -> None:
    templates.properties("connectors", "Custom::Connector")["ServiceToken"] = "arn:aws:lambda:somebodys"
    found = templates.compared()
    assert [section.title for section in found.sections] == ["Refused by CloudFormation", "Connectors, jobs, topics"]
    assert all(" ServiceToken" in line for section in found.sections for line in section.lines)


def test_plain_text_is_not_judged(templates: Templates) -> None:
    alarm(templates)["AlarmDescription"] = "Another text"
    templates.resource("lake", "AWS::S3::Bucket").setdefault("DependsOn", []).append("Other")
    templates.request("connectors", "Custom::Topics")["groupTopic"] = "another"
    assert said(templates, (*VALUES, REQUESTS[0])) == []
    [line] = said(templates, REQUESTS[1:])
    assert "groupTopic: " in line


@pytest.mark.parametrize(
    ("type_", "path", "is_it"),
    [
        ("AWS::SNS::Topic", "KmsMasterKeyId", True),
        ("AWS::SNS::Topic", "Tags * Value", True),
        ("AWS::SNS::Topic", "DisplayName", True),
        ("AWS::IAM::User", "UserName", True),
        ("AWS::S3::Bucket", "LifecycleConfiguration Rules * Id", False),
        ("AWS::S3::Bucket", "LifecycleConfiguration", True),
        ("AWS::S3::Bucket", "MetricsConfigurations", True),
        ("kubernetes/Deployment", "spec template spec hostPID", True),
        ("kubernetes/Deployment", "metadata labels app", False),
        ("kubernetes/Namespace", "metadata labels pod-security.kubernetes.io/warn", True),
    ],
)
def test_the_list_of_the_gate_says_what_is_judged(type_: str, path: str, is_it: bool) -> None:
    assert is_judged(type_, tuple(path.split())) == is_it


@pytest.mark.parametrize("policy", ["DeletionPolicy", "UpdateReplacePolicy"])
def test_a_policy_on_deletion_is_said(policy: str, templates: Templates) -> None:
    found = templates.resource("database", "AWS::RDS::DBCluster")
    was = found.get(policy)
    found[policy] = "Delete"
    assert said(templates, VALUES) == (
        [f"database/Database (RDS DBCluster): {policy} {was} → Delete"] if was != "Delete" else []
    )


def test_a_new_stack_has_no_values_to_compare(templates: Templates) -> None:
    templates.before["lake"] = templates.after["lake"] | {"Resources": {}}
    assert said(templates, (*VALUES, *REQUESTS)) == []
