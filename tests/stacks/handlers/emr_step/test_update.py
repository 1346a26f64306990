"""A change: the running step ends before the next one is added, and comes back when that one fails."""

import json

import pytest

from tests.stacks.handlers.deployment import Resource, failing
from tests.stacks.handlers.emr_step.cluster import NAME, Cluster, stop_files


def test_a_change_stops_the_running_step_before_it_adds_one(cluster: Cluster, resource: Resource) -> None:
    old = resource.create(cluster.wanted("--op", "UPSERT"))
    cluster.obedient = False
    resource.properties = {"Request": json.dumps(cluster.wanted("--op", "INSERT"))}
    properties = {"Request": json.dumps(cluster.wanted("--op", "UPSERT"))}
    waiting = resource.begin(resource.event("Update", OldResourceProperties=properties))
    for _ in range(5):
        assert resource.poll(waiting) is None
        cluster.tick()
    assert len(cluster.steps) == 1
    assert stop_files() == {f"stop/{old['StepName']}"}
    cluster.obedient = True
    new = resource.finish(waiting)
    assert cluster.states() == ["COMPLETED", "RUNNING"]
    assert cluster.cancelled == []
    assert new["StepId"] != old["StepId"]
    assert resource.attempts == []


def test_an_update_without_a_change_leaves_the_step_alone(cluster: Cluster, resource: Resource) -> None:
    before = resource.create(cluster.wanted())
    assert resource.update(cluster.wanted()) == before
    assert cluster.states() == ["RUNNING"]


def test_a_step_that_fails_brings_its_reason_and_the_old_one_back(cluster: Cluster, resource: Resource) -> None:
    old = resource.create(cluster.wanted("--op", "UPSERT"))
    cluster.failing = "NONSENSE"
    reason = failing(resource, cluster.wanted("--op", "NONSENSE"), update=True)
    assert "is FAILED: Unknown Error.; exit code 1; log: s3://logs/emr/steps/stderr.gz" in reason
    assert cluster.states() == ["COMPLETED", "FAILED", "RUNNING"]
    assert cluster.steps[2].args[:-1] == cluster.steps[0].args[:-1]
    assert resource.data["StepId"] == cluster.steps[2].id != old["StepId"]


def test_a_step_that_was_told_to_stop_is_never_taken_for_the_wanted_one(cluster: Cluster, resource: Resource) -> None:
    """CloudFormation rolls back while the old step has still to end: it would end after the rollback."""
    old = resource.create(cluster.wanted("--op", "UPSERT"))
    cluster.obedient = False
    before = resource.properties
    resource.properties = {"Request": json.dumps(cluster.wanted("--op", "INSERT"))}
    changed = resource.properties
    resource.poll(resource.begin(resource.event("Update", OldResourceProperties=before)))
    resource.properties = before
    waiting = resource.begin(resource.event("Update", OldResourceProperties=changed))
    assert resource.poll(waiting) is None
    assert cluster.states() == ["RUNNING"]
    cluster.obedient = True
    again = resource.finish(waiting)
    assert cluster.states() == ["COMPLETED", "RUNNING"]
    assert again["StepId"] != old["StepId"]
    assert cluster.steps[1].args[:-1] == cluster.steps[0].args[:-1]


def test_a_new_cluster_gets_the_step_once_the_old_one_has_lost_it(cluster: Cluster, resource: Resource) -> None:
    resource.create(cluster.wanted())
    new = Cluster(resource.clock)
    cluster.obedient = False
    resource.properties = {"Request": json.dumps(new.wanted())}
    old = {"Request": json.dumps(cluster.wanted())}
    waiting = resource.begin(resource.event("Update", OldResourceProperties=old))
    assert resource.poll(waiting) is None
    assert (cluster.states(), new.states()) == (["RUNNING"], [])
    cluster.obedient = True
    cluster.tick()
    resource.tick = new.tick
    resource.finish(waiting)
    assert (cluster.states(), new.states()) == (["COMPLETED"], ["RUNNING"])
    assert resource.physical_id == NAME


@pytest.mark.parametrize("state", ["TERMINATED", "TERMINATED_WITH_ERRORS"])
def test_a_cluster_that_is_gone_holds_nothing_up(cluster: Cluster, resource: Resource, state: str) -> None:
    resource.create(cluster.wanted())
    new = Cluster(resource.clock)
    cluster.end(state)
    resource.tick = new.tick
    resource.update(new.wanted())
    assert new.states() == ["RUNNING"]
    assert cluster.cancelled == []
