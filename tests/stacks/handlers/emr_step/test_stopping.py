"""How a step is stopped: by its file, then by an interrupt, in the end by force; and no other step than its own."""

import json
import time

import pytest

from stacks.handlers import emr_step, emr_steps
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.deployment import Resource
from tests.stacks.handlers.emr_step.cluster import NAME, Cluster


def test_a_job_that_does_not_look_is_interrupted_and_killed_in_the_end(
    cluster: Cluster, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emr_steps, "INTERRUPT_SECONDS", 90)
    monkeypatch.setattr(emr_steps, "KILL_SECONDS", 180)
    old = resource.create(cluster.wanted("--op", "UPSERT"))["StepId"]
    cluster.obedient = cluster.interruptible = False
    # From here on moto's time, which the stop file has, and the handler's run together.
    began = resource.clock.seconds = time.time()
    resource.update(cluster.wanted("--op", "INSERT"))
    options = [option for _, option in cluster.cancelled]
    assert set(cluster.cancelled) == {(old, "SEND_INTERRUPT"), (old, "TERMINATE_PROCESS")}
    assert options == sorted(options)
    assert options.count("TERMINATE_PROCESS") == 1
    assert resource.clock() - began >= emr_steps.KILL_SECONDS + emr_step.SETTLED_SECONDS
    assert cluster.states() == ["CANCELLED", "RUNNING"]


def test_a_step_that_has_not_started_is_cancelled_at_once(cluster: Cluster, resource: Resource) -> None:
    cluster.starting = False
    resource.properties = {"Request": json.dumps(cluster.wanted())}
    resource.poll(resource.begin(resource.event("Create")))
    [step] = cluster.steps
    step.state = "PENDING"
    resource.physical_id = NAME
    began = resource.clock()
    resource.delete()
    assert cluster.cancelled == [(step.id, "SEND_INTERRUPT")]
    assert resource.clock() - began < emr_steps.INTERRUPT_SECONDS


def test_delete_stops_the_step_and_can_be_repeated(cluster: Cluster, resource: Resource) -> None:
    resource.create(cluster.wanted())
    resource.delete()
    assert cluster.states() == ["COMPLETED"]
    resource.delete()
    assert len(cluster.steps) == 1


def test_delete_without_a_cluster_succeeds(cluster: Cluster, resource: Resource) -> None:
    resource.create(cluster.wanted())
    cluster.end()
    resource.delete()
    resource.properties = {"Request": json.dumps(cluster.wanted() | {"clusterId": "j-UNKNOWN"})}
    resource.delete()
    assert cluster.states() == ["RUNNING"]


def test_tables_do_not_get_into_each_others_way(cluster: Cluster, resource: Resource) -> None:
    other = Resource(handler=emr_step, clock=resource.clock, tick=cluster.tick)
    resource.create(cluster.wanted(name="dev-cdc-lake-cdc"))
    other.create(cluster.wanted(name=NAME))
    resource.update(cluster.wanted("--changed", name="dev-cdc-lake-cdc"))
    assert cluster.states() == ["COMPLETED", "RUNNING", "RUNNING"]
    resource.delete()
    assert [step.name.startswith(NAME) for step in cluster.steps if step.state == "RUNNING"] == [True]


def test_what_another_user_runs_there_is_left_alone(cluster: Cluster, resource: Resource) -> None:
    step = {"Name": f"{NAME}-by-hand", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": ["a", "b"]}}
    client("emr").add_job_flow_steps(JobFlowId=cluster.id, Steps=[step])
    resource.create(cluster.wanted())
    resource.delete()
    assert cluster.states() == ["RUNNING", "COMPLETED"]
