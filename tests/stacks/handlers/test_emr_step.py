"""The EMR step's life cycle, on moto's EMR and S3.

moto has no CancelSteps, and its steps neither start nor end: `Cluster` adds both. botocore checks the requests against
its model before they get there; the answers are checked here.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.validate import ParamValidator
from moto import mock_aws
from moto.emr.models import emr_backends

from contract.stop_file import TOKEN
from stacks.handlers import emr_step, emr_steps, framework
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.deployment import Clock, DeploymentError, Resource, failing
from tests.stacks.handlers.journal_store import MemoryStore

# moto's only one.
ACCOUNT = "123456789012"
BUCKET = "artefacts"
NAME = "dev-cdc-lake-cdc_events"
FAILED = {"Reason": "Unknown Error.", "Message": "exit code 1", "LogFile": "s3://logs/emr/steps/stderr.gz"}


@dataclass
class Cluster:
    """An EMR cluster whose steps start, look for their stop file when they are `obedient`, and can be cancelled."""

    clock: Clock
    obedient: bool = True
    interruptible: bool = True
    starting: bool = True
    # Steps with this among their arguments fail.
    failing: str | None = None
    cancelled: list[tuple[str, str]] = field(default_factory=list)
    id: str = ""

    def __post_init__(self) -> None:
        instances = {"MasterInstanceType": "m5.xlarge", "InstanceCount": 1, "KeepJobFlowAliveWhenNoSteps": True}
        started = client("emr").run_job_flow(
            Name="dev-cdc-lake", ReleaseLabel="emr-7.10.0", Instances=instances, JobFlowRole="r", ServiceRole="s"
        )
        self.id = started["JobFlowId"]

    @property
    def model(self) -> Any:
        return emr_backends[ACCOUNT][CREDENTIALS["region_name"]]

    @property
    def steps(self) -> list[Any]:
        return list(self.model.clusters[self.id].steps)

    def states(self) -> list[str]:
        return [step.state for step in self.steps]

    def tick(self) -> None:
        """Let the steps get on."""
        stop_files = {found["Key"] for found in client("s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])}
        for step in self.steps:
            if self.starting and step.state in ("PENDING", "RUNNING") and step.start_date_time is None:
                step.state, step.start_date_time = "RUNNING", datetime.fromtimestamp(self.clock(), UTC)
            elif step.state == "RUNNING" and self.failing in step.args:
                step.state = "FAILED"
            elif step.state == "RUNNING" and self.obedient and f"stop/{step.name}" in stop_files:
                step.state = "COMPLETED"

    def cancel(self, params: dict[str, Any]) -> dict[str, Any]:
        for step in self.steps:
            if step.id in params["StepIds"]:
                self.cancelled.append((step.id, params["StepCancellationOption"]))
                if self.interruptible or params["StepCancellationOption"] == "TERMINATE_PROCESS":
                    step.state = "CANCELLED"
        return {"CancelStepsInfoList": [{"StepId": id_, "Status": "SUBMITTED"} for id_ in params["StepIds"]]}

    def end(self, state: str = "TERMINATED") -> None:
        self.model.clusters[self.id].state = state

    def wanted(self, *arguments: str, name: str = NAME) -> dict[str, Any]:
        command = ["spark-submit", "streamer.py", *arguments, "--hoodie-conf", f"stop.file={TOKEN}"]
        place = {"stopBucket": BUCKET, "stopPrefix": "stop/"}
        return {"clusterId": self.id, "name": name, "arguments": command, **place}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    # moto's S3 has the real time.
    clock = Clock(time.time())
    monkeypatch.setattr(framework, "now", clock)
    return clock


@pytest.fixture
def cluster(clock: Clock, records: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:  # noqa: ARG001
    monkeypatch.setattr(emr_steps, "client", lambda service, _config=None: client(service))
    events = client("emr").meta.events
    with mock_aws():
        client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": CREDENTIALS["region_name"]}
        )
        cluster = Cluster(clock)

        def cancel(params: Any, model: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
            answer = cluster.cancel(json_of(params))
            report = ParamValidator().validate(answer, model.output_shape)
            assert not report.has_errors(), report.generate_report()
            return type("Response", (), {"status_code": 200}), answer

        def explain(parsed: dict[str, Any], model: Any, **_: Any) -> None:
            for step in parsed["Steps"]:
                if step["Status"]["State"] == "FAILED":
                    step["Status"]["FailureDetails"] = FAILED
            shape = model.output_shape.members["Steps"].member.members["Status"].members["FailureDetails"]
            assert not ParamValidator().validate(FAILED, shape).has_errors()

        events.register("before-call.emr.CancelSteps", cancel)
        events.register("after-call.emr.ListSteps", explain)
        yield cluster
        events.unregister("before-call.emr.CancelSteps", cancel)
        events.unregister("after-call.emr.ListSteps", explain)


def json_of(request: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(request["body"])
    return body


@pytest.fixture
def resource(cluster: Cluster, clock: Clock) -> Resource:
    return Resource(handler=emr_step, clock=clock, tick=cluster.tick)


def stop_files() -> set[str]:
    keys = {found["Key"] for found in client("s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])}
    return {key for key in keys if key.count("/") == 1}


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


def test_a_refused_request_names_what_is_wrong_and_needs_no_clean_up(cluster: Cluster, resource: Resource) -> None:
    wrong = cluster.wanted() | {"arguments": "spark-submit"}
    assert failing(resource, wrong) == "Request: arguments must be of type list"
    resource.properties, resource.physical_id = {"Request": json.dumps(wrong)}, NAME
    resource.delete()
    assert cluster.steps == []


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


def test_a_step_that_never_starts_ends_with_the_reason(
    cluster: Cluster, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "120")
    cluster.starting = False
    waiting = _begun(cluster, resource)
    cluster.steps[0].state = "PENDING"
    with pytest.raises(DeploymentError, match=r"gave up waiting: step .* to run; it is PENDING"):
        resource.finish(waiting)


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
