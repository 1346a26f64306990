"""An environment's settings for analysts, and their refusals, one line each."""

from pathlib import Path

import pytest

from settings.environment import Environment
from settings.load import load
from settings.rules import broken
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.settings import change, copied, refusal

ACCOUNT = "111111111111"
ANALYSTS = f"arn:aws:quicksight:us-east-1:{ACCOUNT}:group/default/analysts"
READER = f"arn:aws:iam::{ACCOUNT}:role/analyst"
READERS = "environments/dev.toml: analytics.lake_formation_readers: "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied(tmp_path)


def test_a_file_without_the_section_goes_on_as_it_is(folder: Path) -> None:
    path = folder / "dev.toml"
    path.write_text(path.read_text().partition("[analytics]")[0])
    found = load("dev", folder).analytics
    assert (found.quicksight_principal, found.import_mode, found.lake_formation) == (None, "DIRECT_QUERY", False)
    assert found.scan_limit_mb == 10 * 1024


@pytest.mark.parametrize("who", ["group/default/analysts", "user/default/alice@example.com", "user/default/Role/alice"])
def test_a_user_or_group_of_quicksight_of_any_region_is_taken(folder: Path, who: str) -> None:
    principal = f"arn:aws:quicksight:us-east-1:{ACCOUNT}:{who}"
    change(folder, "dev", "analytics", f'quicksight_principal = "{principal}"')
    assert load("dev", folder).analytics.quicksight_principal == principal


@pytest.mark.parametrize(
    ("readers", "said"),
    [
        ('["analyst"]', "environments/dev.toml: analytics.lake_formation_readers"),
        (
            f'["{READER.replace(ACCOUNT, "999999999999")}"]',
            f"{READERS}arn:aws:iam::999999999999:role/analyst is of anot",
        ),
        (f'["{READER}", "{READER}"]', f"{READERS}'{READER}' is given twice"),
    ],
)
def test_readers_are_roles_and_users_of_this_account(folder: Path, readers: str, said: str) -> None:
    change(folder, "dev", "analytics", "lake_formation = true")
    change(folder, "dev", "analytics", f"lake_formation_readers = {readers}")
    assert refusal(folder, "dev").startswith(said)


def test_there_is_no_dashboard_where_no_orders_are() -> None:
    values = load("dev").model_dump(by_alias=True)
    values["analytics"]["quicksight_principal"] = ANALYSTS
    whole = Environment.model_validate(values)
    assert broken(whole) == []
    without = whole.model_copy(update={"pipelines": ()})
    assert ("analytics.quicksight_principal", "the dashboard shows the outbox's orders") in [
        (key, reason[:39]) for key, reason in broken(without)
    ]


@pytest.mark.parametrize("name", ["quarantine", "landed"])
def test_no_captured_table_takes_the_name_of_what_was_set_aside_or_has_landed(tmp_path: Path, name: str) -> None:
    folder, pipelines = copied(tmp_path), copied_pipelines(tmp_path)
    write_pipeline(pipelines, "shop", [name], source='lake_prefix = "cdc_"')
    add_to(folder, "shop")
    with pytest.raises(Exception, match=f"shop has a table that would be cdc_{name} in the lake"):
        load("dev", folder, pipelines)


def test_no_captured_table_takes_the_name_of_snapshots(tmp_path: Path) -> None:
    folder, pipelines = copied(tmp_path), copied_pipelines(tmp_path)
    write_pipeline(pipelines, "shop", ["snapshots"], source='lake_prefix = "customer_address_"')
    add_to(folder, "shop")
    with pytest.raises(Exception, match="shop has a table that would be customer_address_snapshots in the lake"):
        load("dev", folder, pipelines)
