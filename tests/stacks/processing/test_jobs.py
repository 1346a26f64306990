"""Properties of a pipeline's table for its step, in the command of a table's own step or in a file."""

from pathlib import Path
from typing import cast

import pytest

from plugins.connector_settings import SourceSettings
from plugins.source.source_connector import source_connector, with_salt
from settings.connectors import captured_tables, source_settings
from settings.environment import Environment
from settings.load import load, load_pipeline
from stacks.processing.jobs import JobAssets, Jobs
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.settings import copied


class Files:
    """Stands in for JobAssets: keeps what is written."""

    archive = "s3://assets/archive.zip"

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def application(self, name: str) -> str:
        return f"s3://assets/{name}"

    schema = properties = application

    def driver(self) -> str:
        return self.application("postgresql.jar")

    def text(self, name: str, text: str) -> str:
        self.texts[name] = text
        return self.application(name)


def environment(folder: Path, entry: str, *, one_step: bool = True) -> Environment:
    """dev with a pipeline `shop` of one table, whose entry has this line."""
    environments, pipelines = copied(folder), copied_pipelines(folder)
    write_pipeline(pipelines, "shop", ["orders"], table=entry)
    if "append_only" in entry:
        path = pipelines / "shop.toml"
        path.write_text(path.read_text().replace('key = ["id"]\n', ""))
    add_to(environments, "shop", "[pipelines.job]", f"one_step = {str(one_step).lower()}")
    return load("dev", environments, pipelines)


def told(found: Environment, *, one_step: bool) -> set[str]:
    """The properties for the job of shop's table."""
    files = Files()
    steps = Jobs(found, cast(JobAssets, files)).steps()
    if one_step:
        return set(files.texts["dev/shop_orders.properties"].replace("\\", "").splitlines())
    return {argument for step in steps if step.name.endswith("shop_orders") for argument in step.arguments}


@pytest.mark.parametrize("one_step", [True, False])
@pytest.mark.parametrize(
    ("entry", "properties"),
    [
        ("append_only = true", {"hoodie.streamer.append.only=true"}),
        (
            "retention_hours = 168",
            {"hoodie.cleaner.policy=KEEP_LATEST_BY_HOURS", "hoodie.cleaner.hours.retained=168"},
        ),
        ('evolution = "fixed"', {"hoodie.streamer.schema.max.new.columns=0"}),
    ],
)
def test_a_tables_entry_reaches_its_job(tmp_path: Path, entry: str, properties: set[str], *, one_step: bool) -> None:
    given = told(environment(tmp_path / "given", entry, one_step=one_step), one_step=one_step)
    assert properties <= given
    without = told(environment(tmp_path / "without", "", one_step=one_step), one_step=one_step)
    assert not properties & without


@pytest.mark.parametrize("one_step", [True, False])
def test_derived_tables_are_kept_by_the_application_of_many_tables(tmp_path: Path, *, one_step: bool) -> None:
    environments, pipelines = copied(tmp_path), copied_pipelines(tmp_path)
    write_pipeline(pipelines, "shop", ["orders"], table="history = true")
    path = pipelines / "shop.toml"
    path.write_text(
        f'{path.read_text()}\n[[derived]]\nname = "names"\nkey = ["id"]\nsql = "SELECT o.id FROM shop_orders AS o"\n'
    )
    add_to(environments, "shop", "[pipelines.job]", f"one_step = {str(one_step).lower()}")
    found, files = load("dev", environments, pipelines), Files()
    Jobs(found, cast(JobAssets, files)).steps()
    told = files.texts["dev/shop_names.properties"].replace("\\", "")
    lake = f"s3://{found.bucket_name('lake')}"
    assert f"hoodie.streamer.source.sql.tables=shop_orders={lake}/shop_orders\n" in told
    assert f"hoodie.streamer.history.of={lake}/shop_orders\n" in files.texts[
        "dev/shop_orders_history.properties"
    ].replace("\\", "")
    for name in ("shop_names", "shop_orders_history"):
        assert f"{found.lake.database}.{name}" in files.texts["dev/tables.properties"]


def test_columns_that_are_left_out_reach_the_source_connector(tmp_path: Path) -> None:
    found = environment(tmp_path, 'leave_out = ["photo"]')
    configuration = source_connector(source_settings(found, found.pipelines[1]))
    assert configuration["column.exclude.list"] == r"(?-i:public\.orders\.photo)"


def test_columns_that_travel_as_a_hash_reach_the_source_connector(tmp_path: Path) -> None:
    pipelines = copied_pipelines(tmp_path)
    write_pipeline(pipelines, "shop", ["orders"], table='hash = ["name"]')
    settings = SourceSettings(
        database_hostname="h",
        database_password="${file:/run/platform/connect.secrets:password}",
        topic_prefix="shop",
        **captured_tables(load_pipeline("shop", pipelines)),
    )
    masked = with_salt(source_connector(settings), "0123456789abcdef")[
        "column.mask.hash.v2.SHA-256.with.salt.0123456789abcdef"
    ]
    assert masked == r"(?-i:public\.orders\.name)"
