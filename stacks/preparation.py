"""Prepares databases before any connector or job uses them: the functions that run stacks/handlers/preparation.py.

In the environment's own cluster and in external databases, for captured pipelines and for queried ones. An external
database also needs a network path.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import CfnOutput, CustomResource, Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import IDependable

from contract import tags
from settings.environment import Environment
from settings.environment_pipeline import POSTGRESQL, EnvironmentPipeline, OutsideDatabase
from stacks.base import HTTPS, arn, closed_group, statement
from stacks.lambda_assets import PSYCOPG2, sql_hash
from stacks.preparation_requests import preparation
from stacks.provider import HandlerProvider, Rights, layer_version

# In stacks/handlers/.
MODULE = "preparation"
# The longest that a sample of scale 1,000 may take; Lambda's own limit is 15 minutes.
_TIMEOUT = Duration.minutes(14)
# For a database that can't be reached, and for a slot that its reader still holds.
_PATIENCE = Duration.minutes(10)
_MEMORY_MB = 1024
Cluster = rds.DatabaseCluster | rds.DatabaseClusterFromSnapshot


def read_secrets(*arns: str) -> iam.PolicyStatement:
    return statement("secretsmanager:GetSecretValue", on=[arn for arn in arns if arn])


def destinations(environment: Environment) -> list[tuple[str, int]]:
    """Return the places and ports of the connectors' external databases, each once: pipelines may share a server."""
    databases = [pipeline.database for pipeline in environment.streamed if pipeline.database]
    return list(dict.fromkeys((place, each.port) for each in databases for place in each.places))


