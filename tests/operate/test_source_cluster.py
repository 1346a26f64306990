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

pytestmark = pytest.mark.usefixtures("aws")

STACK = "prod-cdc-lake-database"
FIRST = {"DBClusterIdentifier": "prod-cdc-lake", "Engine": "aurora-postgresql"}
RESTORED = {"DBClusterIdentifier": "prod-cdc-lake-r1", "Engine": "aurora-postgresql", "SnapshotIdentifier": "one"}

SHOP = load_pipeline("northwind")
OUTSIDE = OutsideDatabase(
    host="crm.example.com", secret="arn:aws:secretsmanager:ap-southeast-2:222222222222:secret:crm-AbCdEf"
)
OTHERS: dict[str, dict[str, Any]] = {"shop": {}, "crm": {"database": OUTSIDE}}


def rds() -> Any:
    return boto3.client("rds", region_name="ap-southeast-2")


def cloudformation() -> Any:
    return boto3.client("cloudformation", region_name="ap-southeast-2")


def template(cluster: dict[str, Any]) -> dict[str, Any]:
    return {"Resources": {"Database": {"Type": "AWS::RDS::DBCluster", "Properties": cluster}}}


def deployed(cluster: dict[str, Any]) -> None:
    """A stack with the template of that cluster; moto can't create one, so it has another resource instead."""
    made = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    cloudformation().create_stack(StackName=STACK, TemplateBody=json.dumps(made))
    from moto.cloudformation.models import cloudformation_backends

    [stack] = cloudformation_backends["123456789012"]["ap-southeast-2"].stacks.values()
    stack.template = json.dumps(template(cluster))


def test_changes_that_were_missed_are_known_until_the_lake_is_equal() -> None:
    environment = load("prod")
    session, [orders] = boto3.Session(region_name="ap-southeast-2"), environment.pipelines
    assert missed_since(session, environment) == {}
    nothing_missed(session, environment, orders)
    made = rds().create_db_cluster(
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
    rds().add_tags_to_resource(ResourceName=made["DBCluster"]["DBClusterArn"], Tags=marks)
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


def test_a_first_deployment_replaces_nothing() -> None:
    assert check_origin(cloudformation(), STACK, template(FIRST)) is None


@pytest.mark.parametrize("cluster", [FIRST, RESTORED])
def test_a_cluster_that_stays_is_no_matter(cluster: dict[str, Any]) -> None:
    deployed(cluster)
    assert check_origin(cloudformation(), STACK, template({**cluster, "EngineVersion": "16.12"})) is None


def test_a_restore_is_announced() -> None:
    deployed(FIRST)
    said = check_origin(cloudformation(), STACK, template(RESTORED))
    assert said is not None
    assert said.startswith("the database prod-cdc-lake is replaced by prod-cdc-lake-r1, which is restored")


@pytest.mark.parametrize(
    ("changed", "by"),
    [
        (FIRST, "an empty one"),
        ({**RESTORED, "SnapshotIdentifier": "two"}, "another copy"),
        ({**FIRST, "DBClusterIdentifier": "prod-cdc-lake-r1"}, "an empty one"),
    ],
)
def test_a_cluster_that_nobody_asked_for_is_refused(changed: dict[str, Any], by: str) -> None:
    deployed(RESTORED)
    with pytest.raises(OperateError, match=f"the cluster prod-cdc-lake-r1, with its data, would be replaced by {by}"):
        check_origin(cloudformation(), STACK, template(changed))
