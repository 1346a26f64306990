"""Query-based pipelines of an environment: their messages, and the resources that they don't need."""

from pathlib import Path

import pytest

from settings import aws_offers
from settings.load import EnvironmentFileError, load
from tests.settings.pipelines import Project
from tests.stacks.environments import on_eks, only_queried


def test_a_pipeline_that_is_queried_takes_no_workers(project: Project) -> None:
    found = project.add("pagilaquery").load()
    assert [pipeline.name for pipeline in found.queried] == ["pagilaquery"]
    assert [pipeline.name for pipeline in found.streamed] == ["orders"]
    assert found.connector_workers == 2
    assert found.queried[0].connector_role == "cdc_pagilaquery"


def test_its_application_counts_beside_the_others(project: Project) -> None:
    project.change("processing", "core_instances = 1")
    assert "the executors of 2 applications ask for 18,048 MB" in project.add("pagilaquery").refusal()


def test_its_application_may_have_sizes_of_its_own(project: Project) -> None:
    project.change("processing", "core_instances = 1")
    small = ("[pipelines.job]", 'driver_memory = "1g"', 'executor_memory = "1g"', "executors = 1")
    assert project.add("pagilaquery", *small).load().queried[0].job.executors == 1


def test_only_what_is_queried_is_read_again_by_a_setting(project: Project) -> None:
    assert project.add("pagilaquery", "[pipelines.job]", 'read_again = "1"').load().queried[0].job.read_again == "1"
    project.change("pipelines.job", 'read_again = "1"')
    with pytest.raises(EnvironmentFileError, match=r"pipelines\[0\].job.read_again: is for what is queried"):
        project.load()


def test_it_takes_none_of_the_clusters_slots(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws_offers, "AURORA_REPLICATION_SLOTS", aws_offers.RESERVED_SLOTS + 1)
    assert len(project.add("pagilaquery").load().pipelines) == 2


def test_no_two_pipelines_read_as_one_role_or_keep_one_table(project: Project) -> None:
    assert (
        "the role cdc_connector is that of pipeline orders, too"
        in project.add("pagilaquery", 'role = "cdc_connector"').refusal()
    )


def test_two_pipelines_keep_no_table_of_one_name(project: Project) -> None:
    project.write("places", ["city"], source='lake_prefix = "pagilaquery_"')
    project.add("places")
    assert "the lake's table pagilaquery_city is that of pipeline places, too" in project.add("pagilaquery").refusal()


def test_without_connectors_there_is_no_platform_of_theirs(tmp_path: Path) -> None:
    environments = on_eks(tmp_path, "dev")
    only_queried(environments)
    with pytest.raises(EnvironmentFileError, match=r"connectors\.platform: is where connectors run, and all pipelines"):
        load("dev", environments)


def test_a_cluster_is_not_restored_where_nobody_sets_its_password(project: Project) -> None:
    only_queried(project.environments)
    project.change("database", 'restore = { name = "r1", snapshot = "before-the-accident" }')
    project.change("database", "sample_data = false")
    assert "database.restore: the outbox's preparation gives" in project.refusal()


def test_derived_tables_keep_the_application_that_all_share(project: Project) -> None:
    """Where each captured table has an application: four, and one for the derived table."""
    only_queried(project.environments)
    path = project.environments / "dev.toml"
    path.write_text(path.read_text() + "[pipelines.job]\none_step = false\n")
    assert "the executors of 5 applications ask for" in project.refusal()
