"""An environment's settings for analysts, and their refusals, one line each."""

from pathlib import Path

import pytest

from settings.load import load
from tests.settings.pipelines import Project
from tests.stacks.environments import only_queried
from tests.stacks.settings import change

ACCOUNT = "111111111111"
ANALYSTS = f"arn:aws:quicksight:us-east-1:{ACCOUNT}:group/default/analysts"


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


def test_there_is_no_dashboard_where_no_orders_are(project: Project) -> None:
    only_queried(project.environments)
    project.change("analytics", f'quicksight_principal = "{ANALYSTS}"')
    assert "analytics.quicksight_principal: the dashboard shows the outbox's orders" in project.refusal()


@pytest.mark.parametrize(
    ("prefix", "name"), [("cdc_", "quarantine"), ("cdc_", "landed"), ("customer_address_", "snapshots")]
)
def test_no_captured_table_takes_a_declared_ones_name(project: Project, prefix: str, name: str) -> None:
    project.write("shop", [name], source=f'lake_prefix = "{prefix}"')
    project.add("shop")
    assert f"shop has a table that would be {prefix}{name} in the lake" in project.refusal()
