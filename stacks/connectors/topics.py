"""The pipelines' topics, made before the connectors: a handler inside the VPC, and what it may do (decision 0042)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import CustomResource, Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from plugins.connector_names import sink_group
from plugins.connector_settings import SinkSettings
from plugins.kafka.access import statements, topics_access
from plugins.kafka.topics import PlannedTopic, of_generation
from stacks import wheels
from stacks.connectors.kafka_arns import kafka_arns
from stacks.paused import OUTPUT, Paused
from stacks.provider import NEWER_RUNTIME, HandlerProvider
from stacks.streaming import IAM_PORT, StreamingStack

# For brokers that an update restarts, and rights that IAM still spreads.
PATIENCE = Duration.minutes(15)
CLUSTER = "AWS chooses the cluster's uuid, and its name is unique by itself; topics and group are named in full."


@dataclass(frozen=True, kw_only=True)
class WantedTopics:
    """A pipeline's topics as they are planned, and the sink that reads them; `generation` is its source's.

    CloudFormation will know the generation.
    """

    topics: Sequence[PlannedTopic]
    sink: SinkSettings
    generation: str


class PipelineTopics(Construct):
    """The topics of all pipelines, and their sinks' groups with first offsets. `ready` is what connectors wait for.

    `wanted` are the pipelines' by the id of their resource; `journal` is the bucket in which the handler's requests
    write down what they have begun. One handler makes them all, and may do so for these and no others.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        wanted: Mapping[str, WantedTopics],
        streaming: StreamingStack,
        journal: str,
        vpc: ec2.IVpc,
        paused: Paused = Paused.NOTHING,
    ) -> None:
        super().__init__(scope, id_)
        # Kafka forgets the offsets of a group that nobody was in for a week (offsets.retention.minutes). Another
        # property makes the end of a pause an update, in which the handler gives such a group its first one again.
        self._of_a_pause = {OUTPUT: paused.value} if paused.leaves_out_all else {}
        self._streaming = streaming
        self._vpc = vpc
        access = self._access()
        provider = self._provider(access, self._statements(wanted.values()), journal)
        self.ready = {name: self._made(name, each, provider) for name, each in wanted.items()}
        for ready in self.ready.values():
            ready.node.add_dependency(access)

    def _made(self, name: str, wanted: WantedTopics, provider: HandlerProvider) -> CustomResource:
        sink = wanted.sink
        request = {
            "bootstrapServers": self._streaming.bootstrap_brokers,
            "topics": [topic.as_request() for topic in of_generation(wanted.topics, wanted.generation)],
            "group": sink_group(sink.name),
            "groupTopic": sink.topic,
            **({"groupTopics": list(sink.topics[1:])} if sink.topics[1:] else {}),
        }
        return provider.resource(self, name, "Custom::Topics", request, **self._of_a_pause)

    def _provider(
        self, access: ec2.ISecurityGroup, rights: Sequence[iam.PolicyStatement], journal: str
    ) -> HandlerProvider:
        provider = HandlerProvider(
            self,
            "Provider",
            module="topics",
            runtime=NEWER_RUNTIME,
            layers=[self._client()],
            vpc=self._vpc,
            security_groups=[access],
            variables={"DEADLINE_SECONDS": f"{PATIENCE.to_seconds():.0f}"},
            statements=rights,
            journal=journal,
        )
        provider.acknowledge_wildcards(*rights, reason=CLUSTER)
        return provider

    def _statements(self, wanted: Iterable[WantedTopics]) -> list[iam.PolicyStatement]:
        arns = kafka_arns(self, cluster_arn=self._streaming.cluster_arn, cluster_name=self._streaming.cluster_name)
        grants = [grant for each in wanted for grant in topics_access(of_generation(each.topics, "*"), each.sink)]
        return [
            iam.PolicyStatement(actions=statement["Action"], resources=statement["Resource"])
            for statement in statements(grants, arns)
        ]

    def _client(self) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            "KafkaClient",
            code=lambda_.Code.from_asset(str(wheels.layer_folder(wheels.KAFKA))),
            compatible_runtimes=[NEWER_RUNTIME],
            compatible_architectures=[lambda_.Architecture.X86_64],
            description=f"{wheels.KAFKA.name} as requirements.txt pins them",
        )

    def _access(self) -> ec2.SecurityGroup:
        """A group that reaches the brokers, and S3 for the journal; the login is signed without asking AWS."""
        brokers = self._streaming.security_group
        group = ec2.SecurityGroup(
            self, "Access", vpc=self._vpc, description="What makes the topics", allow_all_outbound=False
        )
        group.add_egress_rule(brokers, ec2.Port.tcp(IAM_PORT), "The brokers")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "S3")
        # In this stack: the brokers' own would depend on it otherwise.
        ec2.CfnSecurityGroupIngress(
            self,
            "BrokersFromTopics",
            group_id=brokers.security_group_id,
            source_security_group_id=group.security_group_id,
            ip_protocol="tcp",
            from_port=IAM_PORT,
            to_port=IAM_PORT,
            description="What makes the topics",
        )
        return group
