"""Steps of renamed resources, several steps, and the one call that must not be repeated."""

from typing import Any

import pytest

from stacks.handlers import emr_step
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import Stack, failing
from tests.stacks.handlers.emr_step.cluster import BUCKET, NAME, Cluster


def test_botocore_never_repeats_the_addition_of_a_step(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def recorded(service: str, config: Any = None) -> Any:
        asked.append((service, config))
        return client(service)

    monkeypatch.setattr(emr_step, "client", recorded)
    emr_step.Steps(cluster.wanted()).add("name")
    service, config = asked[-1]
    assert service == "emr"
    assert config.retries == {"mode": "standard", "total_max_attempts": 1}


def test_a_rename_that_is_rolled_back_leaves_the_job_as_the_first_wants_it(cluster: Cluster, resource: Stack) -> None:
    renamed = resource.renamed()
    resource.create(cluster.wanted("--op", "UPSERT"))
    renamed.create(cluster.wanted("--op", "INSERT"))
    renamed.delete()
    cluster.tick()
    assert cluster.states() == ["COMPLETED", "COMPLETED", "RUNNING"]
    assert cluster.steps[2].args[:-1] == cluster.steps[0].args[:-1]
    resource.delete()
    assert cluster.states()[2] == "COMPLETED"


def test_one_that_never_wanted_the_job_leaves_it_alone(cluster: Cluster, resource: Stack) -> None:
    renamed = resource.renamed()
    resource.create(cluster.wanted())
    renamed.properties, renamed.physical_id = resource.properties, NAME
    renamed.delete()
    assert cluster.states() == ["RUNNING"]
    assert resource.update(cluster.wanted("--op", "INSERT"))["StepId"] == cluster.steps[1].id


def test_a_rename_with_its_cluster_gone_holds_nothing_up(cluster: Cluster, resource: Stack) -> None:
    renamed = resource.renamed()
    resource.create(cluster.wanted("--op", "UPSERT"))
    renamed.create(cluster.wanted("--op", "INSERT"))
    cluster.end()
    renamed.delete()
    resource.delete()
    assert len(cluster.steps) == 2


def several(cluster: Cluster, *jobs: tuple[str, tuple[str, ...]]) -> dict[str, Any]:
    """A request of several steps, each with its name and arguments."""
    (name, arguments), *further = jobs
    others = [cluster.wanted(*options, name=other) for other, options in further]
    steps = [{"name": other["name"], "arguments": other["arguments"]} for other in others]
    return cluster.wanted(*arguments, name=name) | {"further": steps}


SHARED, ORDERS, ITEMS = "dev-cdc-lake-tables", "dev-cdc-lake-shop_orders", "dev-cdc-lake-shop_items"


def running(cluster: Cluster) -> set[str]:
    return {step.name.rsplit("-", 2)[0] for step in cluster.steps if step.state == "RUNNING"}


def test_several_steps_are_one_resource(cluster: Cluster, resource: Stack) -> None:
    resource.create(several(cluster, (ORDERS, ()), (ITEMS, ())))
    assert running(cluster) == {ORDERS, ITEMS}
    resource.update(several(cluster, (ORDERS, ()), (ITEMS, ("--changed",))))
    assert cluster.states() == ["RUNNING", "COMPLETED", "RUNNING"]
    resource.delete()
    assert running(cluster) == set()


def test_tables_go_from_one_step_to_one_each_and_back_without_two_at_once(cluster: Cluster, resource: Stack) -> None:
    resource.create(cluster.wanted(name=SHARED))
    cluster.obedient = False
    begun = resource.physical_id
    waiting = resource.begin_update(several(cluster, (ORDERS, ()), (ITEMS, ())))
    for _ in range(3):
        assert waiting.poll() is None
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


def test_a_step_that_a_rollback_brings_back_runs_again(cluster: Cluster, resource: Stack) -> None:
    resource.create(cluster.wanted(name=SHARED))
    cluster.failing = "--broken"
    wanted = several(cluster, (ORDERS, ()), (ITEMS, ("--broken",)))
    assert "exit code 1" in failing(resource.update, wanted)
    assert running(cluster) == {SHARED}


def test_what_the_request_before_owned_is_nobodys_afterwards(cluster: Cluster, resource: Stack) -> None:
    resource.create(several(cluster, (ORDERS, ()), (ITEMS, ())))
    resource.update(cluster.wanted(name=SHARED))
    owned = client("s3").list_objects_v2(Bucket=BUCKET, Prefix="stop/owners/")["Contents"]
    assert {entry["Key"].split("/")[2] for entry in owned} == {SHARED}


def test_a_name_that_is_there_twice_is_refused(cluster: Cluster, resource: Stack) -> None:
    assert "a name is there twice" in failing(resource.create, several(cluster, (ORDERS, ()), (ORDERS, ())))
    assert "further: not a step" in failing(resource.create, cluster.wanted() | {"further": [{"name": "x"}]})
