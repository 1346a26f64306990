"""EMR and the bucket of its jobs' stop files, in memory; moto's steps neither start nor end, nor can be cancelled."""

import io
import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from contract.lake import STOP_FILE
from tests.stacks.handlers.cloudformation import Clock
from tests.stacks.handlers.stand_in import RefusalError, StandIn

BUCKET = "artefacts"
NAME = "dev-cdc-lake-cdc_events"
FAILED = {"Reason": "Unknown Error.", "Message": "exit code 1", "LogFile": "s3://logs/emr/steps/stderr.gz"}


@dataclass
class Step:
    """A step of a cluster."""

    id: str
    name: str
    args: list[str]
    jar: str
    action_on_failure: str
    state: str = "PENDING"
    began: datetime | None = None


class Emr(StandIn):
    """An account's clusters, by id, and the bucket's objects, by key, with the times of their writes."""

    services = ("emr", "s3")
    throttling = "ThrottlingException"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.clusters: dict[str, Cluster] = {}
        self.objects: dict[str, tuple[datetime, bytes]] = {}
        self.numbers = itertools.count(1)

    def keys(self, prefix: str) -> set[str]:
        """Keys of the bucket's objects with this prefix."""
        return {key for key in self.objects if key.startswith(prefix)}

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)

    def _cluster(self, id_: str) -> "Cluster":
        if id_ not in self.clusters:
            raise RefusalError("InvalidRequestException", f"Cluster id '{id_}' is not valid.")
        return self.clusters[id_]

    def _describe_cluster(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return {"Cluster": {"Status": {"State": self._cluster(wanted["ClusterId"]).state}}}

    def _list_steps(self, wanted: dict[str, Any]) -> dict[str, Any]:
        newest_first = reversed(self._cluster(wanted["ClusterId"]).steps)
        return {"Steps": [self._shown(step) for step in newest_first]}

    def _shown(self, step: Step) -> dict[str, Any]:
        timeline = {} if step.began is None else {"StartDateTime": step.began}
        details = {"FailureDetails": FAILED} if step.state == "FAILED" else {}
        return {"Id": step.id, "Name": step.name, "Status": {"State": step.state, "Timeline": timeline, **details}}

    def _add_job_flow_steps(self, wanted: dict[str, Any]) -> dict[str, Any]:
        cluster = self._cluster(wanted["JobFlowId"])
        made = [self._made(step) for step in wanted["Steps"]]
        cluster.steps += made
        return {"StepIds": [step.id for step in made]}

    def _made(self, step: dict[str, Any]) -> Step:
        command = step["HadoopJarStep"]
        on_failure = step.get("ActionOnFailure", "")
        return Step(f"s-{next(self.numbers)}", step["Name"], command["Args"], command["Jar"], on_failure)

    def _cancel_steps(self, wanted: dict[str, Any]) -> dict[str, Any]:
        cluster, option = self._cluster(wanted["ClusterId"]), wanted["StepCancellationOption"]
        for step in cluster.steps:
            if step.id in wanted["StepIds"]:
                cluster.cancelled.append((step.id, option))
                if cluster.interruptible or option == "TERMINATE_PROCESS":
                    step.state = "CANCELLED"
        return {"CancelStepsInfoList": [{"StepId": id_, "Status": "SUBMITTED"} for id_ in wanted["StepIds"]]}

    def _list_objects_v2(self, wanted: dict[str, Any]) -> dict[str, Any]:
        assert wanted["Bucket"] == BUCKET
        found = sorted(self.keys(wanted["Prefix"]))
        return {"Contents": [{"Key": key, "LastModified": self.objects[key][0]} for key in found]} if found else {}

    def _put_object(self, wanted: dict[str, Any]) -> None:
        assert wanted["Bucket"] == BUCKET
        # botocore has made a file of it.
        self.objects[wanted["Key"]] = self.now(), wanted["Body"].read() if "Body" in wanted else b""

    def _get_object(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return {"Body": io.BytesIO(self.objects[wanted["Key"]][1])}

    def _delete_object(self, wanted: dict[str, Any]) -> None:
        self.objects.pop(wanted["Key"], None)


@dataclass
class Cluster:
    """An EMR cluster whose steps start, check for their stop file if `obedient`, and can be cancelled."""

    account: Emr
    obedient: bool = True
    interruptible: bool = True
    starting: bool = True
    # Steps with this among their arguments fail.
    failing: str | None = None
    cancelled: list[tuple[str, str]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    state: str = "WAITING"
    id: str = ""

    def __post_init__(self) -> None:
        self.id = f"j-{next(self.account.numbers)}"
        self.account.clusters[self.id] = self

    def another(self) -> "Cluster":
        """A further cluster of the account."""
        return Cluster(self.account)

    def states(self) -> list[str]:
        return [step.state for step in self.steps]

    def tick(self) -> None:
        """Let the steps progress."""
        self.account.later.tick()
        for step in self.steps:
            if self.starting and step.state in ("PENDING", "RUNNING") and step.began is None:
                step.state, step.began = "RUNNING", self.account.now()
            elif step.state == "RUNNING" and self.failing in step.args:
                step.state = "FAILED"
            elif step.state == "RUNNING" and self.obedient and f"stop/{step.name}" in self.account.objects:
                step.state = "COMPLETED"

    def end(self, state: str = "TERMINATED") -> None:
        self.state = state

    def wanted(self, *arguments: str, name: str = NAME) -> dict[str, Any]:
        command = ["spark-submit", "streamer.py", *arguments, "--hoodie-conf", f"stop.file={STOP_FILE}"]
        place = {"stopBucket": BUCKET, "stopPrefix": "stop/"}
        return {"clusterId": self.id, "name": name, "arguments": command, **place}

    def stop_files(self) -> set[str]:
        return {key for key in self.account.keys("stop/") if key.count("/") == 1}
