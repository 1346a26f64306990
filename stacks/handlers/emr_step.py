"""Custom resource: streaming jobs that run as steps of an EMR cluster: one step for all tables, or one per table.

Request: `clusterId`; `name` and `arguments` of a step, and the same of others in `further`; `stopBucket`, `stopPrefix`.
All steps are one resource, so that tables can move between steps: steps that are no longer wanted end before any is
added, in a deployment and in its rollback.

A running step can't be changed, and a continuous one never ends. So a changed command stops the running step, waits
until it has ended (two jobs must never write one table), adds a new one and waits until that has run for a while.

An object, `s3://<stopBucket>/<stopPrefix><step's name>`, stops a step: its job checks for it between two commits. Only
a job that ignores it gets CancelSteps: first an interrupt, finally a kill, which loses nothing
(docs/decisions/0054-emr-step.md).

The step's name identifies it and its command: `<name>-<hash of the command>-<hash of the CloudFormation request>`. So a
repeated delivery, or a request whose answer was lost, finds the first one's step. The journal (journal.py) records
which request may act: one that CloudFormation has cancelled no longer does. Objects record for which resources of a
template the job runs (Owners): a renamed construct's job continues when the old one is deleted.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from botocore.config import Config
from botocore.exceptions import ClientError

from contract.lake import STOP_FILE
from stacks.handlers import framework, journal
from stacks.handlers.framework import (
    CLIENT_CONFIG,
    Done,
    Event,
    Handler,
    Progress,
    ResourceError,
    Waiting,
    client,
    sha256_of,
)

# A wrong option or path ends the job within its first minute: a step that has run this long has begun to work.
SETTLED_SECONDS = 120
BUSY = "a call by an earlier request to finish"
_REQUIRED = {"clusterId": str, "name": str, "arguments": list, "stopBucket": str, "stopPrefix": str}
_OPTIONAL = {"further": list}
ACTIVE = frozenset({"PENDING", "CANCEL_PENDING", "RUNNING"})
# A job that hasn't ended is interrupted, then killed, once its stop file is this old. A commit takes seconds.
INTERRUPT_SECONDS = 600
KILL_SECONDS = 900
# AddJobFlowSteps isn't idempotent: if botocore repeated it after a lost answer, it would add a second job. Our own
# retry, one poll later, looks for the step first.
ONCE = CLIENT_CONFIG.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))


def start(event: Event) -> dict[str, Any]:
    """Check the request. Keep the id: CloudFormation would delete the old steps if it changed."""
    return {"PhysicalResourceId": event.get("PhysicalResourceId") or _read(event)["name"]}


def settle(event: Event) -> Progress:
    """Stop unwanted steps, then add the missing ones, then wait until all have settled."""
    wanted = _read(event)
    if journal.busy(event):
        return Waiting(BUSY)
    jobs = _jobs(wanted)
    for job in jobs:
        Owners(event, job).enter()
    found = [_Found.of(event, Steps(job)) for job in jobs]
    stopping = [_stopped(each.steps, each.others) for each in found]
    if waiting := _together([*stopping, _elsewhere_stopped(event, jobs)]):
        return waiting
    if missing := [each.steps for each in found if not each.mine]:
        return _added(event, *missing)
    settled = [each.settled() for each in found]
    return _together([each for each in settled if isinstance(each, Waiting)]) or settled[0]


class Steps:
    """The steps of one table's job on one cluster; `wanted` (the request) names them."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self._wanted = wanted
        self._emr = client("emr")
        self._s3 = client("s3")
        self._cluster = wanted["clusterId"]
        self._pattern = re.compile(re.escape(wanted["name"]) + r"-(?P<content>[0-9a-f]{12})-[0-9a-f]{8}")
        self.content = sha256_of(json.dumps(wanted["arguments"]))[:12]

    def all(self) -> list[dict[str, Any]]:
        """Return them, newest first; none if the cluster is gone, with or without a trace."""
        if not self.cluster_is_there():
            return []
        pages = self._emr.get_paginator("list_steps").paginate(ClusterId=self._cluster)
        return [dict(step) for page in pages for step in page["Steps"] if self._pattern.fullmatch(step["Name"])]

    def cluster_is_there(self) -> bool:
        try:
            state = self._emr.describe_cluster(ClusterId=self._cluster)["Cluster"]["Status"]["State"]
        except ClientError as error:
            if framework.error_code(error) != "InvalidRequestException":
                raise
            return False
        return not str(state).startswith("TERMINATED")

    def active(self) -> list[dict[str, Any]]:
        return [step for step in self.all() if step["Status"]["State"] in ACTIVE]

    def runs_this(self, step: Mapping[str, Any]) -> bool:
        """Tell whether a step runs, or will run, the wanted command and hasn't been asked to stop."""
        found = self._pattern.fullmatch(step["Name"])
        same = found is not None and found["content"] == self.content
        return same and step["Status"]["State"] in ACTIVE and self._told_to_stop(step) is None

    def own_name(self, request_id: str) -> str:
        """Return the name of the step that this request adds, unique to it."""
        return f"{self._wanted['name']}-{self.content}-{sha256_of(request_id)[:8]}"

    def add(self, name: str) -> str:
        """Add a step and return its id. If the answer is lost, the next poll looks for the step first."""
        stop_file = f"s3://{self._wanted['stopBucket']}/{self._stop_key(name)}"
        arguments = [argument.replace(STOP_FILE, stop_file) for argument in self._wanted["arguments"]]
        added = client("emr", ONCE).add_job_flow_steps(
            JobFlowId=self._cluster,
            Steps=[
                {
                    "Name": name,
                    # Another table's job on the same cluster continues.
                    "ActionOnFailure": "CONTINUE",
                    "HadoopJarStep": {"Jar": "command-runner.jar", "Args": arguments},
                }
            ],
        )
        return str(added["StepIds"][0])

    def stop(self, steps: Iterable[Mapping[str, Any]]) -> None:
        """Ask active steps to stop; cancel those that were asked before and still run."""
        for step in steps:
            told_at = self._told_to_stop(step)
            if told_at is None:
                self._s3.put_object(Bucket=self._wanted["stopBucket"], Key=self._stop_key(step["Name"]))
            age = 0 if told_at is None else framework.now() - told_at
            # A step that hasn't started has no job to check the stop file.
            if age >= INTERRUPT_SECONDS or step["Status"]["State"] == "PENDING":
                self._emr.cancel_steps(
                    ClusterId=self._cluster,
                    StepIds=[step["Id"]],
                    StepCancellationOption="TERMINATE_PROCESS" if age >= KILL_SECONDS else "SEND_INTERRUPT",
                )

    def _told_to_stop(self, step: Mapping[str, Any]) -> float | None:
        """Return when the step was asked to stop, in seconds since 1970; None if it wasn't."""
        key = self._stop_key(step["Name"])
        listed = self._s3.list_objects_v2(Bucket=self._wanted["stopBucket"], Prefix=key).get("Contents", [])
        return next((found["LastModified"].timestamp() for found in listed if found["Key"] == key), None)

    def _stop_key(self, name: str) -> str:
        return f"{self._wanted['stopPrefix']}{name}"


