"""The functions that run stacks/handlers/preparation.py, and their requests' description of a pipeline."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import CustomResource, Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_rds as rds
from constructs import IDependable

from contract.source import own_schema
from settings.environment_pipeline import EnvironmentPipeline
from settings.load import PIPELINES
from settings.pipeline import CapturedTableSettings, Pipeline
from stacks.base import statement
from stacks.lambda_assets import PSYCOPG2, sql_hash
from stacks.provider import HandlerProvider, Rights, layer_version

# In stacks/handlers/.
MODULE = "preparation"
# The longest that a sample of scale 1,000 may take; Lambda's own limit is 15 minutes.
_TIMEOUT = Duration.minutes(14)
# For a database that can't be reached, and for a slot that its reader still holds.
_PATIENCE = Duration.minutes(10)
_MEMORY_MB = 1024
Cluster = rds.DatabaseCluster | rds.DatabaseClusterFromSnapshot


def table_requests(captured: Pipeline, folder: Path = PIPELINES) -> list[dict[str, object]]:
    """Describe a pipeline's tables for the handler; `folder` has their Avro schemas.

    If columns are excluded, the others are published and granted by name. So a new column in the schema must make a
    deployment call the handler again.
    """
    return [
        table_request(table)
        | ({"schemaHash": _sha256(folder / captured.schema_file(table))} if table.leave_out else {})
        for table in captured.tables
        if table.query is None
    ]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def table_request(table: CapturedTableSettings) -> dict[str, object]:
    return {
        "schema": table.schema_name,
        "name": table.table_name,
        "key": list(table.key),
        "leaveOut": list(table.leave_out),
        "hash": list(table.hash),
        **({"byXmin": True} if table.is_queried and table.detect != "hash" else {}),
    }


def captured_objects(pipeline: EnvironmentPipeline) -> dict[str, object]:
    source = pipeline.captured.source
    return {
        "database": pipeline.database_name,
        "pipeline": pipeline.name,
        "schema": own_schema(pipeline.name),
        "publication": source.publication,
        "slot": source.slot,
        "role": pipeline.connector_role,
        "tables": table_requests(pipeline.captured),
    }


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """Runs the loader's own code inside the VPC."""

    stack: Stack
    vpc: ec2.IVpc
    psycopg2: lambda_.LayerVersion

    def provider(self, id_: str, access: ec2.ISecurityGroup, rights: Rights) -> HandlerProvider:
        """Create the function; it reaches the database through the group `access`."""
        return HandlerProvider(
            self.stack,
            id_,
            module=MODULE,
            packages=("db", "plugins"),
            timeout=_TIMEOUT,
            variables={"DEADLINE_SECONDS": f"{_PATIENCE.to_seconds():.0f}"},
            memory_size=_MEMORY_MB,
            layers=[self.psycopg2],
            vpc=self.vpc,
            security_groups=[access],
            rights=rights,
        )

    def prepared(
        self, id_: str, type_: str, provider: HandlerProvider, request: dict[str, object], after: Sequence[IDependable]
    ) -> CustomResource:
        """Create the custom resource; newer code or SQL that runs in the database prepares it again."""
        request = request | {"sqlHash": sql_hash(MODULE)}
        return provider.resource(self.stack, id_, type_, request, after=after)


def preparation(stack: Stack, vpc: ec2.IVpc) -> Preparation:
    psycopg2 = layer_version(stack, "Psycopg2", PSYCOPG2, f"{PSYCOPG2.name} as requirements.txt pins it")
    return Preparation(stack=stack, vpc=vpc, psycopg2=psycopg2)


def read_secrets(*arns: str) -> iam.PolicyStatement:
    return statement("secretsmanager:GetSecretValue", on=[arn for arn in arns if arn])
