"""Weaker protection is reported, stronger isn't."""

from collections.abc import Callable
from typing import Any

import pytest

from operate.diff.weakened import weakened
from tests.operate.diff.conftest import Templates

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
