"""What pipelines need of the environment's cluster, prepared before any connector is made, and their roles' secrets."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from aws_cdk import CustomResource, Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager

from contract import source_tags
from contract.capture_objects import own_schema
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
# The longest that a sample of scale 1,000 may take; Lambda's own limit is 15 minutes.
PREPARATION_TIMEOUT = Duration.minutes(14)
# For a database that can't be reached, and for a slot whose reader won't let go.
PATIENCE = Duration.minutes(10)
# In stacks/handlers/.
OUTBOX_MODULE, PIPELINE_MODULE = "source_preparation", "pipeline_preparation"
PREPARATION_MEMORY_MB = 1024
# By whether the pipeline is queried.
_WHO_READS = {
    False: "A connector reads it when it starts: a rotation would stop the stream at its next reconnection. The role "
    "can read every table's changes, as who replicates can.",
    True: "The job reads it at each connection, and a rotation would have to change the role's password, too. The role "
    "may only read what its pipeline queries.",
}
Cluster = rds.DatabaseCluster | rds.DatabaseClusterFromSnapshot


def connector_secret(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline) -> secretsmanager.Secret:
    """Make the secret of the role that a pipeline's connector logs in as."""
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


def patience() -> dict[str, str]:
    """Tell a handler how long it may wait for a database."""
    return {"DEADLINE_SECONDS": f"{PATIENCE.to_seconds():.0f}"}


