"""The connectors on EKS: for each its workers, its role and its configuration, by custom resources (decision 0095)."""

from collections.abc import Iterator

from aws_cdk import CfnOutput, CustomResource, Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from plugins.connector_names import GENERATION, offset_topic
from plugins.workers import worker_health
from plugins.workers.own_workers import BROKERS, IAM_LOGIN, OFFSETS, worker_properties
from settings.connectors import root_certificate
from settings.environment import Environment
from settings.services import Eks
from stacks.acceptances import acknowledge_wildcards
from stacks.connectors.connector import ConnectorSpec
from stacks.connectors.pipeline import PipelineConnectors
from stacks.database import DatabaseStack
from stacks.kubernetes.manifests import (
    NAMESPACE,
    PLUGINS,
    Destination,
    WorkerGroup,
    objects,
)
from stacks.kubernetes.shared import DEPLOYERS, WATCHERS
from stacks.kubernetes.stack import KubernetesStack
from stacks.outside_source import destinations
from stacks.paused import Paused
from stacks.provider import HandlerProvider, handler_function, network_interfaces, run_every
from stacks.streaming import IAM_PORT, StreamingStack

EVERY = Duration.minutes(1)
HTTPS, POSTGRESQL = 443, 5432
ANYWHERE = "0.0.0.0/0"
IN_A_VPC = "EC2's network interface actions that Lambda needs in a VPC have no resource before they exist."
FIGURES = "Figures have no ARN; those that are written are in the connectors' namespace alone."


