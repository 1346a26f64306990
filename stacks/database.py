"""The source database: Aurora PostgreSQL, prepared for change data capture before any connector is created.

With each pipeline's secrets, whose values are generated: its role's login, and the salt of its hashed columns.

A cluster restored from a snapshot, or from another cluster at a point in time, inherits user, password and encryption
from its origin: "If you specify the SourceDBClusterIdentifier, SnapshotIdentifier, or GlobalClusterIdentifier property,
don't specify this property" (MasterUsername and MasterUserPassword in AWS::RDS::DBCluster's reference). So the source
preparation sets the master's password from the new secret, which rotates from then on (stacks/handlers/preparation.py).
"""

import json
import string
from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from contract import rds_ca
from contract.column_types.hashes import SALT_KEY
from settings.environment import Environment
from settings.environment_pipeline import POSTGRESQL, EnvironmentPipeline
from settings.services import Restore
from stacks.base import EnvironmentStack, acknowledge, closed_group, keeps, log_group, removal, statement
from stacks.network import NetworkStack
from stacks.preparation import Cluster, Preparations
from stacks.provider import HandlerProvider

MASTER_USER = "postgres"
# Passwords have only letters and digits: they appear in URLs, configurations and connection strings.
NOT_IN_PASSWORDS = string.punctuation
SALT_CHARACTERS = 64
# By whether the pipeline is query-based.
_WHO_READS = {
    False: "A connector reads it when it starts: a rotation would stop the stream at its next reconnection. The role "
    "can read every table's changes, as who replicates can.",
    True: "The job reads it at each connection, and a rotation would have to change the role's password, too. The role "
    "may only read what its pipeline queries.",
}
_TOO = " The job reads it, too, for the first rows of tables."
_UNSALTED = "Another salt is another hash of every value: no row of the lake would compare with the source's again."


