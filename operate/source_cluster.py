"""The deployed source cluster: which changes the lake may miss, and what a deployment would do to it."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3

from contract import origin
from contract.tags import RESNAPSHOT, missed_in, resnapshot, since
from operate.diff.snapshots import template
from operate.errors import OperateError
from operate.outputs import QUICK, find_stack
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_rds import RDSClient


def missed_since(session: boto3.Session, environment: Environment) -> dict[str, str]:
    """Return since when the lake may miss changes, by pipeline: those whose source was without a slot before."""
    rds = session.client("rds", config=QUICK)
    arn = _arn(rds, environment)
    tags = {tag["Key"]: tag["Value"] for tag in rds.list_tags_for_resource(ResourceName=arn)["TagList"]} if arn else {}
    found = {}
    for pipeline in environment.streamed:
        entries = _entries(session, environment, pipeline) if pipeline.database else {}
        outside = max(map(missed_in, entries.values()), default="")
        if missed := outside if pipeline.database else tags.get(_tag(pipeline)):
            found[pipeline.name] = missed
    return found


def may_miss(session: boto3.Session, environment: Environment, pipeline: EnvironmentPipeline) -> None:
    """Record that changes are lost, unless it is recorded, before what tells of it is repaired."""
    if pipeline.name not in missed_since(session, environment):
        _record(session, environment, pipeline, since(time.time()))


def nothing_missed(session: boto3.Session, environment: Environment, pipeline: EnvironmentPipeline) -> None:
    """Record that lake and source were equal after all rows had been rewritten."""
    _record(session, environment, pipeline, "")


def _record(session: boto3.Session, environment: Environment, pipeline: EnvironmentPipeline, missed: str) -> None:
    """Record since when changes are missing; "": none is."""
    if pipeline.database:
        for name, entry in _entries(session, environment, pipeline).items():
            value = "/".join(filter(None, (entry.removesuffix(f"/{missed_in(entry)}"), missed)))
            session.client("ssm", config=QUICK).put_parameter(Name=name, Value=value, Overwrite=True)
        return
    rds = session.client("rds", config=QUICK)
    if (arn := _arn(rds, environment)) and missed:
        rds.add_tags_to_resource(ResourceName=arn, Tags=[{"Key": _tag(pipeline), "Value": missed}])
    elif arn:
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

    Raises OperateError if the deployment would unintentionally replace the existing cluster. The deployment refuses
    that, too (stacks/handlers/guard.py), but later.
    """
    before = origin.cluster(template(client, stack)) if find_stack(client, stack) else None
    after = origin.cluster(wanted)
    if before is None or after is None or not origin.changed(before, after):
        return None
    if reason := origin.refusal(before, after):
        raise OperateError(reason)
    was, is_ = before.get(origin.IDENTIFIER), after.get(origin.IDENTIFIER)
    return f"the database {was} is replaced by {is_}, which is restored; afterwards: docs/aws/restore.md"


def _arn(rds: "RDSClient", environment: Environment) -> str | None:
    try:
        [found] = rds.describe_db_clusters(DBClusterIdentifier=environment.database_cluster)["DBClusters"]
    except rds.exceptions.DBClusterNotFoundFault:
        return None
    return found["DBClusterArn"]
