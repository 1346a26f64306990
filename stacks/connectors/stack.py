"""The connectors: per pipeline, Debezium from the database to topics and the S3 sink from topics to the lake."""

from typing import Any

from aws_cdk import Annotations, CfnOutput, CustomResource
from constructs import Construct

from settings.environment import Environment
from stacks.base import EnvironmentStack, add_paused_output
from stacks.connectors.eks import EksConnectors
from stacks.connectors.eks_cluster import KubernetesStack
from stacks.connectors.msk_connect import MskConnect
from stacks.connectors.specs import PipelineConnectors
from stacks.connectors.topics import pipeline_topics
from stacks.database import DatabaseStack
from stacks.lake import LakeStack
from stacks.network import NetworkStack
from stacks.paused import Paused
from stacks.streaming import StreamingStack

# Where connectors run.
Platform = MskConnect | EksConnectors


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
        super().__init__(scope, "connectors", environment)
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
        add_paused_output(self, paused)

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
