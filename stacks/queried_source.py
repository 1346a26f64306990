"""What a queried pipeline needs of its database: a role that may read it."""

from collections.abc import Iterable
from dataclasses import dataclass

from aws_cdk import CustomResource, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager

from settings.connectors import ROOT_CERTIFICATE, root_certificate
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks import handler_code
from stacks.outside_source import outside_access
from stacks.pipeline_names import construct_id
from stacks.provider import HandlerProvider
from stacks.source_preparation import (
    PORT,
    PREPARATION_MEMORY_MB,
    PREPARATION_TIMEOUT,
    Cluster,
    patience,
    table_requests,
)

# In stacks/handlers/.
MODULE = "reading_preparation"


@dataclass(frozen=True, kw_only=True)
class OwnCluster:
    """The environment's cluster: its master's secret, and the group that functions reach it by."""

    cluster: Cluster
    master_secret: secretsmanager.ISecret
    access: ec2.ISecurityGroup


class QueriedSource:
    """Lets a pipeline's role read, or looks whether it may, before the job does: `readable`.

    `after` has made what it reads.
    """

    def __init__(
        self,
        stack: Stack,
        *,
        environment: Environment,
        pipeline: EnvironmentPipeline,
        secret: secretsmanager.ISecret,
        own: OwnCluster,
        psycopg2: lambda_.ILayerVersion,
        vpc: ec2.IVpc,
        after: Iterable[CustomResource],
    ) -> None:
        self._stack = stack
        self._environment = environment
        self._pipeline = pipeline
        self._secret = secret
        self._own = own
        outside = pipeline.database
        access = outside_access(stack, pipeline, outside, vpc) if outside else own.access
        provider = self._provider(access, psycopg2, vpc)
        self.readable = CustomResource(
            stack,
            construct_id(pipeline, "QueriedSource"),
            service_token=provider.service_token,
            resource_type="Custom::QueriedSource",
            properties={"Request": stack.to_json_string(self._request())},
        )
        self.readable.node.add_dependency(access, *([] if outside else [own.cluster, *after]))

    @property
    def _owner(self) -> str:
        """The secret of whoever may let the role read; empty where a DBA has done so."""
        outside = self._pipeline.database
        return (outside.owner_secret or "") if outside else self._own.master_secret.secret_arn

    @property
    def _reader(self) -> str:
        outside = self._pipeline.database
        return outside.secret if outside else self._secret.secret_arn

    def _request(self) -> dict[str, object]:
        pipeline, outside = self._pipeline, self._pipeline.database
        tables = pipeline.captured.tables
        return {
            "host": outside.host if outside else self._own.cluster.cluster_endpoint.hostname,
            "port": outside.port if outside else PORT,
            "sslmode": outside.sslmode if outside else "verify-full",
            "certificate": root_certificate(self._environment, pipeline).get(ROOT_CERTIFICATE, ""),
            "readerSecretArn": self._reader,
            "ownerSecretArn": self._owner,
            "database": pipeline.database_name,
            "pipeline": pipeline.name,
            "role": pipeline.connector_role,
            "tables": table_requests(pipeline.captured),
            "queries": {table.name: table.query for table in tables if table.query is not None},
            "seesWriters": any(table.column for table in tables),
            # So that a deployment that gives other rights does so where it was before.
            "sqlHash": handler_code.sql_hash(MODULE),
        }

    def _provider(self, access: ec2.ISecurityGroup, psycopg2: lambda_.ILayerVersion, vpc: ec2.IVpc) -> HandlerProvider:
        reading = iam.PolicyStatement(
            actions=["secretsmanager:GetSecretValue"], resources=[arn for arn in (self._reader, self._owner) if arn]
        )
        provider = HandlerProvider(
            self._stack,
            construct_id(self._pipeline, "ReadingPreparation"),
            module=MODULE,
            packages=("db", "plugins"),
            waits=True,
            timeout=PREPARATION_TIMEOUT,
            variables=patience(),
            memory_mb=PREPARATION_MEMORY_MB,
            layers=[psycopg2],
            vpc=vpc,
            security_groups=[access],
            statements=[reading],
        )
        provider.accept(reading, reason="It logs in to this pipeline's database, and lets its role read.")
        return provider
