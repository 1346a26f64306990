"""What one pipeline has on either platform: its connectors' settings and roles, and its topics."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from contract.column_types.hashes import SALT_KEY
from plugins.connector_names import GENERATION, offset_topic
from plugins.connector_properties import JSON_CONVERTER
from plugins.kafka.topics import Grant, own_worker_access, sink_access, source_access
from plugins.releases.versions import Release, load_versions
from plugins.workers.connect_workers import OF_SOURCES, SECRETS_PROVIDER, UTF8_ONLY, resources
from settings.connectors import (
    root_certificate,
    sink_configuration,
    sink_settings,
    source_configuration,
    source_settings,
    topics,
)
from settings.environment import Environment
from settings.environment_pipeline import Connector, EnvironmentPipeline
from stacks.base import allow, source_value
from stacks.connectors.manifests import NAMESPACE
from stacks.connectors.roles import (
    PREFIXES,
    allow_objects,
    allow_secret,
    kafka_statements,
    msk_connect,
    pod_identity,
)
from stacks.database import DatabaseStack
from stacks.streaming import StreamingStack

# The sink's exactly-once bookkeeping, in the landing bucket next to the objects.
SINK_BOOKKEEPING = (".indexes", ".temp-upload")
# MSK Connect requires converters in each worker configuration; the connectors set their own.
CONVERTERS = {"key.converter": JSON_CONVERTER, "value.converter": JSON_CONVERTER}


@dataclass(frozen=True, kw_only=True)
class ConnectorSpec:
    """A connector: its name, code, configuration and role.

    `classes` and `certificates` are files by name, for its plugin or its workers. `reads` is the pipeline whose
    database a source reads; None for a sink. `generation` is its source's, known to CloudFormation at deployment.
    """

    name: str
    releases: list[Release]
    configuration: dict[str, str]
    worker_properties: dict[str, str]
    role: iam.Role
    capacity: Connector
    generation: str
    classes: dict[str, str]
    certificates: dict[str, str] = field(default_factory=dict)
    reads: EnvironmentPipeline | None = None


class PipelineConnectors:
    """A pipeline's settings and its own constructs; their ids begin with the pipeline's name."""

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
        self._streaming = streaming
        self._secret = database.connector_secrets[pipeline.name]
        self._salt = database.salts.get(pipeline.name)
        self.name = pipeline.name
        self.source = source_settings(environment, pipeline)
        self.sink = sink_settings(environment, pipeline)
        # Both connectors need them before they start: neither creates one, and a sink fails without its own.
        self.topics = topics(environment, pipeline)
        # Known to CloudFormation at deployment.
        self.generation = source_value(stack, environment, pipeline, "generation")
        self.source_role, self.sink_role = self._source_role(), self._sink_role()

    def id(self, id_: str) -> str:
        return self._pipeline.construct_id(id_)

    def source_spec(self) -> ConnectorSpec:
        versions, outside = load_versions(), self._pipeline.database
        # Reading our own cluster's address makes a parameter of the template.
        host = outside.host if outside else source_value(self._stack, self._environment, self._pipeline, "host")
        return ConnectorSpec(
            name=self.source.name,
            releases=[versions.debezium, versions.config_provider],
            classes=self._classes(),
            certificates=root_certificate(self._environment, self._pipeline),
            reads=self._pipeline,
            # By name: a reference can't have an ARN's colons.
            configuration=source_configuration(
                self._environment,
                self._pipeline,
                password=f"${{secretsmanager:{self._secret.secret_name}:password}}",
                hostname=host,
                salt=f"${{secretsmanager:{self._salt.secret_name}:{SALT_KEY}}}" if self._salt else None,
            ),
            worker_properties={
                **CONVERTERS,
                "config.providers": "secretsmanager",
                "config.providers.secretsmanager.class": SECRETS_PROVIDER,
                "config.providers.secretsmanager.param.region": self._stack.region,
                # A new topic per generation of the source: a recreated slot doesn't match the old slot's offsets.
                "offset.storage.topic": offset_topic(self.source.name, GENERATION),
            },
            role=self.source_role,
            capacity=self._pipeline.source,
            generation=self.generation,
        )

    def _classes(self) -> dict[str, str]:
        """Return the classes that the source's configuration may name in addition to Debezium's and Connect's.

        They don't depend on the tables' TRUNCATE settings or hashed columns: otherwise an update could remove a class
        from the plugin before its name leaves the configuration.
        """
        ordinary = any(table.how == "log" for table in self._pipeline.captured.tables)
        return resources(*OF_SOURCES, UTF8_ONLY) if ordinary else resources(UTF8_ONLY)

    def sink_spec(self) -> ConnectorSpec:
        return ConnectorSpec(
            name=self.sink.name,
            releases=[load_versions().lenses_s3],
            classes=resources(UTF8_ONLY),
            configuration=sink_configuration(self._environment, self._pipeline),
            worker_properties=CONVERTERS,
            role=self.sink_role,
            capacity=self._pipeline.sink,
            generation=self.generation,
        )

    def _source_role(self) -> iam.Role:
        name = self.source.name
        access = source_access(self.source, worker=self._worker(name, offset_topic(name, "*")))
        role = self._role("SourceRole", name, access)
        for secret in filter(None, (self._secret, self._salt)):
            allow_secret(role, secret)
        return role

    def _sink_role(self) -> iam.Role:
        name = self.sink.name
        access = sink_access(self.sink, worker=self._worker(name, offset_topic(name)))
        role = self._role("SinkRole", name, access)
        allow_objects(role, self.sink.bucket, [self.sink.prefix, *SINK_BOOKKEEPING])
        return role

    def _worker(self, connector: str, offsets: str) -> tuple[Grant, ...] | None:
        """Access that our own workers need for themselves; None on MSK Connect."""
        return own_worker_access(connector, offsets) if self._environment.eks else None

    def _role(self, id_: str, connector: str, access: Sequence[Grant]) -> iam.Role:
        if self._environment.eks:
            worn_by = pod_identity(self._environment.prefix, NAMESPACE, connector)
        else:
            worn_by = msk_connect(self._stack, connector)
        role = iam.Role(Construct(self._stack, self.id(id_)), "Role", assumed_by=worn_by)
        for each in kafka_statements(self._stack, access, self._streaming):
            allow(role, each, reason=PREFIXES)
        return role