class DatabaseStack(EnvironmentStack):
    """One writer, and readers if the environment has them. Connectors start after their source's preparation.

    `connector_secrets` are JSON with `username` and `password` of each pipeline's role, by pipeline; `salts` those of
    pipelines that hash columns. Clients open POSTGRESQL of `security_group` from their own stacks.
    """

    def __init__(self, scope: Construct, environment: Environment, network: NetworkStack) -> None:
        super().__init__(scope, "database", environment)
        self._settings = environment.database
        self._vpc = network.vpc
        self.security_group = self._security_group(network.vpn_access)
        name = f"/aws/rds/cluster/{environment.database_cluster}/postgresql"
        self.log_group = log_group(self, "ServerLog", environment, self._settings.log_retention_days, name=name)
        self.cluster = self._cluster()
        self.connector_secrets = {
            each.name: _connector_secret(self, environment, each) for each in environment.pipelines
        }
        hashing = [pipeline for pipeline in environment.pipelines if pipeline.hashes]
        self.salts = {pipeline.name: _hash_salt(self, environment, pipeline) for pipeline in hashing}
        self._preparations = Preparations(
            self,
            environment,
            network.vpc,
            cluster=self.cluster,
            master_secret=self._master_secret(),
            connector_secrets=self.connector_secrets,
            security_group=self.security_group,
        )
        if self._settings.deletion_protection:
            self._protect()
        self._parameters_for_others()
        self._outputs()

    def _security_group(self, vpn_access: ec2.ISecurityGroup) -> ec2.SecurityGroup:
        group = closed_group(self, "DatabaseAccess", self._vpc, "The source database")
        group.add_ingress_rule(vpn_access, ec2.Port.tcp(POSTGRESQL), "SQL clients on the VPN")
        # A retained cluster needs its group.
        group.apply_removal_policy(removal(self._environment))
        return group

    def _cluster(self) -> Cluster:
        version = self._settings.engine_version
        engine = rds.DatabaseClusterEngine.aurora_postgres(
            version=rds.AuroraPostgresEngineVersion.of(version, version.split(".")[0])
        )
        writer, *readers = self._instances()
        common: dict[str, Any] = {
            "engine": engine,
            # Fixed, for the log group; a change that would replace the cluster, and its data, fails on the name.
            "cluster_identifier": self._environment.database_cluster,
            "writer": writer,
            "readers": readers,
            "vpc": self._vpc,
            "vpc_subnets": ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS),
            "security_groups": [self.security_group],
            "parameter_group": self._parameters(engine),
            "iam_authentication": True,
            "backup": rds.BackupProps(retention=Duration.days(self._settings.backup_retention_days)),
            "cloudwatch_logs_exports": ["postgresql"],
            # If on, it is switched on last: stacks/handlers/database_protection.py says why.
            "deletion_protection": None if self._settings.deletion_protection else False,
            "removal_policy": removal(self._environment),
        }
        restore = self._settings.restore
        cluster = self._restored(restore, common) if restore else self._new(common)
        self._keep_what_a_kept_cluster_needs(cluster)
        self._rotate(cluster)
        return cluster

    def _new(self, common: dict[str, Any]) -> rds.DatabaseCluster:
        return rds.DatabaseCluster(
            self,
            "Database",
            default_database_name=self._settings.name,
            credentials=rds.Credentials.from_generated_secret(MASTER_USER, exclude_characters=NOT_IN_PASSWORDS),
            storage_encrypted=True,
            **common,
        )

    def _restored(self, restore: Restore, common: dict[str, Any]) -> rds.DatabaseClusterFromSnapshot:
        credentials = rds.SnapshotCredentials.from_generated_secret(MASTER_USER, exclude_characters=NOT_IN_PASSWORDS)
        cluster = rds.DatabaseClusterFromSnapshot(
            self,
            "Database",
            snapshot_identifier=restore.snapshot or "",
            snapshot_credentials=credentials,
            **common,
        )
        resource = cluster.node.default_child
        assert isinstance(resource, rds.CfnDBCluster)  # noqa: S101  CDK's own type is looser
        resource.master_user_password = None
        if restore.cluster is not None:
            resource.snapshot_identifier = None
            resource.source_db_cluster_identifier = restore.cluster
            resource.restore_to_time = restore.time
            resource.use_latest_restorable_time = None if restore.time else True
        reason = "What is restored is encrypted as its snapshot or source is; every cluster of ours is."
        acknowledge(cluster, "AwsSolutions-RDS2", reason=reason)
        return cluster

    def _instances(self) -> list[rds.IClusterInstance]:
        """The writer first. The environment file chooses minor versions, so that it always states the running one."""
        names = ["Writer", *(f"Reader{number}" for number in range(1, self._settings.instances))]
        return [
            rds.ClusterInstance.provisioned(
                name,
                instance_type=ec2.InstanceType(self._settings.instance_class),
                auto_minor_version_upgrade=False,
                publicly_accessible=False,
                # Clients verify it (contract/rds_ca.py), so don't rely on the account's default, which may change.
                ca_certificate=rds.CaCertificate.of(rds_ca.IDENTIFIER),
            )
            for name in names
        ]

    def _parameters(self, engine: rds.IClusterEngine) -> rds.ParameterGroup:
        return rds.ParameterGroup(
            self,
            "Parameters",
            engine=engine,
            description="Logical replication, and TLS for everybody",
            parameters={"rds.logical_replication": "1", "rds.force_ssl": "1"},
            removal_policy=removal(self._environment),
        )

    def _keep_what_a_kept_cluster_needs(self, cluster: Cluster) -> None:
        for child in cluster.node.children:
            if isinstance(child, secretsmanager.Secret):
                child.apply_removal_policy(removal(self._environment))
        cluster.node.add_dependency(self.log_group)
        if keeps(self._environment):
            # CDK 2.275 passes only RETAIN on to these (aws-rds, helperRemovalPolicy).
            for child in cluster.node.find_all():
                if isinstance(child, rds.CfnDBInstance | rds.CfnDBSubnetGroup):
                    child.apply_removal_policy(removal(self._environment))
        protected = (
            "A custom resource protects it as the stack's last step, so that a first deployment can be rolled back."
        )
        thrown_away = "For trying things out, with generated data: `cdk destroy` is to remove it whole."
        reason = protected if self._settings.deletion_protection else thrown_away
        acknowledge(cluster, "AwsSolutions-RDS10", reason=reason)

    def _rotate(self, cluster: Cluster) -> None:
        days = self._settings.secret_rotation_days
        if days:
            cluster.add_rotation_single_user(
                automatically_after=Duration.days(days), exclude_characters=NOT_IN_PASSWORDS
            )
            return
        acknowledge(
            cluster,
            "AwsSolutions-SMG4",
            reason="Rotation is a setting (secret_rotation_days), off where the database holds generated data only.",
        )

    def _protect(self) -> None:
        """Protect the cluster from deletion once nothing in this stack can fail any more."""
        protecting = statement("rds:DescribeDBClusters", "rds:ModifyDBCluster", on=self.cluster.cluster_arn)
        rights = {"It sets deletion protection on this cluster, and asks for nothing else.": [protecting]}
        provider = HandlerProvider(self, "Protection", module="database_protection", rights=rights)
        request = {"clusterIdentifier": self.cluster.cluster_identifier}
        after = [*self._preparations.own.values(), *self._preparations.readable, self.cluster]
        provider.resource(self, "ProtectedDatabase", "ProtectedDatabase", request, after=after)

    def _master_secret(self) -> secretsmanager.ISecret:
        secret = self.cluster.secret
        assert secret is not None  # noqa: S101  we let CDK generate it
        return secret

    def _parameters_for_others(self) -> None:
        """Publish changeable values as parameters, for restores and new generations: an export in use can't change."""
        restore = self._settings.restore
        self._parameter(self._environment.pipelines[0], "host", self.cluster.cluster_endpoint.hostname, "")
        for pipeline in self._environment.streamed:
            generation = self._preparations.prepared[pipeline.name].get_att_string("Generation")
            if restore and pipeline.database is None:
                generation += f"-{restore.name}"
            self._parameter(pipeline, "generation", generation, pipeline.construct_id(""))

    def _parameter(self, pipeline: EnvironmentPipeline, name: str, value: str, id_: str) -> None:
        ssm.StringParameter(
            self,
            f"{id_}Source{name.capitalize()}",
            parameter_name=self._environment.source_parameter(pipeline, name),
            string_value=value,
        )

    def _outputs(self) -> None:
        CfnOutput(self, "Endpoint", value=self.cluster.cluster_endpoint.socket_address)
        CfnOutput(self, "MasterSecretName", value=self._master_secret().secret_name)
        for pipeline in self._environment.pipelines:
            name = self.connector_secrets[pipeline.name].secret_name
            CfnOutput(self, pipeline.construct_id("ConnectorSecretName"), value=name)
            if salt := self.salts.get(pipeline.name):
                CfnOutput(self, pipeline.construct_id("HashSaltName"), value=salt.secret_name)


