"""Pipelines' files: their meaning, and one-line refusals that name the file and the key."""

import json
import re
import tomllib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from settings import aws_offers
from settings.job import layout
from settings.load import SettingsFileError, load_pipeline
from settings.pipeline import CapturedTableSettings, Pipeline
from spark_jobs.options import keys
from tests.settings.pipelines import BY_LOG, Project, logged_shop


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of pipelines with one, `shop`, and the schemas of its tables."""
    return logged_shop(tmp_path).parent


def test_a_name_with_a_dot_is_given_in_two_parts_and_begins_with_the_pipelines_in_the_lake(folder: Path) -> None:
    shop = load_pipeline("shop", folder)
    table = shop.tables[1]
    assert (table.schema_name, table.table_name, table.lake_table) == ("Sales", "Orders 2.0", "orders_2_0")
    assert [shop.lake_table(table) for table in shop.tables] == ["shop_customers", "shop_orders_2_0"]


def test_a_table_says_what_a_truncate_does_or_the_source_does_for_all(folder: Path) -> None:
    changed = BY_LOG.replace('database = "shop"', 'database = "shop"\ntruncate = "ignore"')
    (folder / "shop.toml").write_text(changed.replace('hash = ["email"]', 'truncate = "stop"'))
    assert [table.truncate for table in load_pipeline("shop", folder).tables] == ["stop", "ignore"]


@pytest.mark.parametrize(
    ("said", "stops", "tells", "handles"),
    [
        ('truncate = "stop"', True, False, False),
        ('truncate = "apply"', False, True, True),
        ('truncate = "ignore"', False, True, True),
        # Where every event is a row, a TRUNCATE is one.
        ('append_only = true\ntruncate = "stop"', False, True, False),
        ('append_only = true\ntruncate = "ignore"', False, True, False),
    ],
)
def test_what_a_truncate_does_is_told_to_connector_and_job(said: str, stops: bool, tells: bool, handles: bool) -> None:
    key = "" if "append_only" in said else 'key = ["id"]\n'
    text = f'schema = "public"\ntable = "a"\nhow = "log"\n{key}{said}'
    table = CapturedTableSettings.model_validate(tomllib.loads(text))
    assert (table.captured.stops_at_truncate, table.captured.tells_of_truncate) == (stops, tells)
    of_job = layout(table).get(keys.TRUNCATE)
    assert of_job == (table.truncate if handles else None)


def test_a_table_is_found_by_each_of_its_names(folder: Path) -> None:
    shop = load_pipeline("shop", folder)
    names = ("public.customers", "customers", "shop_customers")
    assert {shop.table(name).name for name in names} == {"public.customers"}


def test_two_tables_of_one_topic_are_refused(folder: Path) -> None:
    (folder / "shop" / "others.avsc").write_text((folder / "shop" / "customers.avsc").read_text())
    clash = '[[tables]]\nsource = "public.custom rs"\nlake_table = "others"\nhow = "log"\nkey = ["id"]\n'
    second = clash.replace("custom rs", "custom_rs").replace("others", "customers")
    (folder / "shop.toml").write_text('[source]\ndatabase = "shop"\n' + clash + second)
    with pytest.raises(SettingsFileError, match=r"tables: public\.custom rs and public\.custom_rs would share the top"):
        load_pipeline("shop", folder)


NO_KEY = ["null", {"type": "string", "connect.name": "io.debezium.time.ZonedTime"}]
NO_TEXT = "tables[0].hash: 'email' isn't text, and only texts are hashed"


@pytest.mark.parametrize(
    ("column", "kind", "reason"),
    [
        ("id", NO_KEY, "tables[0].key: 'id' tells no rows apart, '12:00+00' and '14:00"),
        ("email", "string", None),
        ("email", ["null", {"type": "string", "connect.name": "io.debezium.data.Enum"}], None),
        ("email", ["null", {"type": "string", "connect.name": "io.debezium.data.Uuid"}], NO_TEXT),
        ("email", ["null", "int"], NO_TEXT),
        ("email", "bytes", NO_TEXT),
        ("email", None, "pipelines/shop/customers.avsc isn't an Avro schema of a record: remove it, and `./lake"),
    ],
)
def test_a_key_is_told_apart_and_only_texts_are_hashed(
    folder: Path, column: str, kind: Any, reason: str | None
) -> None:
    path = folder / "shop" / "customers.avsc"
    schema = json.loads(path.read_text())
    field = next(field for field in schema["fields"] if field["name"] == column)
    field.update({"type": kind} if kind else {"name": field.pop("type")})
    path.write_text(json.dumps(schema))
    with pytest.raises(SettingsFileError, match=re.escape(reason)) if reason else nullcontext():
        load_pipeline("shop", folder)


def test_nothing_that_a_file_can_say_ends_in_a_traceback(folder: Path) -> None:
    values: list[Any] = ["1", '"x"', "[]", "[1]", "{}", "{a = 1}", "true", "1.5", "2026-11-22", '["a", 1]', '""']
    keys = [*Pipeline.model_fields, "tables.source", "source.truncate", "source.first_load"]
    for key in keys:
        for value in values:
            (folder / "shop.toml").write_text(f"{key} = {value}\n")
            with pytest.raises(SettingsFileError) as caught:
                load_pipeline("shop", folder)
            assert "\n" not in str(caught.value).replace("\npipelines/shop.toml: ", "")


def test_a_pipeline_that_is_queried_takes_no_workers(project: Project) -> None:
    found = project.add("pagilaquery").load()
    assert [pipeline.name for pipeline in found.queried] == ["pagilaquery"]
    assert [pipeline.name for pipeline in found.streamed] == ["orders"]
    assert found.connector_workers == 2
    assert found.queried[0].connector_role == "cdc_pagilaquery"


def test_its_application_may_have_sizes_of_its_own(project: Project) -> None:
    project.change("processing", "core_instances = 1")
    small = ("[pipelines.job]", 'driver_memory = "1g"', 'executor_memory = "1g"', "executors = 1")
    assert project.add("pagilaquery", *small).load().queried[0].job.executors == 1


def test_what_is_queried_is_read_again_by_a_setting(project: Project) -> None:
    assert project.add("pagilaquery", "[pipelines.job]", 'read_again = "1"').load().queried[0].job.read_again == "1"


def test_it_takes_none_of_the_clusters_slots(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws_offers, "AURORA_REPLICATION_SLOTS", aws_offers.RESERVED_SLOTS + 1)
    assert len(project.add("pagilaquery").load().pipelines) == 2