class Owners:
    """The resources of a template for which a table's job runs; `wanted` (a request) names it. EMR can't tag a step.

    `owners/<name>/`, below the stop prefix, holds an object per custom resource that wants the job, with its request.
    S3 shows each write to the next read (its user guide, "Amazon S3 data consistency model").
    """

    def __init__(self, event: Event, wanted: Mapping[str, Any]) -> None:
        self._wanted = wanted
        self._s3 = client("s3")
        self._bucket = wanted["stopBucket"]
        self._prefix = f"{wanted['stopPrefix']}owners/{wanted['name']}/"
        self._own = self._prefix + sha256_of(framework.owner(event))[: framework.HASH_DIGITS]

    def enter(self) -> None:
        """Record that the event's resource wants this job, and its request."""
        body = json.dumps(self._wanted, sort_keys=True).encode()
        self._s3.put_object(Bucket=self._bucket, Key=self._own, Body=body)

    def has(self) -> bool:
        """Whether the event's resource wants this job, and hasn't been deleted since."""
        return self._own in self._keys()

    def other_owner_request(self) -> dict[str, Any] | None:
        """Return another owner's request: of a renamed construct, the one that stays."""
        key = next((key for key in self._keys() if key != self._own), None)
        if key is None:
            return None
        request: dict[str, Any] = json.loads(self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read())
        return request

    def leave(self) -> None:
        """Record that the event's resource no longer wants the job."""
        self._s3.delete_object(Bucket=self._bucket, Key=self._own)

    def _keys(self) -> list[str]:
        found = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix)
        return [entry["Key"] for entry in found.get("Contents", [])]


@dataclass(frozen=True)
class _Found:
    """A job's steps: `mine` are this request's and those with the wanted command, `others` the other active ones."""

    steps: Steps
    mine: list[dict[str, Any]]
    others: list[dict[str, Any]]

    @classmethod
    def of(cls, event: Event, steps: Steps) -> Self:
        own_name, before = steps.own_name(event["RequestId"]), steps.all()
        mine = [step for step in before if step["Name"] == own_name or steps.runs_this(step)]
        others = [step for step in before if step not in mine and step["Status"]["State"] in ACTIVE]
        return cls(steps, mine, others)

    def settled(self) -> Progress:
        running = [step for step in self.mine if step["Status"]["State"] in ACTIVE]
        if len(running) > 1:
            # Added twice after all. They share their stop file; the table's own claim lets only one continue.
            return Waiting(
                f"the end of all but one of {', '.join(step['Id'] for step in running)}: the table takes one job"
            )
        return _settled((running or self.mine)[0])


