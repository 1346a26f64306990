"""Athena for analysts: which tables and queries exist, who may query, and who may add to Pagila's snapshots."""

from typing import Any

import pytest

from analytics.tables import CUSTOMER_ADDRESSES, LANDED, QUARANTINE
from settings.load import load
from tests.stacks.conftest import Synthesized
from tests.stacks.environments import STREAMED

pytestmark = pytest.mark.synth


def declared(environment: Synthesized, name: str) -> dict[str, Any]:
    [found] = [
        each for each in environment.properties("analytics", "AWS::Glue::Table") if each["TableInput"]["Name"] == name
    ]
    return dict(found)


def test_each_pipelines_tables_can_be_asked_what_has_changed(many: Synthesized) -> None:
    pipelines = [pipeline.captured for pipeline in many.settings.pipelines]
    tables = {pipeline.lake_table(table) for pipeline in pipelines for table in pipeline.tables}
    assert {"cdc_events", "shop_orders", "wide_table00", "pagilaquery_address"} <= tables
    queries = many.resources("analytics", "AWS::Athena::NamedQuery").values()
    asked = {each["Properties"]["Name"].partition("-changed_since")[2] for each in queries} - {""}
    assert asked == {f"_{each}" for each in tables - {"cdc_events"}}
    parameters = declared(many, QUARANTINE.name)["TableInput"]["Parameters"]
    assert set(parameters["projection.lake_table.values"].split(",")) == tables


def test_what_has_landed_is_a_table_whose_history_is_asked_by_each_tables_key_and_topic(many: Synthesized) -> None:
    settings = load("dev")
    given = declared(many, LANDED.name)["TableInput"]
    landing = f"s3://{settings.bucket_name('landing')}"
    assert given["Parameters"]["storage.location.template"] == f"{landing}/${{landing_prefix}}/${{topic}}"
    prefixes = given["Parameters"]["projection.landing_prefix.values"].split(",")
    assert prefixes == ["cdc-events", *sorted(STREAMED[1:])]
    topics = given["Parameters"]["projection.topic.values"].split(",")
    outbox = f"{settings.pipelines[0].prefix}.datalake.cdc_events"
    assert {outbox, "shop.public.orders"} <= set(topics)
    queries = {
        each["Properties"]["Name"].removeprefix("dev-cdc-lake-"): each["Properties"]["QueryString"]
        for each in many.resources("analytics", "AWS::Athena::NamedQuery").values()
    }
    assert f"e.topic = '{outbox}'" in queries["history"]
    assert "e.topic = 'shop.public.orders'" in queries["history_shop_orders"]
    assert """json_extract_scalar(e.event, '$["id"]') AS row_key""" in queries["history_shop_orders"]


def test_pagilas_queries_are_there_and_only_there(many: Synthesized, dev: Synthesized) -> None:
    queries = {each["Name"]: each for each in many.properties("analytics", "AWS::Athena::NamedQuery")}
    names = {"addresses", "customer_addresses", "latest_addresses", "snapshot_customer_addresses"}
    assert {f"dev-cdc-lake-{name}" for name in names} <= set(queries)
    assert '"dev_datalake"."pagila_city" AS c' in queries["dev-cdc-lake-addresses"]["QueryString"]
    of_dev = dev.resources("analytics", "AWS::Athena::NamedQuery").values()
    assert not {f"dev-cdc-lake-{name}" for name in names} & {each["Properties"]["Name"] for each in of_dev}


def test_snapshots_go_to_a_declared_table(many: Synthesized) -> None:
    tables = {
        each["Properties"]["TableInput"]["Name"]: each["Properties"]["TableInput"]
        for each in many.resources("analytics", "AWS::Glue::Table").values()
    }
    given = tables[CUSTOMER_ADDRESSES.name]
    storage = given["StorageDescriptor"]
    assert [(each["Name"], each["Type"]) for each in storage["Columns"]] == list(CUSTOMER_ADDRESSES.columns)
    lake = load("dev").bucket_name("lake")
    assert storage["Location"] == f"s3://{lake}/_silver/{CUSTOMER_ADDRESSES.name}"
    assert given["Parameters"]["parquet.compression"] == "SNAPPY"
    assert not [each for stack in many.by_role.values() for each in stack.find_resources("AWS::Glue::Crawler")]


def test_adding_to_it_is_a_right_of_its_own_that_deletes_nothing(many: Synthesized) -> None:
    policies = {each["ManagedPolicyName"]: each for each in many.properties("analytics", "AWS::IAM::ManagedPolicy")}
    assert {"dev-cdc-lake-analyst", "dev-cdc-lake-snapshot-writer"} <= set(policies)
    writer = policies["dev-cdc-lake-snapshot-writer"]
    assert not {"Roles", "Users", "Groups"} & set(writer)
    [statement] = writer["PolicyDocument"]["Statement"]
    assert set(statement["Action"]) == {"s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject"}
    assert f"-lake-lake-111111111111-ap-southeast-2/_silver/{CUSTOMER_ADDRESSES.name}/*" in str(statement["Resource"])
    assert "_silver" not in str(policies["dev-cdc-lake-analyst"])
