"""The deployed source cluster: changes that the lake missed, and an unintended cluster."""

import json
from typing import Any

import boto3
import pytest

from contract.tags import RESNAPSHOT, resnapshot
from operate.errors import OperateError
from operate.source_cluster import check_origin, missed_since, nothing_missed
from settings.environment_pipeline import OutsideDatabase
from settings.load import load, load_pipeline

STACK = "prod-cdc-lake-database"
FIRST = {"DBClusterIdentifier": "prod-cdc-lake", "Engine": "aurora-postgresql"}
RESTORED = {"DBClusterIdentifier": "prod-cdc-lake-r1", "Engine": "aurora-postgresql", "SnapshotIdentifier": "one"}

SHOP = load_pipeline("northwind")
OUTSIDE = OutsideDatabase(
    host="crm.example.com", secret="arn:aws:secretsmanager:ap-southeast-2:222222222222:secret:crm-AbCdEf"
)
OTHERS: dict[str, dict[str, Any]] = {"shop": {}, "crm": {"database": OUTSIDE}}


def template(cluster: dict[str, Any]) -> dict[str, Any]:
    return {"Resources": {"Database": {"Type": "AWS::RDS::DBCluster", "Properties": cluster}}}


@pytest.mark.usefixtures("aws")
def test_changes_that_were_missed_are_known_until_the_lake_is_equal() -> None:
    environment = load("prod")
    session, [orders] = boto3.Session(region_name="ap-southeast-2"), environment.pipelines
    rds: Any = session.client("rds")
    assert missed_since(session, environment) == {}
    nothing_missed(session, environment, orders)
    made = rds.create_db_cluster(
        DBClusterIdentifier=environment.database_cluster,
        Engine="aurora-postgresql",
        MasterUsername="postgres",
        MasterUserPassword="not-asked-for",
    )
    assert missed_since(session, environment) == {}
    shop, crm = (orders.model_copy(update={"name": name, "captured": SHOP} | more) for name, more in OTHERS.items())
    several = environment.model_copy(update={"pipelines": (orders, shop, crm)})
    since = "since 2026-11-21T21:00:00Z"
    marks = [{"Key": key, "Value": since} for key in (RESNAPSHOT, resnapshot("shop"), resnapshot("gone"))]
    rds.add_tags_to_resource(ResourceName=made["DBCluster"]["DBClusterArn"], Tags=marks)
    entry, path = "0a1b2c3d/prod-cdc-lake-database/CrmOutsideSource", environment.source_parameter(crm, "prepared-by")
    ssm = session.client("ssm")
    ssm.put_parameter(Name=f"{path}/x", Value=f"{entry}/{since}", Type="String")
    left = dict.fromkeys(("orders", "shop", "crm"), since)
    for pipeline in several.pipelines:
        assert missed_since(session, several) == left
        nothing_missed(session, several, pipeline)
        del left[pipeline.name]
    assert missed_since(session, several) == {}
    assert ssm.get_parameter(Name=f"{path}/x")["Parameter"]["Value"] == entry


REPLACED = "the cluster prod-cdc-lake-r1, with its data, would be replaced by "


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (None, FIRST, "None"),
        # Its first change set waits.
        ({}, FIRST, "None"),
        (FIRST, FIRST | {"EngineVersion": "16.12"}, "None"),
        (RESTORED, RESTORED | {"EngineVersion": "16.12"}, "None"),
        (FIRST, RESTORED, "the database prod-cdc-lake is replaced by prod-cdc-lake-r1, which is restored; afterwards"),
        (RESTORED, FIRST, f"{REPLACED}an empty one"),
        (RESTORED, RESTORED | {"SnapshotIdentifier": "two"}, f"{REPLACED}another copy"),
        (RESTORED, FIRST | {"DBClusterIdentifier": "prod-cdc-lake-r1"}, f"{REPLACED}an empty one"),
    ],
)
def test_a_restore_is_announced_and_a_cluster_that_nobody_asked_for_is_refused(
    answers: Any, before: dict[str, Any] | None, after: dict[str, Any], said: str
) -> None:
    if before is None:
        answers.add_client_error("describe_stacks", "ValidationError", f"Stack with id {STACK} does not exist")
    else:
        there = {"StackName": STACK, "StackStatus": "UPDATE_COMPLETE", "CreationTime": 0}
        answers.add_response("describe_stacks", {"Stacks": [there]}, {"StackName": STACK})
        answers.add_response("get_template", {"TemplateBody": json.dumps(template(before))} if before else {})
    try:
        found = str(check_origin(answers.client, STACK, template(after)))
    except OperateError as refused:
        assert said.startswith(REPLACED)
        found = str(refused)
    assert said in found
    assert (found == "None") == (said == "None")