class Preparations:
    """Prepares each pipeline's database, or checks that it is prepared, with the loader's own code inside the VPC.

    `prepared` are the custom resources of captured pipelines, by pipeline, for which connectors must wait; `own` are
    those in the environment's own `cluster`, where the loader creates the outbox's tables and other pipelines get only
    what their connector needs. `readable` are those of queried pipelines, whose role is allowed to read.
    """

    def __init__(
        self,
        stack: Stack,
        environment: Environment,
        vpc: ec2.IVpc,
        *,
        cluster: Cluster,
        master_secret: secretsmanager.ISecret,
        connector_secrets: Mapping[str, secretsmanager.ISecret],
        security_group: ec2.SecurityGroup,
    ) -> None:
        self._stack = stack
        self._environment = environment
        self._vpc = vpc
        self._cluster = cluster
        self._master_secret = master_secret
        self._connector_secrets = connector_secrets
        self._security_group = security_group
        self._psycopg2 = layer_version(stack, "Psycopg2", PSYCOPG2, f"{PSYCOPG2.name} as requirements.txt pins it")
        self._access = self._access_to_own()
        self.own: dict[str, CustomResource] = {}
        here = [pipeline for pipeline in environment.streamed if pipeline.database is None]
        # The loader runs first: it may create what another pipeline captures.
        self._prepare_own("Source", [pipeline for pipeline in here if pipeline.captured.outbox])
        self._prepare_own("Pipeline", [pipeline for pipeline in here if not pipeline.captured.outbox])
        self.prepared = self.own | {
            pipeline.name: self._prepare_outside(pipeline, pipeline.database)
            for pipeline in environment.streamed
            if pipeline.database is not None
        }
        self.readable = [self._let_read(pipeline) for pipeline in environment.queried]

    def _provider(self, id_: str, access: ec2.ISecurityGroup, rights: Rights) -> HandlerProvider:
        return HandlerProvider(
            self._stack,
            id_,
            module=MODULE,
            packages=("db", "plugins"),
            timeout=_TIMEOUT,
            variables={"DEADLINE_SECONDS": f"{_PATIENCE.to_seconds():.0f}"},
            memory_size=_MEMORY_MB,
            layers=[self._psycopg2],
            vpc=self._vpc,
            security_groups=[access],
            rights=rights,
            journal=self._environment.bucket_name("artefacts"),
        )

    def _resource(
        self, pipeline: EnvironmentPipeline, provider: HandlerProvider, after: Sequence[IDependable]
    ) -> CustomResource:
        """Create the custom resource; newer code or SQL that runs in the database prepares it again."""
        type_, request = preparation(
            self._environment,
            pipeline,
            cluster=self._cluster.cluster_identifier,
            host=self._cluster.cluster_endpoint.hostname,
            master=self._master_secret.secret_arn,
            secret=self._connector_secrets[pipeline.name].secret_arn,
        )
        # Another id would make another resource.
        id_ = pipeline.construct_id("PreparedSource" if type_ == "PreparedPipeline" else type_)
        return provider.resource(self._stack, id_, type_, {**request, "sqlHash": sql_hash(MODULE)}, after=after)

    def _access_to_own(self) -> ec2.SecurityGroup:
        group = closed_group(self._stack, "PreparationAccess", self._vpc, "Source preparation")
        group.add_egress_rule(self._security_group, ec2.Port.tcp(POSTGRESQL), "The source database")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "Secrets Manager, RDS and S3")
        self._security_group.add_ingress_rule(group, ec2.Port.tcp(POSTGRESQL), "Source preparation")
        return group

    def _access_to(self, pipeline: EnvironmentPipeline, database: OutsideDatabase) -> ec2.SecurityGroup:
        """Create the group of the function that checks an external database: it reaches only that and AWS's services.

        Its id is an output, for the database's owner to admit.
        """
        what = f"Preparation of pipeline {pipeline.name}"
        group = closed_group(self._stack, pipeline.construct_id("OutsideAccess"), self._vpc, what)
        for place in database.places:
            peer = ec2.Peer.ipv4(place) if "/" in place else ec2.Peer.security_group_id(place)
            group.add_egress_rule(peer, ec2.Port.tcp(database.port), "The source database")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "Secrets Manager, Systems Manager and S3")
        CfnOutput(self._stack, pipeline.construct_id("PreparationSecurityGroup"), value=group.security_group_id)
        return group

    def _prepare_own(self, what: str, pipelines: Sequence[EnvironmentPipeline]) -> None:
        if not pipelines:
            return
        connectors = [self._connector_secrets[pipeline.name].secret_arn for pipeline in pipelines]
        arn = self._cluster.cluster_arn
        ours = {"ForAllValues:StringLike": {"aws:TagKeys": [tags.ALL_KEYS]}}
        statements = [
            read_secrets(self._master_secret.secret_arn, *connectors),
            statement("rds:DescribeDBClusters", "rds:ListTagsForResource", on=arn),
            statement("rds:AddTagsToResource", "rds:RemoveTagsFromResource", on=arn, when=ours),
        ]
        if self._environment.database.restore and pipelines[0].captured.outbox:
            # A restored cluster's master still has its origin's password.
            statements.append(statement("rds:ModifyDBCluster", on=arn))
        before = [self._cluster, self._security_group, self._access, *self.own.values()]
        reason = "The preparation connects as the master, and gives the connector its password."
        provider = self._provider(f"{what}Preparation", self._access, {reason: statements})
        for pipeline in pipelines:
            self.own[pipeline.name] = self._resource(pipeline, provider, before)

    def _prepare_outside(self, pipeline: EnvironmentPipeline, database: OutsideDatabase) -> CustomResource:
        record = self._environment.source_parameter(pipeline, "prepared-by")
        access = self._access_to(pipeline, database)
        entries = arn(self._stack, "ssm", f"parameter{record}")
        rights = {
            "It logs in to this pipeline's database.": [read_secrets(database.secret, database.owner_secret or "")],
            "It writes down that it has prepared the database: this pipeline's entries alone, a hash of each owner.": [
                statement("ssm:GetParametersByPath", on=entries),
                statement("ssm:PutParameter", "ssm:DeleteParameters", on=f"{entries}/*"),
            ],
        }
        provider = self._provider(pipeline.construct_id("OutsidePreparation"), access, rights)
        return self._resource(pipeline, provider, [access])

    def _let_read(self, pipeline: EnvironmentPipeline) -> CustomResource:
        """Let a pipeline's role read, or check that it may, before the job does; the loader may make what is read."""
        outside = pipeline.database
        access = self._access_to(pipeline, outside) if outside else self._access
        reader = self._connector_secrets[pipeline.name].secret_arn
        # The secret of a user who may grant reading; empty if a DBA has done so.
        owner = (outside.owner_secret or "") if outside else self._master_secret.secret_arn
        rights = {"It logs in to this pipeline's database, and lets its role read.": [read_secrets(reader, owner)]}
        provider = self._provider(pipeline.construct_id("ReadingPreparation"), access, rights)
        before = [access] if outside else [access, self._cluster, *self.own.values()]
        return self._resource(pipeline, provider, before)
