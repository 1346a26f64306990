"""Several steps as one resource: no table has two jobs at once."""

import json
from typing import Any

from tests.stacks.handlers.clients import client
from tests.stacks.handlers.deployment import Resource, failing
from tests.stacks.handlers.emr_step.cluster import BUCKET, Cluster


def several(cluster: Cluster, *jobs: tuple[str, tuple[str, ...]]) -> dict[str, Any]:
    """A request of several steps, each by its name and arguments."""
    (name, arguments), *further = jobs
    others = [cluster.wanted(*options, name=other) for other, options in further]
    steps = [{"name": other["name"], "arguments": other["arguments"]} for other in others]
    return cluster.wanted(*arguments, name=name) | {"further": steps}


SHARED, ORDERS, ITEMS = "dev-cdc-lake-tables", "dev-cdc-lake-shop_orders", "dev-cdc-lake-shop_items"


def running(cluster: Cluster) -> set[str]:
    return {step.name.rsplit("-", 2)[0] for step in cluster.steps if step.state == "RUNNING"}


def test_several_steps_are_one_resource(cluster: Cluster, resource: Resource) -> None:
    resource.create(several(cluster, (ORDERS, ()), (ITEMS, ())))
    assert running(cluster) == {ORDERS, ITEMS}
    resource.update(several(cluster, (ORDERS, ()), (ITEMS, ("--changed",))))
    assert cluster.states() == ["RUNNING", "COMPLETED", "RUNNING"]
    resource.delete()
    assert running(cluster) == set()


def test_tables_go_from_one_step_to_one_each_and_back_without_two_at_once(cluster: Cluster, resource: Resource) -> None:
    resource.create(cluster.wanted(name=SHARED))
    cluster.obedient = False
    begun = resource.physical_id
    old = resource.properties
    resource.properties = {"Request": json.dumps(several(cluster, (ORDERS, ()), (ITEMS, ())))}
    waiting = resource.begin(resource.event("Update", OldResourceProperties=old))
    for _ in range(3):
        assert resource.poll(waiting) is None
        cluster.tick()
        assert running(cluster) == {SHARED}
    cluster.obedient = True
    resource.finish(waiting)
    assert running(cluster) == {ORDERS, ITEMS}
    resource.update(cluster.wanted(name=SHARED))
    assert running(cluster) == {SHARED}
    assert resource.physical_id == begun
    resource.delete()
    assert running(cluster) == set()


def test_a_step_that_a_rollback_brings_back_runs_again(cluster: Cluster, resource: Resource) -> None:
    resource.create(cluster.wanted(name=SHARED))
    cluster.failing = "--broken"
    wanted = several(cluster, (ORDERS, ()), (ITEMS, ("--broken",)))
    assert "exit code 1" in failing(resource, wanted, update=True)
    assert running(cluster) == {SHARED}


def test_what_the_request_before_owned_is_nobodys_afterwards(cluster: Cluster, resource: Resource) -> None:
    resource.create(several(cluster, (ORDERS, ()), (ITEMS, ())))
    resource.update(cluster.wanted(name=SHARED))
    owned = client("s3").list_objects_v2(Bucket=BUCKET, Prefix="stop/owners/")["Contents"]
    assert {entry["Key"].split("/")[2] for entry in owned} == {SHARED}


def test_a_name_that_is_there_twice_is_refused(cluster: Cluster, resource: Resource) -> None:
    assert "a name is there twice" in failing(resource, several(cluster, (ORDERS, ()), (ORDERS, ())))
    assert "further: not a step" in failing(resource, cluster.wanted() | {"further": [{"name": "x"}]})
