"""The job's access to the databases that it queries: secrets, certificates, and ports of our own database."""

from collections.abc import Iterator

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_ec2 as ec2

from settings.connectors import ROOT_CERTIFICATE, root_certificate
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.job import server
from spark_jobs.options import keys
from stacks.base import POSTGRESQL, let_in, source_value
from stacks.database import DatabaseStack
from stacks.processing.job_assets import JobAssets
from stacks.processing.security_groups import EmrAccess


def source_properties(
    stack: Stack,
    environment: Environment,
    pipeline: EnvironmentPipeline,
    *,
    database: DatabaseStack,
    assets: JobAssets,
) -> dict[str, str]:
    """Return the properties with which the job reaches a pipeline's database; the secret holds the user."""
    outside = pipeline.database
    authority = root_certificate(environment, pipeline).get(ROOT_CERTIFICATE)
    return server(
        host=outside.host if outside else source_value(stack, environment, pipeline, "host"),
        port=outside.port if outside else POSTGRESQL,
        database=pipeline.database_name,
        password={keys.JDBC_PASSWORD_SECRET: secret_arn(pipeline, database)},
        sslmode=None if authority else "require",
        authority=assets.text(f"{environment.name}/{pipeline.name}.pem", authority) if authority else None,
    )


def secret_arn(pipeline: EnvironmentPipeline, database: DatabaseStack) -> str:
    return pipeline.database.secret if pipeline.database else database.connector_secrets[pipeline.name].secret_arn


def open_database(
    stack: Stack, environment: Environment, access: EmrAccess, database: DatabaseStack
) -> list[ec2.CfnSecurityGroupIngress]:
    """Admit the cluster's nodes to our own database if it is queried; output the groups for external ones to admit.

    Drivers run on the primary node; executors on core nodes, if there are any, read large batches.
    """
    if any(pipeline.database for pipeline in environment.queried):
        groups = ",".join(group.security_group_id for _, group in _nodes(environment, access))
        CfnOutput(stack, "JobSecurityGroups", value=groups)
    if not any(pipeline.database is None for pipeline in environment.queried):
        return []
    return [
        let_in(
            stack,
            f"DatabaseFrom{name}",
            to=database.security_group,
            source_id=group.security_group_id,
            port=POSTGRESQL,
            description="PostgreSQL from the streaming job",
        )
        for name, group in _nodes(environment, access)
    ]


def _nodes(environment: Environment, access: EmrAccess) -> Iterator[tuple[str, ec2.SecurityGroup]]:
    yield "Primary", access.primary
    if environment.processing.core_instances:
        yield "Core", access.core
