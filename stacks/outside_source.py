"""What a pipeline needs of a database that the stacks don't make: a way there, and its preparation or a look at it."""

import hashlib
from dataclasses import dataclass

from aws_cdk import CfnOutput, CustomResource, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager

from contract.capture_objects import own_schema
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.outside_database import OutsideDatabase
from stacks import handler_code
from stacks.pipeline_names import construct_id, source_parameter
from stacks.provider import HandlerProvider
from stacks.source_preparation import PREPARATION_MEMORY_MB, PREPARATION_TIMEOUT, patience, table_requests

# In stacks/handlers/.
MODULE = "outside_preparation"


@dataclass(frozen=True, kw_only=True)
class WayOut:
    """Where an outside database is: addresses or a security group, and its port."""

    port: int
    cidr: str | None = None
    security_group: str | None = None

    @property
    def id(self) -> str:
        """The id of the rule that opens it: of what it says, since two that say the same can't be there at once."""
        said = f"{self.cidr or self.security_group}:{self.port}"
        return f"ConnectorsToOutside{hashlib.sha256(said.encode()).hexdigest()[:8]}"


def ways_out(database: OutsideDatabase) -> list[WayOut]:
    """Return the ways to one database."""
    ways = [WayOut(port=database.port, cidr=cidr) for cidr in database.cidrs]
    if database.security_group:
        ways.append(WayOut(port=database.port, security_group=database.security_group))
    return ways


def destinations(environment: Environment) -> list[WayOut]:
    """Return the connectors' ways to outside databases, each once: pipelines may share a server."""
    found = [way for pipeline in environment.streamed if pipeline.database for way in ways_out(pipeline.database)]
    return list(dict.fromkeys(found))


class OutsideSource:
    """Prepares one pipeline's database, or looks whether somebody has; `prepared` is what connectors must wait for."""

    def __init__(
        self,
        stack: Stack,
        *,
        environment: Environment,
        pipeline: EnvironmentPipeline,
        database: OutsideDatabase,
        psycopg2: lambda_.ILayerVersion,
        vpc: ec2.IVpc,
    ) -> None:
        self._stack = stack
        self._environment = environment
        self._pipeline = pipeline
        self._database = database
        self._vpc = vpc
        access = outside_access(stack, pipeline, database, vpc)
        provider = self._provider(access, psycopg2)
        self.prepared = CustomResource(
            stack,
            self._id("OutsideSource"),
            service_token=provider.service_token,
            resource_type="Custom::OutsideSource",
            properties={"Request": stack.to_json_string(self._request())},
        )
        self.prepared.node.add_dependency(access)

    def _id(self, id_: str) -> str:
        return construct_id(self._pipeline, id_)

    @property
    def _record(self) -> str:
        return source_parameter(self._environment, self._pipeline, "prepared-by")

    def _request(self) -> dict[str, object]:
        source, database = self._pipeline.captured.source, self._database
        return {
            "host": database.host,
            "port": database.port,
            "sslmode": database.sslmode,
            "certificate": database.authority or "",
            "connectorSecretArn": database.secret,
            "ownerSecretArn": database.owner_secret or "",
            "record": self._record,
            "database": self._pipeline.database_name,
            "pipeline": self._pipeline.name,
            "schema": own_schema(self._pipeline.name),
            "publication": source.publication,
            "slot": source.slot,
            "role": self._pipeline.connector_role,
            "tables": table_requests(self._pipeline.captured),
            # So that a deployment that gives other rights, or another publication, does so where it was before.
            "sqlHash": handler_code.sql_hash(MODULE),
        }

    def _provider(self, access: ec2.SecurityGroup, psycopg2: lambda_.ILayerVersion) -> HandlerProvider:
        statements = self._statements()
        provider = HandlerProvider(
            self._stack,
            self._id("OutsidePreparation"),
            module=MODULE,
            packages=("db", "plugins"),
            waits=True,
            timeout=PREPARATION_TIMEOUT,
            variables=patience(),
            memory_mb=PREPARATION_MEMORY_MB,
            layers=[psycopg2],
            vpc=self._vpc,
            security_groups=[access],
            statements=statements,
        )
        provider.accept(
            *statements, reason="It logs in to this pipeline's database, and writes down that it has prepared it."
        )
        provider.acknowledge_wildcards(*statements, reason="The entries of this pipeline alone, a hash of each owner.")
        return provider

    def _statements(self) -> list[iam.PolicyStatement]:
        database, here = self._database, f"{self._stack.region}:{self._stack.account}"
        secrets = [secret for secret in (database.secret, database.owner_secret) if secret]
        entries = f"arn:{self._stack.partition}:ssm:{here}:parameter{self._record}"
        return [
            iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=secrets),
            iam.PolicyStatement(actions=["ssm:GetParametersByPath"], resources=[entries]),
            iam.PolicyStatement(actions=["ssm:PutParameter", "ssm:DeleteParameters"], resources=[f"{entries}/*"]),
        ]


def outside_access(
    stack: Stack, pipeline: EnvironmentPipeline, database: OutsideDatabase, vpc: ec2.IVpc
) -> ec2.SecurityGroup:
    """Make the group of the function alone that looks at an outside database: it reaches that, and AWS's services."""
    group = ec2.SecurityGroup(
        stack,
        construct_id(pipeline, "OutsideAccess"),
        vpc=vpc,
        description=f"Preparation of pipeline {pipeline.name}",
        allow_all_outbound=False,
    )
    for way in ways_out(database):
        peer = ec2.Peer.ipv4(way.cidr) if way.cidr else ec2.Peer.security_group_id(way.security_group or "")
        group.add_egress_rule(peer, ec2.Port.tcp(way.port), "The source database")
    group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "Secrets Manager and Systems Manager")
    CfnOutput(stack, construct_id(pipeline, "PreparationSecurityGroup"), value=group.security_group_id)
    return group


def imported_secret(stack: Stack, pipeline: EnvironmentPipeline, database: OutsideDatabase) -> secretsmanager.ISecret:
    """Return the secret of the role that a pipeline's connector logs in as, which somebody else has made."""
    id_ = construct_id(pipeline, "ConnectorSecret")
    return secretsmanager.Secret.from_secret_complete_arn(stack, id_, database.secret)
