"""The deployed source cluster: which changes the lake may miss, and what a deployment would do to it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3

from contract.tags import RESNAPSHOT, missed_in, resnapshot
from operate.diff.snapshots import template
from operate.errors import OperateError
from operate.outputs import QUICK, find_stack
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_rds import RDSClient

RUNBOOK = "docs/aws/restore.md"
_CLUSTER = "AWS::RDS::DBCluster"
_IDENTIFIER = "DBClusterIdentifier"
# The cluster's origin. AWS::RDS::DBCluster: "Update requires: Replacement" for each of them.
_ORIGIN = ("SnapshotIdentifier", "SourceDBClusterIdentifier", "RestoreToTime", "UseLatestRestorableTime")


def missed_since(session: boto3.Session, environment: Environment) -> dict[str, str]:
    """Return since when the lake may miss changes, by pipeline: those whose source was without a slot before."""
    rds = session.client("rds", config=QUICK)
    arn = _arn(rds, environment)
    tags = {tag["Key"]: tag["Value"] for tag in rds.list_tags_for_resource(ResourceName=arn)["TagList"]} if arn else {}
    found = {}
    for pipeline in environment.streamed:
        entries = _entries(session, environment, pipeline) if pipeline.database else {}
        outside = max(map(missed_in, entries.values()), default="")
        if since := outside if pipeline.database else tags.get(_tag(pipeline)):
            found[pipeline.name] = since
    return found


def nothing_missed(session: boto3.Session, environment: Environment, pipeline: EnvironmentPipeline) -> None:
    """Record that lake and source were equal after all rows had been rewritten."""
    if pipeline.database:
        for name, entry in _entries(session, environment, pipeline).items():
            if since := missed_in(entry):
                value = entry.removesuffix(f"/{since}")
                session.client("ssm", config=QUICK).put_parameter(Name=name, Value=value, Overwrite=True)
        return
    rds = session.client("rds", config=QUICK)
    if arn := _arn(rds, environment):
        rds.remove_tags_from_resource(ResourceName=arn, TagKeys=[_tag(pipeline)])


def _tag(pipeline: EnvironmentPipeline) -> str:
    return RESNAPSHOT if pipeline.captured.outbox else resnapshot(pipeline.name)


def _entries(session: boto3.Session, environment: Environment, pipeline: EnvironmentPipeline) -> dict[str, str]:
    """Return the parameters with which an external database's preparations are recorded."""
    path = environment.source_parameter(pipeline, "prepared-by")
    pages = session.client("ssm", config=QUICK).get_paginator("get_parameters_by_path").paginate(Path=path)
    return {each["Name"]: each["Value"] for page in pages for each in page["Parameters"]}


def check_origin(client: "CloudFormationClient", stack: str, wanted: Mapping[str, Any]) -> str | None:
    """Compare the cluster with the deployed one: return what a restore will do, None if it stays.

    Raises OperateError if the deployment would unintentionally replace the existing cluster: with an empty one if
    [database.restore] was removed from the file, with another copy if it was changed.
    """
    before, after = _deployed(client, stack), _cluster(wanted)
    if before is None or after is None:
        return None
    if all(before.get(key) == after.get(key) for key in (_IDENTIFIER, *_ORIGIN)):
        return None
    was, is_ = before.get(_IDENTIFIER), after.get(_IDENTIFIER)
    if was == is_ or not any(after.get(key) for key in _ORIGIN):
        raise OperateError(
            f"database.restore has changed: the cluster {was}, with its data, would be replaced by "
            f"{'an empty one' if not any(after.get(key) for key in _ORIGIN) else 'another copy'}. Put it back as it "
            f"was deployed; to restore again, give it another `name` ({RUNBOOK})"
        )
    return f"the database {was} is replaced by {is_}, which is restored; afterwards: {RUNBOOK}"


def _arn(rds: "RDSClient", environment: Environment) -> str | None:
    try:
        [found] = rds.describe_db_clusters(DBClusterIdentifier=environment.database_cluster)["DBClusters"]
    except rds.exceptions.DBClusterNotFoundFault:
        return None
    return found["DBClusterArn"]


def _deployed(client: "CloudFormationClient", stack: str) -> Mapping[str, Any] | None:
    if find_stack(client, stack) is None:
        return None
    return _cluster(template(client, stack))


def _cluster(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    clusters = (each["Properties"] for each in found["Resources"].values() if each["Type"] == _CLUSTER)
    return next(clusters, None)
