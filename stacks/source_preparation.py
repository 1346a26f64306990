"""Prepares the databases of the environment's own cluster before any connector is created."""

from collections.abc import Mapping, Sequence

from aws_cdk import CustomResource
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager

from contract import tags
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.base import HTTPS, POSTGRESQL, closed_group, statement
from stacks.pipeline_names import construct_id
from stacks.preparation import Cluster, Preparation, captured_objects, read_secrets


class SourcePreparation:
    """Prepares each pipeline's database in the environment's own cluster.

    `prepared` are the custom resources, by pipeline. The loader creates the outbox's tables; for other pipelines only
    what the connector needs is created. `access` is the group through which functions reach the cluster.
    """

    def __init__(
        self,
        preparation: Preparation,
        *,
        environment: Environment,
        cluster: Cluster,
        master_secret: secretsmanager.ISecret,
        connector_secrets: Mapping[str, secretsmanager.ISecret],
        security_group: ec2.SecurityGroup,
    ) -> None:
        self._preparation = preparation
        self._settings = environment.database
        self._cluster = cluster
        self._master_secret = master_secret
        self._connector_secrets = connector_secrets
        self._security_group = security_group
        self.access = self._function_access()
        self.prepared: dict[str, CustomResource] = {}
        here = [pipeline for pipeline in environment.streamed if pipeline.database is None]
        # The loader runs first: it may create what another pipeline captures.
        self._prepare("Source", [pipeline for pipeline in here if pipeline.captured.outbox])
        self._prepare("Pipeline", [pipeline for pipeline in here if not pipeline.captured.outbox])

    def _prepare(self, what: str, pipelines: Sequence[EnvironmentPipeline]) -> None:
        if not pipelines:
            return
        before = [self._cluster, self._security_group, self.access, *self.prepared.values()]
        reason = "The preparation connects as the master, and gives the connector its password."
        rights = {reason: self._statements(pipelines)}
        provider = self._preparation.provider(f"{what}Preparation", self.access, rights)
        for pipeline in pipelines:
            request = self._cluster_request(pipeline) | (
                self._outbox_request(pipeline) if pipeline.captured.outbox else captured_objects(pipeline)
            )
            id_ = construct_id(pipeline, "PreparedSource")
            prepared = self._preparation.prepared(id_, f"Prepared{what}", provider, request, before)
            self.prepared[pipeline.name] = prepared

    def _cluster_request(self, pipeline: EnvironmentPipeline) -> dict[str, object]:
        return {
            "clusterIdentifier": self._cluster.cluster_identifier,
            "masterSecret": self._master_secret.secret_arn,
            "connectorSecret": self._connector_secrets[pipeline.name].secret_arn,
        }

    def _outbox_request(self, pipeline: EnvironmentPipeline) -> dict[str, object]:
        return {
            "database": self._settings.name,
            "slot": pipeline.captured.source.slot,
            "sampleData": self._settings.sample_data,
            "sampleScale": self._settings.sample_scale,
            "setMasterPassword": self._settings.restore is not None,
        }

    def _function_access(self) -> ec2.SecurityGroup:
        group = closed_group(self._preparation.stack, "PreparationAccess", self._preparation.vpc, "Source preparation")
        group.add_egress_rule(self._security_group, ec2.Port.tcp(POSTGRESQL), "The source database")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "Secrets Manager and RDS")
        self._security_group.add_ingress_rule(group, ec2.Port.tcp(POSTGRESQL), "Source preparation")
        return group

    def _statements(self, pipelines: Sequence[EnvironmentPipeline]) -> list[iam.PolicyStatement]:
        connectors = [self._connector_secrets[pipeline.name].secret_arn for pipeline in pipelines]
        arn = self._cluster.cluster_arn
        statements = [
            read_secrets(self._master_secret.secret_arn, *connectors),
            statement("rds:DescribeDBClusters", "rds:ListTagsForResource", on=arn),
            statement(
                "rds:AddTagsToResource",
                "rds:RemoveTagsFromResource",
                on=arn,
                when={"ForAllValues:StringLike": {"aws:TagKeys": [tags.ALL_KEYS]}},
            ),
        ]
        if self._settings.restore and pipelines[0].captured.outbox:
            # A restored cluster's master still has its origin's password.
            statements.append(statement("rds:ModifyDBCluster", on=arn))
        return statements
