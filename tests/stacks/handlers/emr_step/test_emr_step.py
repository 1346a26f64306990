"""How steps are added, stopped, replaced and renamed, and the message when one fails."""

import json
from typing import Any
from unittest.mock import patch

import pytest

from stacks.handlers import emr_step, framework
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, Waiter, World, failing
from tests.stacks.handlers.emr_step.cluster import BUCKET, NAME, Cluster


@pytest.fixture
def cluster(emr: Cluster) -> Cluster:
    return emr


@pytest.fixture
def resource(world: World, cluster: Cluster) -> Stack:  # noqa: ARG001  without it there is no step
    return Stack(world, emr_step)


def test_create_adds_a_step_and_waits_until_it_has_run_for_a_while(cluster: Cluster, resource: Stack) -> None:
    began = resource.world.clock()
    data = resource.create(cluster.wanted("--continuous"))
    [step] = cluster.steps
    assert resource.physical_id == NAME
    assert data == {"StepId": step.id, "StepName": step.name}
    assert step.name.startswith(f"{NAME}-")
    assert step.action_on_failure == "CONTINUE"
    assert step.jar == "command-runner.jar"
    stop_file = f"stop.file=s3://{BUCKET}/stop/{step.name}"
    assert step.args == ["spark-submit", "streamer.py", "--continuous", "--hoodie-conf", stop_file]
    assert resource.world.clock() - began >= emr_step.SETTLED_SECONDS
    assert cluster.stop_files() == set()


def test_a_step_that_ends_by_itself_is_a_failure_too(cluster: Cluster, resource: Stack) -> None:
    waiting = _begun(cluster, resource)
    cluster.steps[0].state = "COMPLETED"
    with pytest.raises(DeploymentError, match="is COMPLETED: no reason given"):
        waiting.poll()


def test_a_step_that_never_starts_ends_with_the_reason(
    cluster: Cluster, resource: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "120")
    cluster.starting = False
    waiting = _begun(cluster, resource)
    cluster.steps[0].state = "PENDING"
    with pytest.raises(DeploymentError, match=r"gave up waiting: step .* to run; it is PENDING"):
        resource.finish(waiting)


def test_a_step_that_was_added_twice_is_done_when_one_is_left(cluster: Cluster, resource: Stack) -> None:
    waiting = _begun(cluster, resource)
    twin = {"Name": cluster.steps[0].name, "HadoopJarStep": {"Jar": "command-runner.jar", "Args": ["twin"]}}
    client("emr").add_job_flow_steps(JobFlowId=cluster.id, Steps=[twin])
    for _ in range(8):
        assert waiting.poll() is None
        cluster.tick()
        resource.world.clock.seconds += emr_step.SETTLED_SECONDS
    # The table takes one job, so the other one ends first.
    cluster.failing = "twin"
    data = resource.finish(waiting)
    assert cluster.states() == ["RUNNING", "FAILED"]
    assert data["StepId"] == cluster.steps[0].id


def _begun(cluster: Cluster, resource: Stack) -> Waiter:
    waiting = resource.begin_create(cluster.wanted())
    assert waiting.poll() is None
    return waiting


def test_a_change_stops_the_running_step_before_it_adds_one(cluster: Cluster, resource: Stack) -> None:
    old = resource.create(cluster.wanted("--op", "UPSERT"))
    cluster.obedient = False
    waiting = resource.begin_update(cluster.wanted("--op", "INSERT"))
    for _ in range(5):
        assert waiting.poll() is None
        cluster.tick()
    assert len(cluster.steps) == 1
    assert cluster.stop_files() == {f"stop/{old['StepName']}"}
    cluster.obedient = True
    new = resource.finish(waiting)
    assert cluster.states() == ["COMPLETED", "RUNNING"]
    assert cluster.cancelled == []
    assert new["StepId"] != old["StepId"]
    assert resource.deleted == []


def test_a_step_that_fails_brings_its_reason_and_the_old_one_back(cluster: Cluster, resource: Stack) -> None:
    old = resource.create(cluster.wanted("--op", "UPSERT"))
    cluster.failing = "NONSENSE"
    reason = failing(resource.update, cluster.wanted("--op", "NONSENSE"))
    assert "is FAILED: Unknown Error.; exit code 1; log: s3://logs/emr/steps/stderr.gz" in reason
    assert cluster.states() == ["COMPLETED", "FAILED", "RUNNING"]
    assert cluster.steps[2].args[:-1] == cluster.steps[0].args[:-1]
    assert resource.data["StepId"] == cluster.steps[2].id != old["StepId"]


def test_a_step_that_was_told_to_stop_is_never_taken_for_the_wanted_one(cluster: Cluster, resource: Stack) -> None:
    """CloudFormation rolls back while the old step has still to end: it would end after the rollback."""
    old = resource.create(cluster.wanted("--op", "UPSERT"))
    cluster.obedient = False
    before = resource.properties
    resource.begin_update(cluster.wanted("--op", "INSERT")).poll()
    waiting = resource.begin_rollback(before)
    assert waiting.poll() is None
    assert cluster.states() == ["RUNNING"]
    cluster.obedient = True
    again = resource.finish(waiting)
    assert cluster.states() == ["COMPLETED", "RUNNING"]
    assert again["StepId"] != old["StepId"]
    assert cluster.steps[1].args[:-1] == cluster.steps[0].args[:-1]