def remove(event: Event) -> Progress:
    """Stop every step of these names, unless another resource now owns the job; a deleted cluster has none."""
    try:
        wanted = _read(event)
    except ResourceError:
        # A refused request has created nothing.
        return Done()
    if journal.busy(event):
        return Waiting(BUSY)
    return _together([_removed(event, job) for job in _jobs(wanted)]) or Done()


def _removed(event: Event, job: Mapping[str, Any]) -> Waiting | None:
    owners, steps = Owners(event, job), Steps(job)
    if not owners.has():
        return None
    heir = owners.other_owner_request()
    if waiting := _inherited(event, heir) if heir else _stopped(steps, steps.active()):
        return waiting
    owners.leave()
    return None


def _inherited(event: Event, heir: Mapping[str, Any]) -> Waiting | None:
    """Make sure that the job runs as the remaining resource wants: a rolled-back rename may have changed it."""
    steps = Steps(heir)
    before = steps.active()
    if not steps.cluster_is_there() or any(steps.runs_this(step) for step in before):
        return None
    return _stopped(steps, before) or _added(event, steps)


def _added(event: Event, *missing: Steps) -> Waiting:
    """Add this request's steps, unless a later request has come."""
    with journal.acting(event):
        added = [steps.add(steps.own_name(event["RequestId"])) for steps in missing]
        return Waiting(f"step {', '.join(added)} to run")


def _read(event: Event) -> dict[str, Any]:
    wanted = framework.request(event, required=_REQUIRED, optional=_OPTIONAL)
    _jobs(wanted)
    return wanted


def _jobs(wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a separate request for each step. Raises ResourceError."""
    place = {key: value for key, value in wanted.items() if key != "further"}
    try:
        steps = [wanted, *wanted.get("further", [])]
        jobs = [place | {key: step[key] for key in ("name", "arguments")} for step in steps]
    except (KeyError, TypeError) as error:
        raise ResourceError(f"Request: further: not a step: {error!r}") from None
    names = [job["name"] for job in jobs]
    if len(set(names)) < len(names):
        raise ResourceError(f"Request: {', '.join(sorted(names))}: a name is there twice")
    return jobs


def _together(waiting: Iterable[Waiting | None]) -> Waiting | None:
    reasons = [each.reason for each in waiting if each is not None]
    return Waiting("; ".join(reasons)) if reasons else None


def _stopped(steps: Steps, active: list[dict[str, Any]]) -> Waiting | None:
    """Stop steps; None if none is left."""
    if not active:
        return None
    steps.stop(active)
    return Waiting("the end of " + ", ".join(f"{step['Id']} ({step['Status']['State']})" for step in active))


def _elsewhere_stopped(event: Event, jobs: Sequence[Mapping[str, Any]]) -> Waiting | None:
    """Stop the previous request's steps: on a cluster that is being replaced, or under other names."""
    old = framework.old_request(event, required=_REQUIRED, optional=_OPTIONAL)
    if old is None:
        return None
    wanted = {(job["clusterId"], job["name"]) for job in jobs}
    gone = [job for job in _jobs(old) if (job["clusterId"], job["name"]) not in wanted]
    if waiting := _together([_stopped(steps, steps.active()) for steps in map(Steps, gone)]):
        return waiting
    names = {name for _, name in wanted}
    for job in gone:
        if job["name"] not in names:
            Owners(event, job).leave()
    return None


def _settled(step: Mapping[str, Any]) -> Progress:
    """Report the wanted step's progress. Raises ResourceError with the reason if it has ended."""
    status, label = step["Status"], f"step {step['Id']} ({step['Name']})"
    if status["State"] == "RUNNING":
        started = status["Timeline"].get("StartDateTime")
        if started and framework.now() - started.timestamp() >= SETTLED_SECONDS:
            return Done(data={"StepId": step["Id"], "StepName": step["Name"]})
        return Waiting(f"{label}: to have run for {SETTLED_SECONDS} s")
    if status["State"] in ACTIVE:
        return Waiting(f"{label}: to run; it is {status['State']}")
    details = status.get("FailureDetails", {})
    reasons = [details.get("Reason"), details.get("Message"), status.get("StateChangeReason", {}).get("Message")]
    log = f"; log: {details['LogFile']}" if details.get("LogFile") else ""
    raise ResourceError(f"{label} is {status['State']}: {'; '.join(filter(None, reasons)) or 'no reason given'}{log}")


handler = Handler(start=start, settle=settle, remove=remove, claim=journal.claim, check=journal.check)
on_event = handler.on_event
is_complete = handler.is_complete