class KubernetesConnectors(Construct):
    """Makes an environment's connectors on its cluster, opens their ways to brokers and databases, and watches them."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: Environment,
        kubernetes: KubernetesStack,
        streaming: StreamingStack,
        database: DatabaseStack,
        vpc: ec2.IVpc,
    ) -> None:
        super().__init__(scope, id_)
        self._environment = environment
        self._kubernetes = kubernetes
        self._streaming = streaming
        self._vpc = vpc
        self._names: list[str] = []
        self._provider = HandlerProvider(
            self,
            "Connector",
            module="kubernetes_connector",
            statements=[],
            journal=environment.bucket_name("artefacts"),
            vpc=vpc,
            security_groups=[kubernetes.handler_access],
        )
        entry = kubernetes.access_entry(self, "ConnectorAccess", self._provider.worker_role, DEPLOYERS)
        self._ways = [entry, *self._open(database)]

    def connectors(self, pipeline: PipelineConnectors, topics: CustomResource, *, paused: Paused) -> None:
        """Make a pipeline's two connectors, the sink after the source; in a pause those that run."""
        source = sink = None
        if not paused.leaves_out_sources:
            source = self._connector(pipeline.id("Source"), pipeline.source_spec(), pipeline)
            source.node.add_dependency(topics)
        if not paused.leaves_out_all:
            sink = self._connector(pipeline.id("Sink"), pipeline.sink_spec(), pipeline)
            sink.node.add_dependency(topics, *([source] if source else []))

    def watch(self) -> None:
        """Publish the figures of the connectors that were made and restart their failed tasks, every minute.

        Where a pause has left none it only rests: a function in the VPC takes long to delete, and its log stays.
        """
        role = iam.Role(self, "WatchRole", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        function = handler_function(
            self,
            "Watch",
            names="Watch",
            module="kubernetes_watch",
            role=role,
            timeout=Duration.minutes(1),
            vpc=self._vpc,
            security_groups=[self._kubernetes.handler_access],
            environment={
                "CLUSTER": Stack.of(self).to_json_string(self._kubernetes.address),
                "NAMESPACE": NAMESPACE,
                "METRICS": worker_health.namespace(self._environment.prefix),
                "CONNECTORS": ",".join(self._names),
            },
        )
        interfaces, figures = network_interfaces(), list(self._figures())
        for statement in (interfaces, *figures):
            role.add_to_policy(statement)
        acknowledge_wildcards(role, interfaces, reason=IN_A_VPC)
        acknowledge_wildcards(role, *figures, reason=FIGURES)
        description = "Figures of the connectors, and restarts of their failed tasks"
        run_every(function, EVERY, description=description, enabled=bool(self._names))
        self._kubernetes.access_entry(self, "WatchAccess", role, WATCHERS)

    def _figures(self) -> Iterator[iam.PolicyStatement]:
        namespace = worker_health.namespace(self._environment.prefix)
        yield iam.PolicyStatement(
            actions=["cloudwatch:PutMetricData"],
            resources=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": namespace}},
        )
        yield iam.PolicyStatement(actions=["cloudwatch:GetMetricData"], resources=["*"])

    def _connector(self, id_: str, spec: ConnectorSpec, pipeline: PipelineConnectors) -> CustomResource:
        self._names.append(spec.name)
        association = eks.CfnPodIdentityAssociation(
            self,
            f"{id_}Identity",
            cluster_name=self._kubernetes.name,
            namespace=NAMESPACE,
            service_account=spec.name,
            role_arn=spec.role.arn,
        )
        request = {
            "cluster": self._kubernetes.address,
            "connectorName": spec.name,
            "objects": objects(self._group(spec, pipeline)),
            "connectorConfiguration": spec.configuration,
        }
        connector = self._provider.resource(self, f"{id_}Connector", "Custom::KubernetesConnector", request)
        connector.node.add_dependency(association, spec.role, *self._ways)
        return connector

    def _group(self, spec: ConnectorSpec, pipeline: PipelineConnectors) -> WorkerGroup:
        settings = self._settings
        is_source = spec.name == pipeline.source.name
        offsets = offset_topic(spec.name, GENERATION).replace(GENERATION, spec.generation)
        return WorkerGroup(
            connector=spec.name,
            image=settings.image,
            workers=spec.capacity.workers,
            units=spec.capacity.mcu_per_worker,
            properties=worker_properties(
                spec.name,
                plugin_path=PLUGINS,
                login=IAM_LOGIN,
                secrets_region=self._environment.region if is_source else None,
            ),
            variables={
                BROKERS: self._streaming.bootstrap_brokers,
                OFFSETS: offsets if is_source else offset_topic(spec.name),
            },
            files=root_certificate(self._environment, pipeline.settings) if is_source else {},
            destinations=tuple(self._destinations(pipeline, is_source=is_source)),
            api=self._environment.network.cidr,
            # A source has one task: more workers would wait beside it.
            most=0 if is_source else settings.maximum_workers,
        )

    @property
    def _settings(self) -> Eks:
        settings = self._environment.eks
        assert settings is not None  # noqa: S101  whoever makes this has looked
        return settings

    def _destinations(self, pipeline: PipelineConnectors, *, is_source: bool) -> Iterator[Destination]:
        """The brokers, AWS's own services, and for a source its database."""
        yield Destination(cidr=self._environment.network.cidr, port=IAM_PORT)
        yield Destination(cidr=ANYWHERE, port=HTTPS)
        if not is_source:
            return
        outside = pipeline.settings.database
        if outside is None:
            yield Destination(cidr=self._environment.network.cidr, port=POSTGRESQL)
        else:
            # By a security group it is let in there, wherever that is.
            yield from (Destination(cidr=cidr, port=outside.port) for cidr in outside.cidrs or (ANYWHERE,))

    def _open(self, database: DatabaseStack) -> Iterator[ec2.CfnSecurityGroupIngress]:
        """Let the pods in: to the brokers, and to the environment's database."""
        pods = self._kubernetes.security_group_id
        doors = (
            ("BrokersFromPods", self._streaming.security_group, IAM_PORT, "Kafka from the connectors' pods"),
            ("DatabaseFromPods", database.security_group, POSTGRESQL, "PostgreSQL from the connectors' pods"),
        )
        for id_, group, port, description in doors:
            yield ec2.CfnSecurityGroupIngress(
                self,
                id_,
                group_id=group.security_group_id,
                source_security_group_id=pods,
                ip_protocol="tcp",
                from_port=port,
                to_port=port,
                description=description,
            )
        if destinations(self._environment):
            CfnOutput(Stack.of(self), "ClientSecurityGroup", value=pods)
