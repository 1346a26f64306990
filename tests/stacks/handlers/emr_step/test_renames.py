"""The same job by another logical id: it goes on, and belongs to whoever is left."""

import pytest

from stacks.handlers import emr_step
from tests.stacks.handlers.deployment import Resource
from tests.stacks.handlers.emr_step.cluster import NAME, Cluster, stop_files


@pytest.fixture
def renamed(resource: Resource) -> Resource:
    """The same in the template, by another logical id."""
    return Resource(handler=emr_step, clock=resource.clock, tick=resource.tick, logical_id="Renamed")


def test_a_renamed_resources_job_goes_on_without_a_stop(
    cluster: Cluster, resource: Resource, renamed: Resource
) -> None:
    """CloudFormation makes the new one first, then deletes the old one."""
    before = resource.create(cluster.wanted())
    assert renamed.create(cluster.wanted()) == before
    resource.delete()
    assert cluster.states() == ["RUNNING"]
    assert stop_files() == set()
    renamed.delete()
    assert cluster.states() == ["COMPLETED"]


def test_a_rename_that_is_rolled_back_leaves_the_job_as_the_first_wants_it(
    cluster: Cluster, resource: Resource, renamed: Resource
) -> None:
    resource.create(cluster.wanted("--op", "UPSERT"))
    renamed.create(cluster.wanted("--op", "INSERT"))
    renamed.delete()
    cluster.tick()
    assert cluster.states() == ["COMPLETED", "COMPLETED", "RUNNING"]
    assert cluster.steps[2].args[:-1] == cluster.steps[0].args[:-1]
    resource.delete()
    assert cluster.states()[2] == "COMPLETED"


def test_one_that_never_wanted_the_job_leaves_it_alone(cluster: Cluster, resource: Resource, renamed: Resource) -> None:
    resource.create(cluster.wanted())
    renamed.properties, renamed.physical_id = resource.properties, NAME
    renamed.delete()
    assert cluster.states() == ["RUNNING"]
    assert resource.update(cluster.wanted("--op", "INSERT"))["StepId"] == cluster.steps[1].id


def test_a_rename_with_its_cluster_gone_holds_nothing_up(
    cluster: Cluster, resource: Resource, renamed: Resource
) -> None:
    resource.create(cluster.wanted("--op", "UPSERT"))
    renamed.create(cluster.wanted("--op", "INSERT"))
    cluster.end()
    renamed.delete()
    resource.delete()
    assert len(cluster.steps) == 2
