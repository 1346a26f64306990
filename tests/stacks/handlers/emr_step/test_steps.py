"""How a step is added, stopped and replaced, and the message when one fails."""

import json
import time

import pytest

from stacks.handlers import emr_step
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, Waiter, failing
from tests.stacks.handlers.emr_step.cluster import BUCKET, NAME, Cluster, stop_files


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
    assert stop_files() == set()


def test_a_failed_creation_leaves_nothing(cluster: Cluster, resource: Stack) -> None:
    cluster.failing = "NONSENSE"
    with pytest.raises(DeploymentError, match="is FAILED"):
        resource.create(cluster.wanted("NONSENSE"))
    assert cluster.states() == ["FAILED"]
    assert resource.deleted == [NAME]


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
    assert stop_files() == {f"stop/{old['StepName']}"}
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
    new = Cluster(resource.world.clock)
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


@pytest.mark.parametrize("state", ["TERMINATED", "TERMINATED_WITH_ERRORS"])
def test_a_cluster_that_is_gone_holds_nothing_up(cluster: Cluster, resource: Stack, state: str) -> None:
    resource.create(cluster.wanted())
    new = Cluster(resource.world.clock)
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
    # From here on, moto's time (the stop file's) and the handler's advance together.
    began = resource.world.clock.seconds = time.time()
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


def test_the_job_ends_itself_and_the_next_cluster_runs_the_same(cluster: Cluster, resource: Stack) -> None:
    first = resource.create(cluster.wanted("--op", "UPSERT"))
    resource.delete()
    # Neither cancelled nor killed: it ended after its commit.
    assert (cluster.states(), cluster.cancelled) == (["COMPLETED"], [])
    cluster.end()
    after = Cluster(resource.world.clock)
    resource.world.tick = after.tick
    second = resource.create(after.wanted("--op", "UPSERT"))
    assert after.states() == ["RUNNING"]
    [step] = after.steps
    # The earlier stop file belongs to another step.
    assert second["StepName"] == step.name != first["StepName"]
    assert step.args[:-1] == cluster.steps[0].args[:-1]


def test_a_job_whose_cluster_somebody_has_terminated_pauses_and_comes_back(cluster: Cluster, resource: Stack) -> None:
    resource.create(cluster.wanted())
    cluster.end("TERMINATED_WITH_ERRORS")
    resource.delete()
    after = Cluster(resource.world.clock)
    resource.world.tick = after.tick
    resource.create(after.wanted())
    assert after.states() == ["RUNNING"]