def table_requests(captured: Pipeline, folder: Path = PIPELINES) -> list[dict[str, object]]:
    """What stacks/handlers/ are told of a pipeline's tables; `folder` has their Avro schemas.

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
    """What stacks/handlers/pipeline_preparation.py reads of a table."""
    return {
        "schema": table.schema_name,
        "name": table.table_name,
        "key": list(table.key),
        "leaveOut": list(table.leave_out),
        "hash": list(table.hash),
        **({"byXmin": True} if table.is_queried and table.detect != "hash" else {}),
    }


class SourcePreparation:
    """Prepares the database of each pipeline of the environment's own cluster.

    `prepared` are the custom resources, by pipeline. The outbox's has its tables made by the loader; of others
    everything is there but what a connector needs. `access` is the group by which functions reach the cluster.
    """

    def __init__(
        self,
        stack: Stack,
        *,
        environment: Environment,
        cluster: Cluster,
        master_secret: secretsmanager.ISecret,
        connector_secrets: Mapping[str, secretsmanager.ISecret],
        security_group: ec2.SecurityGroup,
        vpc: ec2.IVpc,
    ) -> None:
        self._stack = stack
        self._environment = environment
        self._settings = environment.database
        self._cluster = cluster
        self._master_secret = master_secret
        self._connector_secrets = connector_secrets
        self._security_group = security_group
        self._vpc = vpc
        self.access = self._function_access()
        self.psycopg2 = self._psycopg2()
        self.prepared: dict[str, CustomResource] = {}
        self._loaded: list[CustomResource] = []
        here = [pipeline for pipeline in environment.streamed if pipeline.database is None]
        outbox = [pipeline for pipeline in here if pipeline.captured.outbox]
        others = [pipeline for pipeline in here if not pipeline.captured.outbox]
        for pipelines, id_, module in (
            (outbox, "SourcePreparation", OUTBOX_MODULE),
            (others, "PipelinePreparation", PIPELINE_MODULE),
        ):
            if pipelines:
                self._prepare(pipelines, self._provider(id_, module, pipelines))
                self._loaded = list(self.prepared.values())

    def _prepare(self, pipelines: Sequence[EnvironmentPipeline], provider: HandlerProvider) -> None:
        for pipeline in pipelines:
            request = self._outbox_request(pipeline) if pipeline.captured.outbox else self._request(pipeline)
            prepared = CustomResource(
                self._stack,
                construct_id(pipeline, "PreparedSource"),
                service_token=provider.service_token,
                resource_type="Custom::PreparedSource" if pipeline.captured.outbox else "Custom::PreparedPipeline",
                properties={"Request": self._stack.to_json_string(request)},
            )
            # After the loader, which may make what another pipeline captures.
            prepared.node.add_dependency(self._cluster, self._security_group, self.access, *self._loaded)
            self.prepared[pipeline.name] = prepared

    def _provider(self, id_: str, module: str, pipelines: Sequence[EnvironmentPipeline]) -> HandlerProvider:
        """Make what runs the loader's own code inside the VPC. It needs the cluster up, and the way to it open."""
        statements = self._statements(pipelines)
        provider = HandlerProvider(
            self._stack,
            id_,
            module=module,
            packages=("db", "plugins"),
            waits=True,
            timeout=PREPARATION_TIMEOUT,
            variables=patience(),
            memory_mb=PREPARATION_MEMORY_MB,
            layers=[self.psycopg2],
            vpc=self._vpc,
            security_groups=[self.access],
            statements=statements,
        )
        provider.accept(
            *statements, reason="The preparation connects as the master, and gives the connector its password."
        )
        return provider

    def _outbox_request(self, pipeline: EnvironmentPipeline) -> dict[str, object]:
        return {
            "clusterIdentifier": self._cluster.cluster_identifier,
            "masterSecret": self._master_secret.secret_arn,
            "connectorSecret": self._connector_secrets[pipeline.name].secret_arn,
            "database": self._settings.name,
            "slot": pipeline.captured.source.slot,
            "sampleData": self._settings.sample_data,
            "sampleScale": self._settings.sample_scale,
            "setMasterPassword": self._settings.restore is not None,
            # So that a deployment whose outbox is newer migrates the database.
            "sqlHash": handler_code.sql_hash(OUTBOX_MODULE),
        }

    def _request(self, pipeline: EnvironmentPipeline) -> dict[str, object]:
        source = pipeline.captured.source
        return {
            "clusterIdentifier": self._cluster.cluster_identifier,
            "masterSecret": self._master_secret.secret_arn,
            "connectorSecret": self._connector_secrets[pipeline.name].secret_arn,
            "database": pipeline.database_name,
            "pipeline": pipeline.name,
            "schema": own_schema(pipeline.name),
            "publication": source.publication,
            "slot": source.slot,
            "role": pipeline.connector_role,
            "tables": table_requests(pipeline.captured),
            # So that a deployment that gives other rights, or another publication, does so where it was before.
            "sqlHash": handler_code.sql_hash(PIPELINE_MODULE),
        }

    def _function_access(self) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self._stack, "PreparationAccess", vpc=self._vpc, description="Source preparation", allow_all_outbound=False
        )
        group.add_egress_rule(self._security_group, ec2.Port.tcp(PORT), "The source database")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "Secrets Manager and RDS")
        self._security_group.add_ingress_rule(group, ec2.Port.tcp(PORT), "Source preparation")
        return group

    def _psycopg2(self) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self._stack,
            "Psycopg2",
            code=lambda_.Code.from_asset(str(wheels.layer_folder(wheels.PSYCOPG2))),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[lambda_.Architecture.X86_64],
            description="psycopg2-binary as requirements.txt pins it",
        )

    def _statements(self, pipelines: Sequence[EnvironmentPipeline]) -> list[iam.PolicyStatement]:
        connectors = [self._connector_secrets[pipeline.name].secret_arn for pipeline in pipelines]
        secrets = [self._master_secret.secret_arn, *connectors]
        arn = self._cluster.cluster_arn
        return [
            iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=secrets),
            iam.PolicyStatement(actions=["rds:DescribeDBClusters", "rds:ListTagsForResource"], resources=[arn]),
            iam.PolicyStatement(
                actions=["rds:AddTagsToResource", "rds:RemoveTagsFromResource"],
                resources=[arn],
                conditions={"ForAllValues:StringLike": {"aws:TagKeys": [source_tags.KEYS]}},
            ),
            # For a restored cluster, whose master has the password of what it was restored from.
            *(
                [iam.PolicyStatement(actions=["rds:ModifyDBCluster"], resources=[arn])]
                if self._settings.restore and pipelines[0].captured.outbox
                else []
            ),
        ]