def _connector_secret(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline) -> secretsmanager.ISecret:
    """Create the secret, JSON with `username` and `password`, or return an external database's existing one."""
    id_, role = pipeline.construct_id("ConnectorSecret"), pipeline.connector_role
    if pipeline.database is not None:
        return secretsmanager.Secret.from_secret_complete_arn(stack, id_, pipeline.database.secret)
    return _generated(
        stack,
        id_,
        environment,
        f"The role {role} of {environment.prefix}'s source database",
        f"{_WHO_READS[pipeline.is_queried]}{_TOO if pipeline.loads_directly else ''} docs/decisions/0053 says how it is"
        " changed by hand.",
        {"username": role},
        generate_string_key="password",
    )


def _hash_salt(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline) -> secretsmanager.ISecret:
    """Create the secret, JSON with SALT_KEY, for the connector's worker and a job that reads first rows.

    It is kept as long as the lake's rows: another salt gives the same value another hash.
    """
    return _generated(
        stack,
        pipeline.construct_id("HashSalt"),
        environment,
        f"What goes before the hashed values of {environment.prefix}'s pipeline {pipeline.name}",
        _UNSALTED,
        {},
        generate_string_key=SALT_KEY,
        password_length=SALT_CHARACTERS,
    )


def _generated(
    stack: Stack,
    id_: str,
    environment: Environment,
    description: str,
    not_rotated: str,
    template: Mapping[str, str],
    **generator: Any,
) -> secretsmanager.Secret:
    generated = secretsmanager.SecretStringGenerator(
        secret_string_template=json.dumps(template), exclude_punctuation=True, **generator
    )
    policy = removal(environment)
    secret = secretsmanager.Secret(
        stack, id_, description=description, generate_secret_string=generated, removal_policy=policy
    )
    acknowledge(secret, "AwsSolutions-SMG4", reason=not_rotated)
    return secret
