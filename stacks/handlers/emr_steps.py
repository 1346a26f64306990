"""The steps of one streaming job on an EMR cluster: finds, adds and stops them, and records their owners."""

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from contract.lake import STOP_FILE
from stacks.handlers import framework
from stacks.handlers.framework import CLIENT_CONFIG, HASH_DIGITS, error_code, sha256_of

ACTIVE = frozenset({"PENDING", "CANCEL_PENDING", "RUNNING"})
# A job that hasn't ended is interrupted, then killed, once its stop file is this old. A commit takes seconds.
INTERRUPT_SECONDS = 600
KILL_SECONDS = 900
# AddJobFlowSteps isn't idempotent: if botocore repeated it after a lost answer, it would add a second job. Our own
# retry, one poll later, looks for the step first.
ONCE = CLIENT_CONFIG.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))


@functools.cache
def client(service: str, config: Config = CLIENT_CONFIG) -> Any:
    """A boto3 client, created once: the function stays warm between two calls."""
    return boto3.client(service, config=config)  # type: ignore[call-overload]


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
            if error_code(error) != "InvalidRequestException":
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

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self._s3 = client("s3")
        self._bucket = wanted["stopBucket"]
        self._prefix = f"{wanted['stopPrefix']}owners/{wanted['name']}/"

    def enter(self, owner: str, wanted: Mapping[str, Any]) -> None:
        """Record that `owner` wants this job, and its request."""
        body = json.dumps(wanted, sort_keys=True).encode()
        self._s3.put_object(Bucket=self._bucket, Key=self._key(owner), Body=body)

    def has(self, owner: str) -> bool:
        """Whether `owner` wants this job, and hasn't been deleted since."""
        return self._key(owner) in self._keys()

    def other_owner_request(self, owner: str) -> dict[str, Any] | None:
        """Return another owner's request: of a renamed construct, the one that stays."""
        key = next((key for key in self._keys() if key != self._key(owner)), None)
        if key is None:
            return None
        request: dict[str, Any] = json.loads(self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read())
        return request

    def leave(self, owner: str) -> None:
        """Record that `owner` no longer wants the job."""
        self._s3.delete_object(Bucket=self._bucket, Key=self._key(owner))

    def _key(self, owner: str) -> str:
        return self._prefix + sha256_of(owner)[:HASH_DIGITS]

    def _keys(self) -> list[str]:
        found = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix)
        return [entry["Key"] for entry in found.get("Contents", [])]
