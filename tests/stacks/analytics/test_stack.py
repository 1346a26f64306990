"""Athena for analysts: where results go, what a query may read, who may query, and which tables exist."""

from typing import Any

import pytest

from analytics import landed_table, quarantine_table
from settings.load import load
from tests.stacks.conftest import Synthesized
from tests.stacks.environments import WIDE

pytestmark = pytest.mark.synth


def declared(environment: Synthesized, name: str) -> dict[str, Any]:
    [found] = [
        each for each in environment.properties("analytics", "AWS::Glue::Table") if each["TableInput"]["Name"] == name
    ]
    return dict(found)


def test_each_pipelines_tables_can_be_asked_what_has_changed(many: Synthesized) -> None:
    tables = {"cdc_events", *(f"wide_{each}" for each in WIDE), "shop_orders", "shop_items", "crm_people", "erp_people"}
    queries = many.resources("analytics", "AWS::Athena::NamedQuery").values()
    asked = {each["Properties"]["Name"].partition("-changed_since")[2] for each in queries} - {""}
    assert asked == {f"_{each}" for each in tables - {"cdc_events"}}
    parameters = declared(many, quarantine_table.NAME)["TableInput"]["Parameters"]
    assert set(parameters["projection.lake_table.values"].split(",")) == tables


def test_what_has_landed_is_a_table_whose_history_is_asked_by_each_tables_key_and_topic(many: Synthesized) -> None:
    settings = load("dev")
    given = declared(many, landed_table.NAME)["TableInput"]
    landing = f"s3://{settings.bucket_name('landing')}"
    assert given["Parameters"]["storage.location.template"] == f"{landing}/${{landing_prefix}}/${{topic}}"
    prefixes = given["Parameters"]["projection.landing_prefix.values"].split(",")
    assert prefixes == ["cdc-events", "crm", "erp", "shop", "wide"]
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
