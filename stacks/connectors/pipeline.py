"""What one pipeline has on MSK Connect: its two connectors, their roles and its topics."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_ssm as ssm

from plugins.connector_names import GENERATION, offset_topic
from plugins.kafka.access import Grant, own_worker_access, sink_access, source_access
from plugins.releases.versions import load_versions
from plugins.sink.sink_connector import sink_connector
from plugins.source.source_connector import SALT_KEY, salted, source_connector
from plugins.workers.own_workers import SECRETS_PROVIDER
from plugins.workers.worker_classes import OF_SOURCES, UTF8_ONLY, only_in_utf8, resources
from settings.connectors import root_certificate, sink_settings, source_settings, topics
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.connectors.connector import ConnectorSpec
from stacks.connectors.roles import ConnectorRole
from stacks.connectors.topics import WantedTopics
from stacks.connectors.worker_configuration import converters
from stacks.database import DatabaseStack
from stacks.kubernetes.manifests import NAMESPACE
from stacks.kubernetes.pods import pod_identity
from stacks.pipeline_names import construct_id, source_parameter
from stacks.streaming import StreamingStack

# The sink's bookkeeping for exactly once, in the landing bucket beside the objects.
SINK_BOOKKEEPING = (".indexes", ".temp-upload")


class PipelineConnectors:
    """A pipeline's settings, and the parts of the stack that are its own; ids begin with the pipeline's name."""

    def __init__(
        self,
        stack: Stack,
        *,
        environment: Environment,
        pipeline: EnvironmentPipeline,
        database: DatabaseStack,
        streaming: StreamingStack,
    ) -> None:
        self._stack = stack
        self._environment = environment
        self._pipeline = pipeline
        self._database = database
        self._streaming = streaming
        self.source = source_settings(environment, pipeline)
        self.sink = sink_settings(environment, pipeline)
        self.source_role, self.sink_role = self._source_role(), self._sink_role()

    @property
    def name(self) -> str:
        return self._pipeline.name

    @property
    def settings(self) -> EnvironmentPipeline:
        return self._pipeline

    def id(self, id_: str) -> str:
        return construct_id(self._pipeline, id_)

    def topics(self) -> WantedTopics:
        """What both connectors find when they start: neither makes a topic, and a sink dies without its own."""
        planned = topics(self._environment, self._pipeline)
        return WantedTopics(topics=planned, sink=self.sink, generation=self._source_parameter("generation"))

    def source_spec(self) -> ConnectorSpec:
        versions = load_versions()
        return ConnectorSpec(
            name=self.source.name,
            releases=[versions.debezium, versions.config_provider],
            resources={**root_certificate(self._environment, self._pipeline), **self._classes()},
            configuration=self._source_configuration(),
            worker_properties=self._source_worker(),
            role=self.source_role,
            capacity=self._pipeline.source,
            generation=self._source_parameter("generation"),
        )

    def _classes(self) -> dict[str, str]:
        """What the source's configuration may name beside Debezium's and Connect's own.

        Whatever its tables say of a TRUNCATE, and whether or not they have hashed columns: a plugin without a class
        would be taken before the configuration without its name.
        """
        ordinary = any(table.how == "log" for table in self._pipeline.captured.tables)
        return resources(*OF_SOURCES, UTF8_ONLY) if ordinary else resources(UTF8_ONLY)

    def sink_spec(self) -> ConnectorSpec:
        return ConnectorSpec(
            name=self.sink.name,
            releases=[load_versions().lenses_s3],
            resources=resources(UTF8_ONLY),
            configuration=self._checked(sink_connector(self.sink) | self._pipeline.sink.configuration),
            worker_properties=converters(),
            role=self.sink_role,
            capacity=self._pipeline.sink,
            generation=self._source_parameter("generation"),
        )

    def _role(self, id_: str, connector: str, access: Sequence[Grant]) -> ConnectorRole:
        pods = pod_identity(self._environment.prefix, NAMESPACE, connector) if self._environment.eks else None
        return ConnectorRole(
            self._stack,
            self.id(id_),
            connector=connector,
            access=access,
            cluster_arn=self._streaming.cluster_arn,
            cluster_name=self._streaming.cluster_name,
            worn_by=pods,
        )

    def _worker(self, connector: str, offsets: str) -> tuple[Grant, ...] | None:
        """What workers of ours do for themselves; None on MSK Connect."""
        return own_worker_access(connector, offsets) if self._environment.eks else None

    def _source_role(self) -> ConnectorRole:
        name = self.source.name
        access = source_access(self.source, worker=self._worker(name, offset_topic(name, "*")))
        role = self._role("SourceRole", name, access)
        role.may_read_secret(self._database.connector_secrets[self.name])
        if salt := self._database.salts.get(self.name):
            role.may_read_secret(salt)
        return role

    def _sink_role(self) -> ConnectorRole:
        name = self.sink.name
        access = sink_access(self.sink, worker=self._worker(name, offset_topic(name)))
        role = self._role("SinkRole", name, access)
        role.may_write_objects(self.sink.bucket, [self.sink.prefix, *SINK_BOOKKEEPING])
        return role

    def _source_worker(self) -> dict[str, str]:
        provider = {
            "config.providers": "secretsmanager",
            "config.providers.secretsmanager.class": SECRETS_PROVIDER,
            "config.providers.secretsmanager.param.region": self._stack.region,
        }
        # Another one for each life of the source: a slot that was made anew doesn't know the offsets of another.
        return converters() | provider | {"offset.storage.topic": offset_topic(self.source.name, GENERATION)}

    def _source_parameter(self, name: str) -> str:
        """Read when this stack is deployed; the database's may change what it writes there."""
        parameter = source_parameter(self._environment, self._pipeline, name)
        value: str = ssm.StringParameter.value_for_string_parameter(self._stack, parameter)
        return value

    def _source_configuration(self) -> dict[str, str]:
        outside = self._pipeline.database
        secret = outside.secret_name if outside else self._database.connector_secrets[self.name].secret_name
        addresses = {"database.password": f"${{secretsmanager:{secret}:password}}"}
        if outside is None:
            addresses["database.hostname"] = self._source_parameter("host")
        configuration = source_connector(self.source) | addresses
        if salt := self._database.salts.get(self.name):
            configuration = salted(configuration, f"${{secretsmanager:{salt.secret_name}:{SALT_KEY}}}")
        return self._checked(configuration | self._pipeline.source.configuration)

    def _checked(self, configuration: dict[str, str]) -> dict[str, str]:
        """Have a worker's charset looked at where we don't start its JVM."""
        return configuration if self._environment.eks else only_in_utf8(configuration)
