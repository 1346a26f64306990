"""An EMR cluster on moto's EMR and S3.

moto has no CancelSteps, and its steps neither start nor end: `Cluster` adds both. botocore checks the requests against
its model before they get there.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from moto.emr.models import emr_backends

from contract.lake import STOP_FILE
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.deployment import Clock

# moto's only one.
ACCOUNT = "123456789012"
BUCKET = "artefacts"
NAME = "dev-cdc-lake-cdc_events"


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
        command = ["spark-submit", "streamer.py", *arguments, "--hoodie-conf", f"stop.file={STOP_FILE}"]
        place = {"stopBucket": BUCKET, "stopPrefix": "stop/"}
        return {"clusterId": self.id, "name": name, "arguments": command, **place}


def stop_files() -> set[str]:
    keys = {found["Key"] for found in client("s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])}
    return {key for key in keys if key.count("/") == 1}
