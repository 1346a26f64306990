"""What a query-based pipeline needs of its database: a role that may read it."""

from collections.abc import Iterable
from dataclasses import dataclass

from aws_cdk import CustomResource
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_secretsmanager as secretsmanager

from settings.connectors import ROOT_CERTIFICATE, root_certificate
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.base import POSTGRESQL
from stacks.outside_source import outside_access
from stacks.pipeline_names import construct_id
from stacks.preparation import Cluster, Preparation, read_secrets, table_requests


@dataclass(frozen=True, kw_only=True)
class OwnCluster:
    """The environment's cluster: its master's secret, and the group through which functions reach it."""

    cluster: Cluster
    master_secret: secretsmanager.ISecret
    access: ec2.ISecurityGroup


def queried_source(
    preparation: Preparation,
    environment: Environment,
    pipeline: EnvironmentPipeline,
    *,
    secret: secretsmanager.ISecret,
    own: OwnCluster,
    after: Iterable[CustomResource],
) -> CustomResource:
    """Let a pipeline's role read, or check that it may, before the job does. `after` creates what it reads."""
    outside = pipeline.database
    access = outside_access(preparation, pipeline, outside) if outside else own.access
    reader = outside.secret if outside else secret.secret_arn
    # The secret of a user who may grant reading; empty if a DBA has done so.
    owner = (outside.owner_secret or "") if outside else own.master_secret.secret_arn
    rights = {"It logs in to this pipeline's database, and lets its role read.": [read_secrets(reader, owner)]}
    provider = preparation.provider(construct_id(pipeline, "ReadingPreparation"), access, rights)
    tables = pipeline.captured.tables
    request: dict[str, object] = {
        "host": outside.host if outside else own.cluster.cluster_endpoint.hostname,
        "port": outside.port if outside else POSTGRESQL,
        "sslmode": outside.sslmode if outside else "verify-full",
        "certificate": root_certificate(environment, pipeline).get(ROOT_CERTIFICATE, ""),
        "readerSecretArn": reader,
        "ownerSecretArn": owner,
        "database": pipeline.database_name,
        "pipeline": pipeline.name,
        "role": pipeline.connector_role,
        "tables": table_requests(pipeline.captured),
        "queries": {table.name: table.query for table in tables if table.query is not None},
        "seesWriters": any(table.column for table in tables),
    }
    before = [access, *([] if outside else [own.cluster, *after])]
    return preparation.prepared(construct_id(pipeline, "QueriedSource"), "QueriedSource", provider, request, before)
