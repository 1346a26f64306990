"""Athena for analysts: which tables and queries exist, who may query, and who may add to Pagila's snapshots."""

from typing import Any

import pytest

from analytics.tables import CUSTOMER_ADDRESSES, LANDED, QUARANTINE
from tests.stacks.conftest import Synthesized
from tests.stacks.environments import STREAMED

pytestmark = pytest.mark.synth


@pytest.fixture
def declared(many: Synthesized) -> dict[str, Any]:
    """The declared tables by name."""
    found = [each["TableInput"] for each in many.properties("analytics", "AWS::Glue::Table")]
    return {table["Name"]: table for table in found}


def queries(environment: Synthesized) -> dict[str, str]:
    """The SQL of the saved queries by name, without the environment's prefix."""
    found = environment.properties("analytics", "AWS::Athena::NamedQuery")
    return {each["Name"].removeprefix("dev-cdc-lake-"): each["QueryString"] for each in found}


def test_each_pipelines_tables_can_be_asked_what_has_changed(many: Synthesized, declared: dict[str, Any]) -> None:
    pipelines = [pipeline.captured for pipeline in many.settings.pipelines]
    tables = {pipeline.lake_table(table) for pipeline in pipelines for table in pipeline.tables}
    assert {"cdc_events", "shop_orders", "wide_table00", "pagilaquery_address"} <= tables
    asked = {name for name in queries(many) if name.startswith("changed_since_")}
    assert asked == {f"changed_since_{each}" for each in tables - {"cdc_events"}}
    parameters = declared[QUARANTINE.name]["Parameters"]
    assert set(parameters["projection.lake_table.values"].split(",")) == tables


def test_what_has_landed_is_a_table_whose_history_is_asked_by_each_tables_key_and_topic(
    many: Synthesized, declared: dict[str, Any]
) -> None:
    given = declared[LANDED.name]["Parameters"]
    landing = f"s3://{many.settings.bucket_name('landing')}"
    assert given["storage.location.template"] == f"{landing}/${{landing_prefix}}/${{topic}}"
    assert given["projection.landing_prefix.values"].split(",") == ["cdc-events", *sorted(STREAMED[1:])]
    outbox = f"{many.settings.pipelines[0].prefix}.datalake.cdc_events"
    assert {outbox, "shop.public.orders"} <= set(given["projection.topic.values"].split(","))
    found = queries(many)
    assert f"e.topic = '{outbox}'" in found["history"]
    assert "e.topic = 'shop.public.orders'" in found["history_shop_orders"]
    assert """json_extract_scalar(e.event, '$["id"]') AS row_key""" in found["history_shop_orders"]


def test_pagilas_queries_are_there_and_only_there(many: Synthesized, dev: Synthesized) -> None:
    names = {"addresses", "customer_addresses", "latest_addresses", "snapshot_customer_addresses"}
    assert names <= queries(many).keys()
    assert '"dev_datalake"."pagila_city" AS c' in queries(many)["addresses"]
    assert not names & queries(dev).keys()


def test_snapshots_go_to_a_declared_table(many: Synthesized, declared: dict[str, Any]) -> None:
    given = declared[CUSTOMER_ADDRESSES.name]
    storage = given["StorageDescriptor"]
    assert [(each["Name"], each["Type"]) for each in storage["Columns"]] == list(CUSTOMER_ADDRESSES.columns)
    assert storage["Location"] == f"s3://{many.settings.bucket_name('lake')}/_silver/{CUSTOMER_ADDRESSES.name}"
    assert given["Parameters"]["parquet.compression"] == "SNAPPY"
    assert many.everywhere("AWS::Glue::Crawler") == []


def test_adding_to_it_is_a_right_of_its_own_that_deletes_nothing(many: Synthesized) -> None:
    policies = {each["ManagedPolicyName"]: each for each in many.properties("analytics", "AWS::IAM::ManagedPolicy")}
    assert {"dev-cdc-lake-analyst", "dev-cdc-lake-snapshot-writer"} <= set(policies)
    writer = policies["dev-cdc-lake-snapshot-writer"]
    assert not {"Roles", "Users", "Groups"} & set(writer)
    [statement] = writer["PolicyDocument"]["Statement"]
    assert set(statement["Action"]) == {"s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject"}
    assert f"-lake-lake-111111111111-ap-southeast-2/_silver/{CUSTOMER_ADDRESSES.name}/*" in str(statement["Resource"])
    assert "_silver" not in str(policies["dev-cdc-lake-analyst"])
