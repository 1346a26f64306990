"""Requests that come twice, are cancelled, rename the resource or ask for several steps."""

import json
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from stacks.handlers import emr_step, emr_steps
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.deployment import DeploymentError, Resource, failing
from tests.stacks.handlers.emr_step.cluster import BUCKET, NAME, Cluster, stop_files


def test_a_delivery_that_comes_twice_finds_the_step_of_the_first(cluster: Cluster, resource: Resource) -> None:
    resource.properties = {"Request": json.dumps(cluster.wanted())}
    event = resource.event("Create")
    first, second = resource.begin(event), resource.begin(event)
    for _ in range(2):
        resource.poll(first)
        resource.poll(second)
        cluster.tick()
    assert len(cluster.steps) == 1
    assert resource.finish(first) == resource.finish(second)


def test_a_step_whose_answer_was_lost_is_found_and_not_added_again(cluster: Cluster, resource: Resource) -> None:
    events, lost = client("emr").meta.events, [ReadTimeoutError(endpoint_url="https://emr")]

    def lose(**_: Any) -> None:
        if lost:
            raise lost.pop()

    resource.properties = {"Request": json.dumps(cluster.wanted())}
    waiting = resource.begin(resource.event("Create"))
    events.register("after-call.emr.AddJobFlowSteps", lose)
    try:
        data = resource.finish(waiting)
    finally:
        events.unregister("after-call.emr.AddJobFlowSteps", lose)
    assert lost == []
    assert [step.id for step in cluster.steps] == [data["StepId"]]


def test_botocore_never_repeats_the_addition_of_a_step(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def recorded(service: str, config: Any = None) -> Any:
        asked.append((service, config))
        return client(service)

    monkeypatch.setattr(emr_steps, "client", recorded)
    emr_steps.Steps(cluster.wanted()).add("name")
    service, config = asked[-1]
    assert service == "emr"
    assert config.retries == {"mode": "standard", "total_max_attempts": 1}


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
