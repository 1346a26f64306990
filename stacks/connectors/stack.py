"""The connectors: per pipeline, Debezium from the database to topics and the S3 sink from topics to the lake.

A handler inside the VPC, with its rights, creates the topics before the connectors (decision 0042).
"""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Annotations, CfnOutput, CustomResource, Duration
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from plugins.connector_names import sink_group
from plugins.kafka.topics import of_generation, topics_access
from settings.environment import Environment
from stacks.base import HTTPS, EnvironmentStack, closed_group, let_in
from stacks.connectors.eks import EksConnectors
from stacks.connectors.eks_cluster import KubernetesStack
from stacks.connectors.msk_connect import MskConnect
from stacks.connectors.roles import kafka_statements
from stacks.connectors.specs import PipelineConnectors
from stacks.database import DatabaseStack
from stacks.lake import LakeStack
from stacks.lambda_assets import KAFKA
from stacks.network import NetworkStack
from stacks.paused import OUTPUT, Paused
from stacks.provider import NEWER_RUNTIME, HandlerProvider, layer_version
from stacks.streaming import IAM_PORT, StreamingStack

# Where connectors run.
Platform = MskConnect | EksConnectors
# Covers brokers that restart in an update, and rights that IAM is still propagating.
PATIENCE = Duration.minutes(15)
CLUSTER = "AWS chooses the cluster's uuid, and its name is unique by itself; topics and group are named in full."


class ConnectorsStack(EnvironmentStack):
    """Plugins, worker configurations, roles and connectors; plugins and connectors are custom resources.

    With `kubernetes`, that cluster runs the connectors, each on its own workers; otherwise MSK Connect does.

    `pipelines` holds each pipeline's connector settings, in the environment's order; query-based pipelines have none.
    """

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        network: NetworkStack,
        *,
        database: DatabaseStack,
        streaming: StreamingStack,
        lake: LakeStack,
        kubernetes: KubernetesStack | None,
        paused: Paused,
    ) -> None:
        super().__init__(scope, "connectors", environment, paused)
        self._paused = paused
        shared: dict[str, Any] = {"environment": environment, "database": database, "streaming": streaming}
        self.pipelines = [PipelineConnectors(self, pipeline=pipeline, **shared) for pipeline in environment.streamed]
        platform: Platform
        if kubernetes is None:
            artefacts = lake.artefacts.bucket_name
            platform = MskConnect(self, pipelines=self.pipelines, artefacts=artefacts, vpc=network.vpc, **shared)
        else:
            platform = EksConnectors(self, "Kubernetes", cluster=kubernetes, vpc=network.vpc, **shared)
        if self.pipelines:
            topics = pipeline_topics(
                Construct(self, "Topics"),
                self.pipelines,
                streaming=streaming,
                journal=environment.bucket_name("artefacts"),
                vpc=network.vpc,
                paused=paused,
            )
            for pipeline in self.pipelines:
                self._connectors(pipeline, platform, topics[pipeline.name])
            platform.look_after()

    def _connectors(self, pipeline: PipelineConnectors, platform: Platform, topics: CustomResource) -> None:
        reads, lands = not self._paused.leaves_out_sources, not self._paused.leaves_out_all
        source = platform.connector(pipeline.id("Source"), pipeline.source_spec(), runs=reads)
        sink = platform.connector(pipeline.id("Sink"), pipeline.sink_spec(), runs=lands)
        for connector in (source, sink):
            if connector is not None:
                connector.node.add_dependency(topics)
        if source is not None and sink is not None:
            sink.node.add_dependency(source)
        for number, warning in enumerate(pipeline.sink.warnings):
            Annotations.of(self).add_warning_v2(f"cdc-lake:{pipeline.id('sink')}-{number}", warning)
        CfnOutput(self, pipeline.id("Topic"), value=",".join(pipeline.source.topics))


def pipeline_topics(
    scope: Construct,
    pipelines: Sequence[PipelineConnectors],
    *,
    streaming: StreamingStack,
    journal: str,
    vpc: ec2.IVpc,
    paused: Paused,
) -> dict[str, CustomResource]:
    """Create all pipelines' topics, and their sinks' groups with first offsets: custom resources, by pipeline.

    Connectors must wait for them. One handler creates all of them, with rights to these only; `journal` is the bucket
    in which its requests record what they have begun.
    """
    access = _access(scope, streaming, vpc)
    grants = [grant for each in pipelines for grant in topics_access(of_generation(each.topics, "*"), each.sink)]
    provider = HandlerProvider(
        scope,
        "Provider",
        module="topics",
        runtime=NEWER_RUNTIME,
        layers=[layer_version(scope, "KafkaClient", KAFKA, f"{KAFKA.name} as requirements.txt pins them")],
        vpc=vpc,
        security_groups=[access],
        variables={"DEADLINE_SECONDS": f"{PATIENCE.to_seconds():.0f}"},
        rights={CLUSTER: kafka_statements(scope, grants, streaming)},
        journal=journal,
    )
    # Kafka forgets the offsets of a group without members after a week (offsets.retention.minutes). This extra
    # property makes the end of a pause an update, in which the handler sets such a group's first offsets again.
    of_a_pause = {OUTPUT: paused.value} if paused.leaves_out_all else {}
    return {
        each.name: provider.resource(
            scope, each.id("Topics"), "Topics", _request(each, streaming), after=[access], **of_a_pause
        )
        for each in pipelines
    }


def _access(scope: Construct, streaming: StreamingStack, vpc: ec2.IVpc) -> ec2.SecurityGroup:
    """Create a group that reaches the brokers, and S3 for the journal; signing the login needs no call to AWS."""
    brokers, description = streaming.security_group, "What makes the topics"
    group = closed_group(scope, "Access", vpc, description)
    group.add_egress_rule(brokers, ec2.Port.tcp(IAM_PORT), "The brokers")
    group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "S3")
    let_in(
        scope,
        "BrokersFromTopics",
        to=brokers,
        source_id=group.security_group_id,
        port=IAM_PORT,
        description=description,
    )
    return group


def _request(pipeline: PipelineConnectors, streaming: StreamingStack) -> dict[str, object]:
    sink = pipeline.sink
    return {
        "bootstrapServers": streaming.bootstrap_brokers,
        "topics": [topic.as_request() for topic in of_generation(pipeline.topics, pipeline.generation)],
        "group": sink_group(sink.name),
        "groupTopic": sink.topic,
        **({"groupTopics": list(sink.topics[1:])} if sink.topics[1:] else {}),
    }
