"""The connectors: per pipeline Debezium from the database into topics, the S3 sink from topics into the lake."""

from typing import Any

from aws_cdk import Annotations, CfnOutput, CustomResource, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from settings.environment import Environment
from stacks.connectors.connector import PLUGIN_KEYS, Connectors
from stacks.connectors.pipeline import PipelineConnectors
from stacks.connectors.providers import ConnectorProviders
from stacks.connectors.restarts import ConnectorRestarts
from stacks.connectors.topics import PipelineTopics
from stacks.database import DatabaseStack
from stacks.kubernetes.connectors import KubernetesConnectors
from stacks.kubernetes.stack import KubernetesStack
from stacks.lake import LakeStack
from stacks.outside_source import destinations
from stacks.paused import Paused
from stacks.paused_output import add_paused_output
from stacks.provider import HandlerProvider
from stacks.retention import removal, retention
from stacks.streaming import StreamingStack

POSTGRESQL_PORT = 5432


class ConnectorsStack(Stack):
    """Plugins, worker configurations, roles and connectors; plugins and connectors are custom resources.

    With `kubernetes`, that cluster runs the connectors, each by workers of its own; without, MSK Connect does.

    `pipelines` has the settings of each pipeline's connectors, in the environment's order; what is queried has none.
    """

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
        paused: Paused = Paused.NOTHING,
        kubernetes: KubernetesStack | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self._paused = paused
        self._environment = environment
        self._vpc = vpc
        self._database = database
        self._streaming = streaming
        self._lake = lake
        if environment.eks is None:
            self.log_group = self._log_group()
            self._providers = self._plugin_and_worker_providers()
        self.pipelines = [
            PipelineConnectors(self, environment=environment, pipeline=pipeline, database=database, streaming=streaming)
            for pipeline in environment.streamed
        ]
        if self.pipelines:
            self._connect(kubernetes)
        add_paused_output(self, paused)

    def _connect(self, kubernetes: KubernetesStack | None) -> None:
        names = [name for pipeline in self.pipelines for name in (pipeline.source.name, pipeline.sink.name)]
        if kubernetes is not None:
            self._on_kubernetes(kubernetes)
            return
        provider, topics = self._connector_provider(names), self._topics()
        for pipeline in self.pipelines:
            self._connectors(pipeline, provider, topics.ready[pipeline.id("Topics")])
        ConnectorRestarts(self, "Restarts", names=names)
        self._open_database()
        self._open_outside()

    def _on_kubernetes(self, kubernetes: KubernetesStack) -> None:
        """Make all connectors on the environment's EKS cluster, their topics before them."""
        topics = self._topics()
        workers = KubernetesConnectors(
            self,
            "Kubernetes",
            environment=self._environment,
            kubernetes=kubernetes,
            streaming=self._streaming,
            database=self._database,
            vpc=self._vpc,
        )
        for pipeline in self.pipelines:
            workers.connectors(pipeline, topics.ready[pipeline.id("Topics")], paused=self._paused)
            self._say(pipeline)
        workers.watch()

    def _topics(self) -> PipelineTopics:
        return PipelineTopics(
            self,
            "Topics",
            wanted={pipeline.id("Topics"): pipeline.topics() for pipeline in self.pipelines},
            streaming=self._streaming,
            journal=self._environment.bucket_name("artefacts"),
            vpc=self._vpc,
            paused=self._paused,
        )

    def _connectors(self, pipeline: PipelineConnectors, provider: HandlerProvider, topics: CustomResource) -> None:
        """Make a pipeline's two connectors, its topics before them; in a pause what they need stays."""
        connectors = Connectors(
            self,
            kafka_connect_version=self._environment.connectors.kafka_connect_version,
            artefacts=self._lake.artefacts.bucket_name,
            providers=self._providers,
            log_group=self.log_group,
            streaming=self._streaming,
            vpc=self._vpc,
        )
        reads, lands = not self._paused.leaves_out_sources, not self._paused.leaves_out_all
        source = connectors.connector(pipeline.id("Source"), pipeline.source_spec(), provider, runs=reads)
        sink = connectors.connector(pipeline.id("Sink"), pipeline.sink_spec(), provider, runs=lands)
        for name, connector in (("Source", source), ("Sink", sink)):
            if connector is not None:
                connector.node.add_dependency(topics)
                CfnOutput(self, pipeline.id(f"{name}ConnectorArn"), value=connector.get_att_string("Arn"))
        if source is not None and sink is not None:
            sink.node.add_dependency(source)
        self._say(pipeline)

    def _say(self, pipeline: PipelineConnectors) -> None:
        for number, warning in enumerate(pipeline.sink.warnings):
            Annotations.of(self).add_warning_v2(f"cdc-lake:{pipeline.id('sink')}-{number}", warning)
        CfnOutput(self, pipeline.id("Topic"), value=",".join(pipeline.source.topics))

    def _plugin_and_worker_providers(self) -> ConnectorProviders:
        bucket = self._environment.bucket_name("artefacts")
        prefix = self._environment.prefix
        return ConnectorProviders(self, "Providers", prefix=prefix, bucket=bucket, key_prefix=PLUGIN_KEYS)

    def _connector_provider(self, names: list[str]) -> HandlerProvider:
        return self._providers.connector(
            role_arns=[role.arn for pipeline in self.pipelines for role in (pipeline.source_role, pipeline.sink_role)],
            log_group_arn=self.log_group.log_group_arn,
            names=names,
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

    def _open_outside(self) -> None:
        """Allow egress to external databases; their owners admit this security group."""
        brokers = self._streaming.security_group.security_group_id
        ways = destinations(self._environment)
        for way in ways:
            ec2.CfnSecurityGroupEgress(
                self,
                way.id,
                group_id=brokers,
                cidr_ip=way.cidr,
                destination_security_group_id=way.security_group,
                ip_protocol="tcp",
                from_port=way.port,
                to_port=way.port,
                description="PostgreSQL of an outside database",
            )
        if ways:
            CfnOutput(self, "ClientSecurityGroup", value=brokers)
