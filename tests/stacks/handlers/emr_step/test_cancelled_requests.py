"""A request that CloudFormation has cancelled does nothing any more, though its waiter still polls."""

import json
from typing import Any

import pytest

from tests.stacks.handlers.deployment import DeploymentError, Resource
from tests.stacks.handlers.emr_step.cluster import Cluster


def _cancelled_update(cluster: Cluster, resource: Resource) -> tuple[dict[str, Any], dict[str, Any]]:
    """An update that CloudFormation has cancelled, and the one that rolls it back: both wait for their next poll."""
    resource.create(cluster.wanted("--op", "UPSERT"))
    before, changed = resource.properties, {"Request": json.dumps(cluster.wanted("--op", "INSERT"))}
    resource.properties = changed
    cancelled = resource.begin(resource.event("Update", OldResourceProperties=before))
    resource.properties = before
    return cancelled, resource.begin(resource.event("Update", OldResourceProperties=changed))


@pytest.mark.parametrize("polls", [0, 1])
def test_a_cancelled_update_does_nothing_any_more(cluster: Cluster, resource: Resource, polls: int) -> None:
    cancelled, rollback = _cancelled_update(cluster, resource)
    for _ in range(polls):
        resource.poll(rollback)
    with pytest.raises(DeploymentError, match="a later request has taken over"):
        resource.poll(cancelled)
    resource.finish(rollback)
    assert cluster.states() == ["RUNNING"]
    assert "UPSERT" in cluster.steps[0].args


def test_a_cancelled_creation_adds_nothing_after_its_deletion(cluster: Cluster, resource: Resource) -> None:
    resource.properties = {"Request": json.dumps(cluster.wanted())}
    begun = resource.begin(resource.event("Create"))
    assert resource.poll(begun) is None
    resource.physical_id = "invented-by-CloudFormation"
    resource.delete()
    assert cluster.states() == ["COMPLETED"]
    with pytest.raises(DeploymentError, match="a later request has taken over"):
        resource.poll(begun)
    assert len(cluster.steps) == 1


def test_a_creation_that_was_deleted_before_its_first_step_adds_none(cluster: Cluster, resource: Resource) -> None:
    resource.properties = {"Request": json.dumps(cluster.wanted())}
    begun = resource.begin(resource.event("Create"))
    resource.physical_id = "invented-by-CloudFormation"
    resource.delete()
    with pytest.raises(DeploymentError, match="a later request has taken over"):
        resource.poll(begun)
    assert cluster.steps == []
