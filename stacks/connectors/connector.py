"""One connector on MSK Connect, with the plugin and the worker configuration that are its own."""

from dataclasses import dataclass, field

from aws_cdk import Annotations, CustomResource, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs

from plugins.releases.versions import Release
from settings.environment_pipeline import Connector
from stacks.connectors.providers import ConnectorProviders
from stacks.connectors.roles import ConnectorRole
from stacks.connectors.worker_configuration import worker_configuration
from stacks.provider import HandlerProvider
from stacks.streaming import StreamingStack
from stacks.tags import tags_of

PLUGIN_KEYS = "plugins/"


@dataclass(frozen=True, kw_only=True)
class ConnectorSpec:
    """What makes a connector: its name, what it runs, how, and as whom; `resources` go into its plugin by name.

    `generation` is its source's, as CloudFormation will know it.
    """

    name: str
    releases: list[Release]
    configuration: dict[str, str]
    worker_properties: dict[str, str]
    role: ConnectorRole
    capacity: Connector
    generation: str
    resources: dict[str, str] = field(default_factory=dict)


class Connectors:
    """Makes connectors of one stack: plugins and connectors are custom resources, with the environment's Kafka."""

    def __init__(
        self,
        stack: Stack,
        *,
        kafka_connect_version: str,
        artefacts: str,
        providers: ConnectorProviders,
        log_group: logs.LogGroup,
        streaming: StreamingStack,
        vpc: ec2.IVpc,
    ) -> None:
        self._stack = stack
        self._version = kafka_connect_version
        self._artefacts = artefacts
        self._providers = providers
        self._log_group = log_group
        self._streaming = streaming
        self._vpc = vpc

    def connector(
        self, id_: str, spec: ConnectorSpec, provider: HandlerProvider, *, runs: bool
    ) -> CustomResource | None:
        """Make one connector, or only what it would need; the ids of its resources begin with `id_`."""
        plugin = self._plugin(id_, spec)
        worker = worker_configuration(
            self._stack,
            f"{id_}WorkerConfiguration",
            name=spec.name,
            properties=spec.worker_properties,
            generation=spec.generation,
        )
        if not runs:
            return None
        capacity = {"mcuCount": spec.capacity.mcu_per_worker, "workerCount": spec.capacity.workers}
        connector = self._resource(
            f"{id_}Connector",
            "Connector",
            provider,
            {
                "connectorName": spec.name,
                "kafkaConnectVersion": self._version,
                "capacity": {"provisionedCapacity": capacity},
                "connectorConfiguration": spec.configuration,
                "plugins": [{"customPlugin": plugin}],
                "workerConfiguration": {
                    "workerConfigurationArn": worker.attr_worker_configuration_arn,
                    # Its first is its only one: it can't be changed, as its type's documentation says.
                    "revision": 1,
                },
                "serviceExecutionRoleArn": spec.role.arn,
                "logDelivery": {"workerLogDelivery": {"cloudWatchLogs": self._log_delivery()}},
                **self._cluster(),
            },
        )
        # The log group brings its policy, so MSK Connect needs no right to write one.
        connector.node.add_dependency(spec.role, self._log_group)
        return connector

    def _plugin(self, id_: str, spec: ConnectorSpec) -> dict[str, str]:
        """Pack releases and resources into a plugin; return what a connector names it by."""
        self._warn_of_unpinned(spec.releases)
        plugin = self._resource(
            f"{id_}Plugin",
            "Plugin",
            self._providers.plugin,
            {
                "name": spec.name,
                "bucket": self._artefacts,
                "prefix": PLUGIN_KEYS,
                "releases": [release.request() for release in spec.releases],
                **({"resources": spec.resources} if spec.resources else {}),
            },
        )
        return {"customPluginArn": plugin.get_att_string("Arn"), "revision": plugin.get_att_string("Revision")}

    def _log_delivery(self) -> dict[str, object]:
        return {"enabled": True, "logGroup": self._log_group.log_group_name}

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

    def _resource(self, id_: str, type_: str, provider: HandlerProvider, request: dict[str, object]) -> CustomResource:
        """One property with the whole request: CloudFormation would turn its numbers into strings.

        The app's tags are in it, because CloudFormation gives them only to types of its own, such as the log group.
        """
        request = {**request, "tags": tags_of(self._log_group.node.default_child)}
        return provider.resource(self._stack, id_, f"Custom::{type_}", request)

    def _warn_of_unpinned(self, releases: list[Release]) -> None:
        """A release without checksum may be looked at in a template; nothing of it is deployed."""
        for release in releases:
            if not release.pinned:
                Annotations.of(self._stack).add_warning_v2(
                    f"cdc-lake:unpinned-{release.file}",
                    f"plugins/releases/versions.toml has no SHA-256 for {release.file}, and the deployment will refuse "
                    "it: run `./lake dev lock plugins`",
                )
