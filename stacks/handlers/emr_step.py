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
template the job runs: a renamed construct's job continues when the old one is deleted.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from contract.lake import STOP_FILE
from stacks.handlers import framework, journal
from stacks.handlers.framework import ONCE, Done, Event, Progress, ResourceError, Waiting, sha256_of

# A wrong option or path ends the job within its first minute: a step that has run this long has begun to work.
SETTLED_SECONDS = 120
_KINDS: dict[str, framework.Kinds] = {
    "required": {"clusterId": str, "name": str, "arguments": list, "stopBucket": str, "stopPrefix": str},
    "optional": {"further": list},
}
ACTIVE = frozenset({"PENDING", "CANCEL_PENDING", "RUNNING"})
# A job that hasn't ended is interrupted, then killed, once its stop file is this old. A commit takes seconds.
INTERRUPT_SECONDS = 600
KILL_SECONDS = 900
Step = Mapping[str, Any]


def start(event: Event) -> str:
    """Check the request. Keep the id: CloudFormation would delete the old steps if it changed."""
    return str(event.get("PhysicalResourceId") or _jobs(event)[0].name)


def settle(event: Event) -> Progress:
    """Stop unwanted steps, then add the missing ones, then wait until all have settled."""
    jobs = _jobs(event)
    for job in jobs:
        job.enter()
    found = [(job, *job.mine_and_others()) for job in jobs]
    # What was found may be a later request's by now.
    with journal.acting(event, seconds=journal.RUN_SECONDS):
        waiting = _together([*(job.stopped(others) for job, _, others in found), _elsewhere_stopped(event, jobs)])
    if waiting:
        return waiting
    if missing := [job for job, mine, _ in found if not mine]:
        return _added(event, *missing)
    settled = [_settled(mine) for _, mine, _ in found]
    return _together(each for each in settled if isinstance(each, Waiting)) or settled[0]


def remove(event: Event) -> Progress:
    """Stop every step of these names, unless another resource now owns the job; a deleted cluster has none."""
    jobs = framework.if_accepted(lambda: _jobs(event)) or []
    return _together([_removed(event, job) for job in jobs]) or Done()


class Job:
    """A table's job: its steps on one cluster, and the resources of a template for which it runs.

    EMR can't tag a step. So `owners/<name>/`, below the stop prefix, holds an object per custom resource that wants the
    job, with its request. S3 shows each write to the next read (its user guide, "Amazon S3 data consistency model").
    """

    def __init__(self, event: Event, wanted: Mapping[str, Any]) -> None:
        self.name, self.cluster = wanted["name"], wanted["clusterId"]
        self._wanted, self._bucket = wanted, wanted["stopBucket"]
        self._emr, self._s3 = framework.client("emr"), framework.client("s3")
        self._pattern = re.compile(re.escape(self.name) + r"-(?P<content>[0-9a-f]{12})-[0-9a-f]{8}")
        self._content = sha256_of(json.dumps(wanted["arguments"]))[:12]
        # The name of the step that this request adds, unique to it.
        self.own_name = f"{self.name}-{self._content}-{sha256_of(event['RequestId'])[:8]}"
        self._owners = f"{wanted['stopPrefix']}owners/{self.name}/"
        self.owner = self._owners + sha256_of(framework.owner(event))[: framework.HASH_DIGITS]

    def steps(self) -> list[Step]:
        """Return them, newest first; none if the cluster is gone, with or without a trace."""
        if not self.cluster_is_there():
            return []
        pages = self._emr.get_paginator("list_steps").paginate(ClusterId=self.cluster)
        return [step for page in pages for step in page["Steps"] if self._pattern.fullmatch(step["Name"])]

    def active(self) -> list[Step]:
        return [step for step in self.steps() if step["Status"]["State"] in ACTIVE]

    def mine_and_others(self) -> tuple[list[Step], list[Step]]:
        """Return this request's steps and those with the wanted command, then the other active ones."""
        found = self.steps()
        mine = [step for step in found if step["Name"] == self.own_name or self.runs_this(step)]
        return mine, [step for step in found if step not in mine and step["Status"]["State"] in ACTIVE]

    def cluster_is_there(self) -> bool:
        try:
            state = self._emr.describe_cluster(ClusterId=self.cluster)["Cluster"]["Status"]["State"]
        except ClientError as error:
            if framework.error_code(error) != "InvalidRequestException":
                raise
            return False
        return not str(state).startswith("TERMINATED")

    def runs_this(self, step: Step) -> bool:
        """Tell whether a step runs, or will run, the wanted command and hasn't been asked to stop."""
        found = self._pattern.fullmatch(step["Name"])
        same = found is not None and found["content"] == self._content
        return same and step["Status"]["State"] in ACTIVE and self._told_to_stop(step) is None

    def add(self) -> str:
        """Add this request's step and return its id. If the answer is lost, the next poll looks for the step first."""
        stop_file = f"s3://{self._bucket}/{self._stop_key(self.own_name)}"
        arguments = [argument.replace(STOP_FILE, stop_file) for argument in self._wanted["arguments"]]
        command = {"Jar": "command-runner.jar", "Args": arguments}
        # Another table's job on the same cluster continues.
        step = {"Name": self.own_name, "ActionOnFailure": "CONTINUE", "HadoopJarStep": command}
        added = framework.client("emr", ONCE).add_job_flow_steps(JobFlowId=self.cluster, Steps=[step])
        return str(added["StepIds"][0])

    def stopped(self, active: list[Step]) -> Waiting | None:
        """Ask active steps to stop; cancel those that were asked before and still run. None if none is left."""
        for step in active:
            if (told_at := self._told_to_stop(step)) is None:
                self._s3.put_object(Bucket=self._bucket, Key=self._stop_key(step["Name"]))
            age = 0 if told_at is None else framework.now() - told_at
            # A step that hasn't started has no job to check the stop file.
            if age >= INTERRUPT_SECONDS or step["Status"]["State"] == "PENDING":
                option = "TERMINATE_PROCESS" if age >= KILL_SECONDS else "SEND_INTERRUPT"
                self._emr.cancel_steps(ClusterId=self.cluster, StepIds=[step["Id"]], StepCancellationOption=option)
        ends = ", ".join(f"{step['Id']} ({step['Status']['State']})" for step in active)
        return Waiting(f"the end of {ends}") if ends else None

    def enter(self) -> None:
        """Record that the event's resource wants this job, and its request."""
        body = json.dumps(self._wanted, sort_keys=True).encode()
        self._s3.put_object(Bucket=self._bucket, Key=self.owner, Body=body)

    def owners(self) -> Iterable[str]:
        """Return the keys of the resources that want this job, and haven't been deleted since."""
        return self._listed(self._owners)

    def request_of(self, owner: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._s3.get_object(Bucket=self._bucket, Key=owner)["Body"].read())
        return found

    def leave(self) -> None:
        """Record that the event's resource no longer wants the job."""
        self._s3.delete_object(Bucket=self._bucket, Key=self.owner)

    def _told_to_stop(self, step: Step) -> float | None:
        """Return when the step was asked to stop, in seconds since 1970; None if it wasn't."""
        key = self._stop_key(step["Name"])
        return self._listed(key).get(key)

    def _stop_key(self, name: str) -> str:
        return f"{self._wanted['stopPrefix']}{name}"

    def _listed(self, prefix: str) -> dict[str, float]:
        """Return the times of the objects' writes, by key."""
        found = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=prefix).get("Contents", [])
        return {entry["Key"]: entry["LastModified"].timestamp() for entry in found}


