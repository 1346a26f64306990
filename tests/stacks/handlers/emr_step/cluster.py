"""An EMR cluster on moto's EMR and S3.

moto has no CancelSteps, its steps neither start nor end, and never report a failure's reason: `Cluster` adds all three.
botocore checks requests and answers against its model.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.validate import ParamValidator
from moto.emr.models import emr_backends

from contract.lake import STOP_FILE
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.cloudformation import Clock
from tests.stacks.handlers.provider_framework import EARLY_DEATH, LOST, SLOW, LambdaDeathError, Later

# moto's only one.
ACCOUNT = "123456789012"
BUCKET = "artefacts"
NAME = "dev-cdc-lake-cdc_events"
FAILED = {"Reason": "Unknown Error.", "Message": "exit code 1", "LogFile": "s3://logs/emr/steps/stderr.gz"}
THROTTLED = ClientError({"Error": {"Code": "ThrottlingException"}}, "Any")


@dataclass
class Cluster:
    """An EMR cluster whose steps start, check for their stop file if `obedient`, and can be cancelled."""

    clock: Clock
    obedient: bool = True
    interruptible: bool = True
    starting: bool = True
    # Steps with this among their arguments fail.
    failing: str | None = None
    cancelled: list[tuple[str, str]] = field(default_factory=list)
    throttled_until: float = 0.0
    # The outcome of the next AddJobFlowSteps.
    fault: str = ""
    later: Later = field(default_factory=Later)
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
        """Let the steps progress."""
        self.later.tick()
        told = keys("stop/")
        for step in self.steps:
            if self.starting and step.state in ("PENDING", "RUNNING") and step.start_date_time is None:
                step.state, step.start_date_time = "RUNNING", datetime.fromtimestamp(self.clock(), UTC)
            elif step.state == "RUNNING" and self.failing in step.args:
                step.state = "FAILED"
            elif step.state == "RUNNING" and self.obedient and f"stop/{step.name}" in told:
                step.state = "COMPLETED"

    def end(self, state: str = "TERMINATED") -> None:
        self.model.clusters[self.id].state = state

    def wanted(self, *arguments: str, name: str = NAME) -> dict[str, Any]:
        command = ["spark-submit", "streamer.py", *arguments, "--hoodie-conf", f"stop.file={STOP_FILE}"]
        place = {"stopBucket": BUCKET, "stopPrefix": "stop/"}
        return {"clusterId": self.id, "name": name, "arguments": command, **place}

    def cancel(self, params: dict[str, Any], model: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
        """CancelSteps: its effect and answer."""
        wanted: dict[str, Any] = json.loads(params["body"])
        for step in self.steps:
            if step.id in wanted["StepIds"]:
                self.cancelled.append((step.id, wanted["StepCancellationOption"]))
                if self.interruptible or wanted["StepCancellationOption"] == "TERMINATE_PROCESS":
                    step.state = "CANCELLED"
        answer = {"CancelStepsInfoList": [{"StepId": id_, "Status": "SUBMITTED"} for id_ in wanted["StepIds"]]}
        _check(answer, model.output_shape)
        return type("Response", (), {"status_code": 200}), answer

    def explain(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        """Add failed steps' reasons to ListSteps' answers."""
        for step in parsed["Steps"]:
            if step["Status"]["State"] == "FAILED":
                step["Status"]["FailureDetails"] = FAILED
        _check(FAILED, model.output_shape.members["Steps"].member.members["Status"].members["FailureDetails"])

    def throttle(self, **_: Any) -> None:
        if self.clock() < self.throttled_until:
            raise THROTTLED

    def fail_before(self, params: dict[str, Any], **_: Any) -> None:
        if self.fault == SLOW:
            request: dict[str, Any] = json.loads(params["body"])
            self.later.add(lambda: client("emr").add_job_flow_steps(**request))
        if self.fault in (EARLY_DEATH, SLOW):
            raise self._end_of_call()

    def fail_after(self, **_: Any) -> None:
        if self.fault:
            raise self._end_of_call()

    def _end_of_call(self) -> BaseException:
        fault, self.fault = self.fault, ""
        return ReadTimeoutError(endpoint_url="https://emr") if fault == LOST else LambdaDeathError()


def _check(value: Any, shape: Any) -> None:
    report = ParamValidator().validate(value, shape)
    assert not report.has_errors(), report.generate_report()


@contextlib.contextmanager
def running_cluster(clock: Clock) -> Iterator[Cluster]:
    """A cluster, and the bucket of its stop files; moto is running."""
    location = {"LocationConstraint": CREDENTIALS["region_name"]}
    client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration=location)
    cluster, events = Cluster(clock), client("emr").meta.events
    handlers = [
        ("before-call.emr", cluster.throttle),
        ("before-call.emr.AddJobFlowSteps", cluster.fail_before),
        ("after-call.emr.AddJobFlowSteps", cluster.fail_after),
        ("before-call.emr.CancelSteps", cluster.cancel),
        ("after-call.emr.ListSteps", cluster.explain),
    ]
    for name, handler in handlers:
        events.register(name, handler)
    yield cluster
    for name, handler in handlers:
        events.unregister(name, handler)


def keys(prefix: str) -> set[str]:
    """Keys of the bucket's objects with this prefix."""
    listed = client("s3").list_objects_v2(Bucket=BUCKET, Prefix=prefix)
    return {entry["Key"] for entry in listed.get("Contents", [])}


def stop_files() -> set[str]:
    return {key for key in keys("stop/") if key.count("/") == 1}
