"""What runs stacks/handlers/preparation.py, and what it is told of a pipeline."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import CustomResource, Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import IDependable

from contract.source import own_schema
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.load_pipeline import PIPELINES
from settings.pipeline import CapturedTableSettings, Pipeline
from stacks import handler_code, wheels
from stacks.acceptances import acknowledge
from stacks.pipeline_names import construct_id
from stacks.provider import RUNTIME, HandlerProvider
from stacks.retention import removal

PORT = 5432
# In stacks/handlers/.
MODULE = "preparation"
# The longest that a sample of scale 1,000 may take; Lambda's own limit is 15 minutes.
_TIMEOUT = Duration.minutes(14)
# For a database that can't be reached, and for a slot whose reader won't let go.
_PATIENCE = Duration.minutes(10)
_MEMORY_MB = 1024
# By whether the pipeline is queried.
_WHO_READS = {
    False: "A connector reads it when it starts: a rotation would stop the stream at its next reconnection. The role "
    "can read every table's changes, as who replicates can.",
    True: "The job reads it at each connection, and a rotation would have to change the role's password, too. The role "
    "may only read what its pipeline queries.",
}
Cluster = rds.DatabaseCluster | rds.DatabaseClusterFromSnapshot


def connector_secret(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline) -> secretsmanager.Secret:
    role = pipeline.connector_role
    secret = secretsmanager.Secret(
        stack,
        construct_id(pipeline, "ConnectorSecret"),
        description=f"The role {role} of {environment.prefix}'s source database",
        generate_secret_string=secretsmanager.SecretStringGenerator(
            secret_string_template=json.dumps({"username": role}),
            generate_string_key="password",
            exclude_punctuation=True,
        ),
        removal_policy=removal(environment),
    )
    acknowledge(
        secret,
        "AwsSolutions-SMG4",
        reason=f"{_WHO_READS[pipeline.is_queried]} docs/decisions/0053 says how it is changed by hand.",
    )
    return secret


def table_requests(captured: Pipeline, folder: Path = PIPELINES) -> list[dict[str, object]]:
    """What the handler is told of a pipeline's tables; `folder` has their Avro schemas.

    Where columns are left out, the others are published and granted by name. So a deployment with a new column in the
    schema calls the handler again.
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

    def provider(
        self, id_: str, access: ec2.ISecurityGroup, statements: Sequence[iam.PolicyStatement], *, reason: str
    ) -> HandlerProvider:
        """Make the function; `access` is the group by which it reaches the database."""
        provider = HandlerProvider(
            self.stack,
            id_,
            module=MODULE,
            packages=("db", "plugins"),
            timeout=_TIMEOUT,
            variables={"DEADLINE_SECONDS": f"{_PATIENCE.to_seconds():.0f}"},
            memory_mb=_MEMORY_MB,
            layers=[self.psycopg2],
            vpc=self.vpc,
            security_groups=[access],
            statements=statements,
        )
        provider.accept(*statements, reason=reason)
        return provider

    def prepared(
        self, id_: str, type_: str, provider: HandlerProvider, request: dict[str, object], after: Sequence[IDependable]
    ) -> CustomResource:
        """Make the custom resource; it is prepared again where code or SQL that runs in the database is newer."""
        request = request | {"sqlHash": handler_code.sql_hash(MODULE)}
        prepared = provider.resource(self.stack, id_, f"Custom::{type_}", request)
        prepared.node.add_dependency(*after)
        return prepared


def preparation(stack: Stack, vpc: ec2.IVpc) -> Preparation:
    psycopg2 = lambda_.LayerVersion(
        stack,
        "Psycopg2",
        code=lambda_.Code.from_asset(str(wheels.layer_folder(wheels.PSYCOPG2))),
        compatible_runtimes=[RUNTIME],
        compatible_architectures=[lambda_.Architecture.X86_64],
        description="psycopg2-binary as requirements.txt pins it",
    )
    return Preparation(stack=stack, vpc=vpc, psycopg2=psycopg2)


def read_secrets(*arns: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[arn for arn in arns if arn])