def _removed(event: Event, job: Job) -> Waiting | None:
    owners = job.owners()
    if job.owner not in owners:
        return None
    heir = next((job.request_of(key) for key in owners if key != job.owner), None)
    if waiting := _inherited(event, Job(event, heir)) if heir else job.stopped(job.active()):
        return waiting
    job.leave()
    return None


def _inherited(event: Event, job: Job) -> Waiting | None:
    """Make sure that the job runs as the remaining resource wants: a rolled-back rename may have changed it."""
    before = job.active()
    if not job.cluster_is_there() or any(job.runs_this(step) for step in before):
        return None
    return job.stopped(before) or _added(event, job)


def _added(event: Event, *missing: Job) -> Waiting:
    """Add this request's steps, unless a later request has come."""
    with journal.acting(event, seconds=journal.RUN_SECONDS):
        return Waiting(f"step {', '.join([job.add() for job in missing])} to run")


def _jobs(event: Event, before: Mapping[str, Any] | None = None) -> list[Job]:
    """Return the job of each step of the request, or of the one `before`. Raises ResourceError."""
    wanted = before or framework.request(event, **_KINDS)
    place = {key: value for key, value in wanted.items() if key != "further"}
    try:
        steps = [wanted, *wanted.get("further", [])]
        jobs = [Job(event, place | {key: step[key] for key in ("name", "arguments")}) for step in steps]
    except (KeyError, TypeError) as error:
        raise ResourceError(f"Request: further: not a step: {error!r}") from None
    names = [job.name for job in jobs]
    if len(set(names)) < len(names):
        raise ResourceError(f"Request: {', '.join(sorted(names))}: a name is there twice")
    return jobs


def _together(waiting: Iterable[Waiting | None]) -> Waiting | None:
    reasons = [each.reason for each in waiting if each is not None]
    return Waiting("; ".join(reasons)) if reasons else None


def _elsewhere_stopped(event: Event, jobs: Iterable[Job]) -> Waiting | None:
    """Stop the previous request's steps: on a cluster that is being replaced, or under other names."""
    old = framework.old_request(event, **_KINDS)
    if old is None:
        return None
    wanted = {(job.cluster, job.name) for job in jobs}
    gone = [job for job in _jobs(event, old) if (job.cluster, job.name) not in wanted]
    if waiting := _together([job.stopped(job.active()) for job in gone]):
        return waiting
    for job in gone:
        if job.name not in {name for _, name in wanted}:
            job.leave()
    return None


def _settled(steps: list[Step]) -> Progress:
    """Report the wanted step's progress. Raises ResourceError with the reason if it has ended."""
    running = [step for step in steps if step["Status"]["State"] in ACTIVE]
    if len(running) > 1:
        # Added twice after all. They share their stop file; the table's own claim lets only one continue.
        ids = ", ".join(step["Id"] for step in running)
        return Waiting(f"the end of all but one of {ids}: the table takes one job")
    step = (running or steps)[0]
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


on_event, is_complete = journal.handler(start=start, settle=settle, remove=remove).functions
