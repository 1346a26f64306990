"""Environment files: their meaning, and one-line refusals that name the file and the key."""

from pathlib import Path

import pytest

from settings.load import ENVIRONMENTS, load
from tests.settings.pipelines import Project
from tests.stacks.settings import change, refusal

TODAYS_KCQL = (
    "INSERT INTO {landing}:cdc-events SELECT * FROM msk.datalake.cdc_events PARTITIONBY customer_id,order_id "
    "STOREAS `json` PROPERTIES('flush.interval'=60,'flush.count'=50)"
)


def test_several_problems_are_one_line_each(folder: Path) -> None:
    change(folder, "dev", "streaming", 'broker_type = "kafka.t3.medium"')
    change(folder, "dev", "processing", 'release = "emr-6.4.0"')
    said = refusal(folder, "dev").splitlines()
    assert [line.split(": ")[1] for line in said] == ["streaming.broker_type", "processing.release"]


def test_a_folder_per_order_is_an_option_in_todays_words(folder: Path) -> None:
    change(folder, "dev", "pipelines.sink", f'kcql = "{TODAYS_KCQL}"')
    assert load("dev", folder).pipelines[0].sink.kcql == TODAYS_KCQL


@pytest.mark.parametrize(
    ("content", "reason"),
    [("account = ", "not TOML"), ('name = "x"', "name: the environment's name is that of its file")],
)
def test_a_file_that_cant_be_read_is_one_line(folder: Path, content: str, reason: str) -> None:
    (folder / "broken.toml").write_text(content)
    said = refusal(folder, "broken")
    assert reason in said
    assert "\n" not in said


@pytest.mark.parametrize("name", ["staging", "../dev", ""])
def test_an_environment_without_a_file_says_which_there_are(name: str) -> None:
    assert "no such environment; there are dev, prod, sandbox" in refusal(ENVIRONMENTS, name)


def test_the_guides_example_of_a_refusal_is_what_is_said(folder: Path) -> None:
    change(folder, "dev", "streaming", 'broker_type = "kafka.t3.small"')
    change(folder, "dev", "pipelines.source", "workers = 2")
    page = (ENVIRONMENTS.parent / "docs" / "aws" / "deploy.md").read_text()
    assert f"synth: {refusal(folder, 'dev')}" in page.splitlines()


def test_a_file_without_the_section_goes_on_as_it_is(folder: Path) -> None:
    path = folder / "dev.toml"
    path.write_text(path.read_text().partition("[analytics]")[0])
    found = load("dev", folder).analytics
    assert (found.quicksight_principal, found.import_mode, found.lake_formation) == (None, "DIRECT_QUERY", False)
    assert found.scan_limit_mb == 10 * 1024


@pytest.mark.parametrize("who", ["group/default/analysts", "user/default/alice@example.com", "user/default/Role/alice"])
def test_a_user_or_group_of_quicksight_of_any_region_is_taken(folder: Path, who: str) -> None:
    principal = f"arn:aws:quicksight:us-east-1:111111111111:{who}"
    change(folder, "dev", "analytics", f'quicksight_principal = "{principal}"')
    assert load("dev", folder).analytics.quicksight_principal == principal


@pytest.mark.parametrize("derived", [False, True])
@pytest.mark.parametrize(
    ("prefix", "name"),
    [("cdc_", "quarantine"), ("cdc_", "landed"), ("customer_address_", "snapshots"), ("", "tables")],
)
def test_no_table_takes_the_name_of_another_thing(project: Project, prefix: str, name: str, *, derived: bool) -> None:
    project.write("shop", ["items" if derived else name], source=f'lake_prefix = "{prefix}"')
    if derived:
        path = project.pipelines / "shop.toml"
        sql = f"SELECT i.id FROM {prefix}items AS i"
        path.write_text(f'{path.read_text()}[[derived]]\nname = "{name}"\nkey = ["id"]\nsql = "{sql}"\n')
    project.add("shop")
    assert f"shop has a table that would be {prefix}{name} in the lake" in project.refusal()