def test_a_new_cluster_gets_the_step_once_the_old_one_has_lost_it(cluster: Cluster, resource: Stack) -> None:
    resource.create(cluster.wanted())
    new = cluster.another()
    cluster.obedient = False
    waiting = resource.begin_update(new.wanted())
    assert waiting.poll() is None
    assert (cluster.states(), new.states()) == (["RUNNING"], [])
    cluster.obedient = True
    cluster.tick()
    resource.world.tick = new.tick
    resource.finish(waiting)
    assert (cluster.states(), new.states()) == (["COMPLETED"], ["RUNNING"])
    assert resource.physical_id == NAME
    resource.delete()
    assert new.states() == ["COMPLETED"]


@pytest.mark.parametrize("state", ["TERMINATED", "TERMINATED_WITH_ERRORS"])
def test_a_cluster_that_is_gone_holds_nothing_up(cluster: Cluster, resource: Stack, state: str) -> None:
    resource.create(cluster.wanted())
    new = cluster.another()
    cluster.end(state)
    resource.world.tick = new.tick
    resource.update(new.wanted())
    assert new.states() == ["RUNNING"]
    assert cluster.cancelled == []


def test_a_job_that_does_not_look_is_interrupted_and_killed_in_the_end(
    cluster: Cluster, resource: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emr_step, "INTERRUPT_SECONDS", 90)
    monkeypatch.setattr(emr_step, "KILL_SECONDS", 180)
    old = resource.create(cluster.wanted("--op", "UPSERT"))["StepId"]
    cluster.obedient = cluster.interruptible = False
    began = resource.world.clock()
    resource.update(cluster.wanted("--op", "INSERT"))
    options = [option for _, option in cluster.cancelled]
    assert set(cluster.cancelled) == {(old, "SEND_INTERRUPT"), (old, "TERMINATE_PROCESS")}
    assert options == sorted(options)
    assert options.count("TERMINATE_PROCESS") == 1
    assert resource.world.clock() - began >= emr_step.KILL_SECONDS + emr_step.SETTLED_SECONDS
    assert cluster.states() == ["CANCELLED", "RUNNING"]


def test_a_step_that_has_not_started_is_cancelled_at_once(cluster: Cluster, resource: Stack) -> None:
    cluster.starting = False
    resource.begin_create(cluster.wanted()).poll()
    [step] = cluster.steps
    step.state = "PENDING"
    resource.physical_id = NAME
    began = resource.world.clock()
    resource.delete()
    assert cluster.cancelled == [(step.id, "SEND_INTERRUPT")]
    assert resource.world.clock() - began < emr_step.INTERRUPT_SECONDS


def test_delete_without_a_cluster_succeeds(cluster: Cluster, resource: Stack) -> None:
    resource.create(cluster.wanted())
    cluster.end()
    resource.delete()
    resource.properties = {"Request": json.dumps(cluster.wanted() | {"clusterId": "j-UNKNOWN"})}
    resource.delete()
    assert cluster.states() == ["RUNNING"]


def test_tables_do_not_get_into_each_others_way(cluster: Cluster, resource: Stack) -> None:
    other = Stack(resource.world, emr_step, "Other")
    resource.create(cluster.wanted(name="dev-cdc-lake-cdc"))
    other.create(cluster.wanted(name=NAME))
    resource.update(cluster.wanted("--changed", name="dev-cdc-lake-cdc"))
    assert cluster.states() == ["COMPLETED", "RUNNING", "RUNNING"]
    resource.delete()
    assert [step.name.startswith(NAME) for step in cluster.steps if step.state == "RUNNING"] == [True]


def test_what_another_user_runs_there_is_left_alone(cluster: Cluster, resource: Stack) -> None:
    step = {"Name": f"{NAME}-by-hand", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": ["a", "b"]}}
    client("emr").add_job_flow_steps(JobFlowId=cluster.id, Steps=[step])
    resource.create(cluster.wanted())
    resource.delete()
    assert cluster.states() == ["RUNNING", "COMPLETED"]


def test_botocore_never_repeats_the_addition_of_a_step(resource: Stack, cluster: Cluster) -> None:
    with patch.object(framework, "client", wraps=framework.client) as made:
        resource.create(cluster.wanted())
    [config] = [call.args[1] for call in made.call_args_list if call.args[1:]]
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


def test_a_name_that_is_there_twice_is_refused(cluster: Cluster, resource: Stack) -> None:
    assert "a name is there twice" in failing(resource.create, several(cluster, (ORDERS, ()), (ORDERS, ())))
    assert "further: not a step" in failing(resource.create, cluster.wanted() | {"further": [{"name": "x"}]})


def test_a_step_that_a_rollback_has_taken_is_not_stopped(
    cluster: Cluster, resource: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = resource.create(cluster.wanted("--op", "UPSERT"))
    before, real, rollbacks = resource.properties, emr_step.Job.mine_and_others, list[Waiter]()

    def slow(job: emr_step.Job) -> Any:
        found = real(job)
        if not rollbacks:
            rollbacks.append(resource.begin_rollback(before))
            rollbacks[0].poll()
        return found

    monkeypatch.setattr(emr_step.Job, "mine_and_others", slow)
    with pytest.raises(DeploymentError, match="a later request has taken over"):
        resource.begin_update(cluster.wanted("--op", "INSERT")).poll()
    assert (resource.finish(rollbacks[0]), cluster.stop_files()) == (old, set())
