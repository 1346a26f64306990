"""Pipelines of an environment that are queried: what is said of them, and what they take no room for."""

from pathlib import Path

import pytest

from settings import aws_offers
from settings.environment import Environment
from settings.load import EnvironmentFileError, load
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.connectors.environments import on_eks
from tests.stacks.queried import only_queried
from tests.stacks.settings import change, copied

OUTSIDE = (
    "[pipelines.database]",
    'host = "replica.abcdefghij.eu-west-1.rds.amazonaws.com"',
    'secret = "arn:aws:secretsmanager:ap-southeast-2:111111111111:secret:reader-AbCdEf"',
    'cidrs = ["10.1.2.3/32"]',
)


@pytest.fixture
def environments(tmp_path: Path) -> Path:
    return copied(tmp_path)


@pytest.fixture
def pipelines(tmp_path: Path) -> Path:
    return copied_pipelines(tmp_path)


def loaded(environments: Path, pipelines: Path, *lines: str) -> Environment:
    add_to(environments, "pagilaquery", *lines)
    return load("dev", environments, pipelines)


def refusal(environments: Path, pipelines: Path, *lines: str) -> str:
    with pytest.raises(EnvironmentFileError) as caught:
        loaded(environments, pipelines, *lines)
    return str(caught.value)


def test_a_pipeline_that_is_queried_takes_no_workers(environments: Path, pipelines: Path) -> None:
    found = loaded(environments, pipelines)
    assert [pipeline.name for pipeline in found.queried] == ["pagilaquery"]
    assert [pipeline.name for pipeline in found.streamed] == ["orders"]
    assert found.connector_workers == 2
    assert found.queried[0].connector_role == "cdc_pagilaquery"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["[pipelines.sink]", "tasks = 2"], "pipelines[1].sink: is for connectors, and pipelines/pagilaquery.toml is"),
        (["[pipelines.source]", "workers = 1"], "pipelines[1].source: is for connectors"),
        (['topic_prefix = "places"'], "pipelines[1].topic_prefix: is for connectors"),
        ([*OUTSIDE, 'sslmode = "verify-ca"'], "pipelines[1].database.sslmode: the job verifies a server in full or"),
        (
            ["[pipelines.job]", "one_step = true", "[pipelines.tables.pagilaquery_city]", "executors = 1"],
            "pipelines[1].tables.pagilaquery_city.executors: counts for an application of its own, which one_step = "
            "true doesn't make: set job.executors",
        ),
        (["[pipelines.job]", 'executor_memory = "30g"'], "pipelines[1].job.executor_memory: 30g and its overhead"),
    ],
)
def test_what_says_nothing_of_it_is_refused(environments: Path, pipelines: Path, lines: list[str], reason: str) -> None:
    assert reason in refusal(environments, pipelines, *lines)


def test_its_application_counts_beside_the_others(environments: Path, pipelines: Path) -> None:
    change(environments, "dev", "processing", "core_instances = 1")
    assert "the executors of 2 applications ask for 18,048 MB" in refusal(environments, pipelines)


def test_its_application_may_have_sizes_of_its_own(environments: Path, pipelines: Path) -> None:
    change(environments, "dev", "processing", "core_instances = 1")
    small = ("[pipelines.job]", 'driver_memory = "1g"', 'executor_memory = "1g"', "executors = 1")
    assert loaded(environments, pipelines, *small).queried[0].job.executors == 1


def test_only_what_is_queried_is_read_again_by_a_setting(environments: Path, pipelines: Path) -> None:
    assert loaded(environments, pipelines, "[pipelines.job]", 'read_again = "1"').queried[0].job.read_again == "1"
    change(environments, "dev", "pipelines.job", 'read_again = "1"')
    with pytest.raises(EnvironmentFileError, match=r"pipelines\[0\].job.read_again: is for what is queried"):
        load("dev", environments, pipelines)


def test_it_takes_none_of_the_clusters_slots(
    environments: Path, pipelines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aws_offers, "AURORA_REPLICATION_SLOTS", aws_offers.RESERVED_SLOTS + 1)
    assert len(loaded(environments, pipelines).pipelines) == 2


def test_no_two_pipelines_read_as_one_role_or_keep_one_table(environments: Path, pipelines: Path) -> None:
    assert "the role cdc_connector is that of pipeline orders, too" in refusal(
        environments, pipelines, 'role = "cdc_connector"'
    )


def test_two_pipelines_keep_no_table_of_one_name(environments: Path, pipelines: Path) -> None:
    write_pipeline(pipelines, "places", ["city"], source='lake_prefix = "pagilaquery_"')
    add_to(environments, "places")
    assert "the lake's table pagilaquery_city is that of pipeline places, too" in refusal(environments, pipelines)


def test_without_connectors_there_is_no_platform_of_theirs(tmp_path: Path) -> None:
    environments = on_eks(tmp_path, "dev")
    only_queried(environments)
    with pytest.raises(EnvironmentFileError, match=r"connectors\.platform: is where connectors run, and all pipelines"):
        load("dev", environments)


def test_a_cluster_is_not_restored_where_nobody_sets_its_password(tmp_path: Path) -> None:
    environments = copied(tmp_path)
    only_queried(environments)
    change(environments, "dev", "database", 'restore = { name = "r1", snapshot = "before-the-accident" }')
    change(environments, "dev", "database", "sample_data = false")
    with pytest.raises(EnvironmentFileError, match=r"database\.restore: the outbox's preparation gives"):
        load("dev", environments)


def test_derived_tables_keep_the_application_that_all_share(environments: Path, pipelines: Path) -> None:
    """Where each captured table has an application of its own: four, and the one of what is made of them."""
    only_queried(environments)
    (environments / "dev.toml").write_text(
        (environments / "dev.toml").read_text() + "[pipelines.job]\none_step = false\n"
    )
    with pytest.raises(EnvironmentFileError, match="the executors of 5 applications ask for"):
        load("dev", environments, pipelines)
