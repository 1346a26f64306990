"""A step is added once, waited for until it has run for a while, and gone when that fails."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from stacks.handlers import emr_step, emr_steps
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.deployment import DeploymentError, Resource, failing
from tests.stacks.handlers.emr_step.cluster import BUCKET, NAME, Cluster, stop_files


def test_create_adds_a_step_and_waits_until_it_has_run_for_a_while(cluster: Cluster, resource: Resource) -> None:
    began = resource.clock()
    data = resource.create(cluster.wanted("--continuous"))
    [step] = cluster.steps
    assert resource.physical_id == NAME
    assert data == {"StepId": step.id, "StepName": step.name}
    assert step.name.startswith(f"{NAME}-")
    assert step.action_on_failure == "CONTINUE"
    assert step.jar == "command-runner.jar"
    stop_file = f"stop.file=s3://{BUCKET}/stop/{step.name}"
    assert step.args == ["spark-submit", "streamer.py", "--continuous", "--hoodie-conf", stop_file]
    assert resource.clock() - began >= emr_step.SETTLED_SECONDS
    assert stop_files() == set()


def test_a_failed_creation_leaves_nothing(cluster: Cluster, resource: Resource) -> None:
    cluster.failing = "NONSENSE"
    with pytest.raises(DeploymentError, match="is FAILED"):
        resource.create(cluster.wanted("NONSENSE"))
    assert cluster.states() == ["FAILED"]
    assert resource.attempts == [NAME]


def test_a_step_that_ends_by_itself_is_a_failure_too(cluster: Cluster, resource: Resource) -> None:
    waiting = _begun(cluster, resource)
    cluster.steps[0].state = "COMPLETED"
    with pytest.raises(DeploymentError, match="is COMPLETED: no reason given"):
        resource.poll(waiting)


def test_a_step_that_never_starts_ends_with_the_reason(
    cluster: Cluster, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "120")
    cluster.starting = False
    waiting = _begun(cluster, resource)
    cluster.steps[0].state = "PENDING"
    with pytest.raises(DeploymentError, match=r"gave up waiting: step .* to run; it is PENDING"):
        resource.finish(waiting)


def test_throttling_is_waited_out(cluster: Cluster, resource: Resource, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = _begun(cluster, resource)
    error = ClientError({"Error": {"Code": "ThrottlingException"}}, "ListSteps")

    def throttled(*_: Any) -> Any:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(emr_steps.Steps, "all", throttled)
        assert resource.poll(waiting) is None
    resource.finish(waiting)
    assert cluster.states() == ["RUNNING"]


def test_a_step_that_was_added_twice_is_done_when_one_is_left(cluster: Cluster, resource: Resource) -> None:
    waiting = _begun(cluster, resource)
    twin = {"Name": cluster.steps[0].name, "HadoopJarStep": {"Jar": "command-runner.jar", "Args": ["twin"]}}
    client("emr").add_job_flow_steps(JobFlowId=cluster.id, Steps=[twin])
    for _ in range(8):
        assert resource.poll(waiting) is None
        cluster.tick()
        resource.clock.seconds += emr_step.SETTLED_SECONDS
    # The table takes one job, and the other one ends for it.
    cluster.failing = "twin"
    data = resource.finish(waiting)
    assert cluster.states() == ["RUNNING", "FAILED"]
    assert data["StepId"] == cluster.steps[0].id


def _begun(cluster: Cluster, resource: Resource) -> dict[str, Any]:
    resource.properties = {"Request": json.dumps(cluster.wanted())}
    waiting = resource.begin(resource.event("Create"))
    assert resource.poll(waiting) is None
    return waiting


def test_a_refused_request_names_what_is_wrong_and_needs_no_clean_up(cluster: Cluster, resource: Resource) -> None:
    wrong = cluster.wanted() | {"arguments": "spark-submit"}
    assert failing(resource, wrong) == "Request: arguments must be of type list"
    resource.properties, resource.physical_id = {"Request": json.dumps(wrong)}, NAME
    resource.delete()
    assert cluster.steps == []
