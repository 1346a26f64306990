"""MSK Connect: Debezium from the outbox into the topic, the S3 sink from the topic into the landing bucket."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Annotations, CfnOutput, CustomResource, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from contract import rds_ca
from plugins.connectors import GENERATION, offset_topic, sink_connector, source_connector
from plugins.kafka_access import Grant, sink_access, source_access
from plugins.versions import Release, load_versions
from settings.connectors import ROOT_CERTIFICATE, sink_settings, source_settings, topics
from settings.environment import Connector, Environment
from stacks.connectors.providers import ConnectorProviders
from stacks.connectors.restarts import ConnectorRestarts
from stacks.connectors.roles import ConnectorRole
from stacks.connectors.topics import PipelineTopics
from stacks.connectors.worker_configuration import converters, worker_configuration
from stacks.database import DatabaseStack, source_parameter
from stacks.lake import LakeStack
from stacks.provider import HandlerProvider
from stacks.retention import removal, retention, tags_of
from stacks.streaming import StreamingStack

POSTGRESQL_PORT = 5432
PLUGIN_KEYS = "plugins/"
# The sink's bookkeeping for exactly once, in the landing bucket beside the objects.
SINK_BOOKKEEPING = (".indexes", ".temp-upload")
SECRETS_PROVIDER = "com.amazonaws.kafka.config.providers.SecretsManagerConfigProvider"


class ConnectorsStack(Stack):
    """Plugins, worker configurations, roles and connectors; plugins and connectors are custom resources."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: Environment,
        vpc: ec2.IVpc,
        database: DatabaseStack,
        streaming: StreamingStack,
        lake: LakeStack,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self._environment = environment
        self._vpc = vpc
        self._database = database
        self._streaming = streaming
        self._lake = lake
        self._source = source_settings(environment)
        self._sink = sink_settings(environment)
        self.source_connector_name = self._source.name
        self.sink_connector_name = self._sink.name
        self.log_group = self._log_group()
        self._providers = self._plugin_and_worker_providers()
        source_role, sink_role = self._source_role(), self._sink_role()
        provider = self._connector_provider(source_role, sink_role)
        source = self._source_connector(provider, source_role)
        sink = self._sink_connector(provider, sink_role)
        topics_made = self._topics()
        for connector in (source, sink):
            connector.node.add_dependency(topics_made)
        sink.node.add_dependency(source)
        ConnectorRestarts(self, "Restarts", names=[self._source.name, self._sink.name])
        self._open_database()
        self._warn()
        CfnOutput(self, "SourceConnectorArn", value=source.get_att_string("Arn"))
        CfnOutput(self, "SinkConnectorArn", value=sink.get_att_string("Arn"))
        CfnOutput(self, "Topic", value=self._source.topic)

    def _topics(self) -> CustomResource:
        """What both connectors find when they start: neither makes a topic, and a sink dies without its own."""
        made = PipelineTopics(
            self,
            "Topics",
            topics=topics(self._environment),
            generation=self._source_parameter("generation"),
            sink=self._sink,
            streaming=self._streaming,
            journal=self._environment.bucket_name("artefacts"),
            vpc=self._vpc,
        )
        return made.ready

    def _plugin_and_worker_providers(self) -> ConnectorProviders:
        bucket = self._environment.bucket_name("artefacts")
        prefix = self._environment.prefix
        return ConnectorProviders(self, "Providers", prefix=prefix, bucket=bucket, key_prefix=PLUGIN_KEYS)

    def _connector_provider(self, *roles: ConnectorRole) -> HandlerProvider:
        return self._providers.connector(
            role_arns=[role.arn for role in roles],
            log_group_arn=self.log_group.log_group_arn,
            names=[self._source.name, self._sink.name],
        )

    def _source_connector(self, provider: HandlerProvider, role: ConnectorRole) -> CustomResource:
        versions = load_versions()
        return self._connector(
            "Source",
            name=self._source.name,
            provider=provider,
            releases=[versions.debezium, versions.config_provider],
            resources={ROOT_CERTIFICATE: rds_ca.root(self._environment.region)},
            configuration=self._source_configuration(),
            worker_properties=self._source_worker(),
            role=role,
            capacity=self._environment.connectors.source,
        )

    def _sink_connector(self, provider: HandlerProvider, role: ConnectorRole) -> CustomResource:
        settings = self._environment.connectors.sink
        return self._connector(
            "Sink",
            name=self._sink.name,
            provider=provider,
            releases=[load_versions().lenses_s3],
            configuration=sink_connector(self._sink) | settings.configuration,
            worker_properties=converters(),
            role=role,
            capacity=settings,
        )

    def _log_group(self) -> logs.LogGroup:
        """Make the workers' log, and let log delivery write it, so that the handlers needn't have the right to."""
        group = logs.LogGroup(
            self,
            "WorkerLog",
            retention=retention(self._environment.connectors.log_retention_days),
            removal_policy=removal(self._environment),
        )
        here = f"{self.region}:{self.account}"
        # As AWS would write it itself: CloudWatch Logs user guide, "Logs sent to CloudWatch Logs".
        group.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AWSLogDeliveryWrite20150319",
                principals=[iam.ServicePrincipal("delivery.logs.amazonaws.com")],
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                # The group's own ARN ends in `:*`, which would go between its name and the stream's.
                resources=[f"arn:{self.partition}:logs:{here}:log-group:{group.log_group_name}:log-stream:*"],
                conditions={
                    "StringEquals": {"aws:SourceAccount": self.account},
                    "ArnLike": {"aws:SourceArn": f"arn:{self.partition}:logs:{here}:*"},
                },
            )
        )
        return group

    def _role(self, id_: str, connector: str, access: Sequence[Grant]) -> ConnectorRole:
        arn, name = self._streaming.cluster_arn, self._streaming.cluster_name
        return ConnectorRole(self, id_, connector=connector, access=access, cluster_arn=arn, cluster_name=name)

    def _source_role(self) -> ConnectorRole:
        role = self._role("SourceRole", self._source.name, source_access(self._source))
        role.may_read_secret(self._database.connector_secret)
        return role

    def _sink_role(self) -> ConnectorRole:
        role = self._role("SinkRole", self._sink.name, sink_access(self._sink))
        role.may_write_objects(self._sink.bucket, [self._sink.prefix, *SINK_BOOKKEEPING])
        return role

    def _source_worker(self) -> dict[str, str]:
        provider = {
            "config.providers": "secretsmanager",
            "config.providers.secretsmanager.class": SECRETS_PROVIDER,
            "config.providers.secretsmanager.param.region": self.region,
        }
        # Another one for each life of the source: a slot that was made anew doesn't know the offsets of another.
        return converters() | provider | {"offset.storage.topic": offset_topic(self._source.name, GENERATION)}

    def _source_parameter(self, name: str) -> str:
        """Read when this stack is deployed; the database's may change what it writes there."""
        value: str = ssm.StringParameter.value_for_string_parameter(self, source_parameter(self._environment, name))
        return value

    def _source_configuration(self) -> dict[str, str]:
        secret = self._database.connector_secret.secret_name
        addresses = {
            "database.hostname": self._source_parameter("host"),
            "database.password": f"${{secretsmanager:{secret}:password}}",
        }
        return source_connector(self._source) | addresses | self._environment.connectors.source.configuration

    def _connector(
        self,
        id_: str,
        *,
        name: str,
        provider: HandlerProvider,
        releases: list[Release],
        resources: dict[str, str] | None = None,
        configuration: dict[str, str],
        worker_properties: dict[str, str],
        role: ConnectorRole,
        capacity: Connector,
    ) -> CustomResource:
        """One connector with the plugin and the worker configuration that are its own."""
        plugin = self._plugin(id_, name, releases, resources or {})
        worker = worker_configuration(
            self,
            f"{id_}WorkerConfiguration",
            name=name,
            properties=worker_properties,
            generation=self._source_parameter("generation"),
        )
        connector = self._resource(
            f"{id_}Connector",
            provider,
            {
                "connectorName": name,
                "kafkaConnectVersion": self._environment.connectors.kafka_connect_version,
                "capacity": _capacity(capacity),
                "connectorConfiguration": configuration,
                "plugins": [{"customPlugin": plugin}],
                "workerConfiguration": {
                    "workerConfigurationArn": worker.attr_worker_configuration_arn,
                    # Its first is its only one: it can't be changed, as its type's documentation says.
                    "revision": 1,
                },
                "serviceExecutionRoleArn": role.arn,
                "logDelivery": {"workerLogDelivery": {"cloudWatchLogs": self._log_delivery()}},
                **self._cluster(),
            },
        )
        # With the policy below it, without which MSK Connect would have to write one.
        connector.node.add_dependency(role, self.log_group)
        return connector

    def _plugin(self, id_: str, name: str, releases: list[Release], resources: dict[str, str]) -> dict[str, str]:
        """Pack the releases, and `resources` by name, into a plugin; return what a connector names it by."""
        self._warn_of_unpinned(releases)
        plugin = self._resource(
            f"{id_}Plugin",
            self._providers.plugin,
            {
                "name": name,
                "bucket": self._lake.artefacts.bucket_name,
                "prefix": PLUGIN_KEYS,
                "releases": [release.request() for release in releases],
                **({"resources": resources} if resources else {}),
            },
        )
        return {"customPluginArn": plugin.get_att_string("Arn"), "revision": plugin.get_att_string("Revision")}

    def _log_delivery(self) -> dict[str, object]:
        return {"enabled": True, "logGroup": self.log_group.log_group_name}

    def _cluster(self) -> dict[str, object]:
        """Where the connectors reach Kafka, and how: IAM over TLS, in the brokers' own security group."""
        return {
            "kafkaCluster": {
                "apacheKafkaCluster": {
                    "bootstrapServers": self._streaming.bootstrap_brokers,
                    "vpc": {
                        "subnets": [subnet.subnet_id for subnet in self._vpc.private_subnets],
                        "securityGroups": [self._streaming.security_group.security_group_id],
                    },
                }
            },
            "kafkaClusterClientAuthentication": {"authenticationType": "IAM"},
            "kafkaClusterEncryptionInTransit": {"encryptionType": "TLS"},
        }

    def _resource(self, id_: str, provider: HandlerProvider, request: dict[str, object]) -> CustomResource:
        """One property with the whole request: CloudFormation would turn its numbers into strings.

        The app's tags are in it, because CloudFormation gives them only to types of its own, such as the log group.
        """
        request = {**request, "tags": tags_of(self.log_group.node.default_child)}
        return CustomResource(
            self,
            id_,
            service_token=provider.service_token,
            resource_type=f"Custom::{id_.removeprefix('Source').removeprefix('Sink')}",
            properties={"Request": self.to_json_string(request)},
        )

    def _open_database(self) -> None:
        """Let the connectors, who wear the brokers' security group, out to the database and into it."""
        brokers = self._streaming.security_group.security_group_id
        database = self._database.security_group.security_group_id
        port: dict[str, Any] = {"ip_protocol": "tcp", "from_port": POSTGRESQL_PORT, "to_port": POSTGRESQL_PORT}
        ec2.CfnSecurityGroupEgress(
            self,
            "ConnectorsToDatabase",
            group_id=brokers,
            destination_security_group_id=database,
            description="PostgreSQL",
            **port,
        )
        ec2.CfnSecurityGroupIngress(
            self,
            "DatabaseFromConnectors",
            group_id=database,
            source_security_group_id=brokers,
            description="PostgreSQL from the connectors",
            **port,
        )

    def _warn(self) -> None:
        for number, warning in enumerate(self._sink.warnings):
            Annotations.of(self).add_warning_v2(f"cdc-lake:sink-{number}", warning)

    def _warn_of_unpinned(self, releases: list[Release]) -> None:
        """A release without checksum may be looked at in a template; nothing of it is deployed."""
        for release in releases:
            if not release.pinned:
                Annotations.of(self).add_warning_v2(
                    f"cdc-lake:unpinned-{release.file}",
                    f"plugins/versions.toml has no SHA-256 for {release.file}, and the deployment will refuse it: run "
                    "`make lock-plugins`",
                )


def _capacity(settings: Connector) -> dict[str, object]:
    return {"provisionedCapacity": {"mcuCount": settings.mcu_per_worker, "workerCount": settings.workers}}
