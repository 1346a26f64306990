"""The connectors on EKS: each gets its workers, role and configuration from custom resources (decision 0095)."""

from collections.abc import Iterator
from typing import Any

from aws_cdk import CfnOutput, CustomResource, Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from plugins.connector_names import GENERATION, offset_topic
from plugins.workers import connect_workers
from plugins.workers.connect_workers import BROKERS, IAM_LOGIN, OFFSETS, worker_properties
from settings.environment import Environment
from settings.environment_pipeline import POSTGRESQL
from stacks.base import HTTPS, let_in, statement
from stacks.connectors.eks_cluster import DEPLOYERS, WATCHERS, KubernetesStack
from stacks.connectors.manifests import NAMESPACE, PLUGINS, WorkerGroup, objects
from stacks.connectors.specs import ConnectorSpec
from stacks.database import DatabaseStack
from stacks.preparation import destinations
from stacks.provider import HandlerProvider, role_of, scheduled_function
from stacks.streaming import IAM_PORT, StreamingStack

ANYWHERE = "0.0.0.0/0"
FIGURES = "Figures have no ARN; those that are written are in the connectors' namespace alone."


class EksConnectors(Construct):
    """Creates an environment's connectors on its cluster, and opens their paths to brokers and databases."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: Environment,
        cluster: KubernetesStack,
        database: DatabaseStack,
        streaming: StreamingStack,
        vpc: ec2.IVpc,
    ) -> None:
        super().__init__(scope, id_)
        self._environment = environment
        self._eks = cluster
        self._streaming = streaming
        self._inside: dict[str, Any] = {"vpc": vpc, "security_groups": [cluster.handler_access]}
        self._names: list[str] = []
        self._provider = HandlerProvider(
            self,
            "Connector",
            module="kubernetes_connector",
            rights={},
            journal=environment.bucket_name("artefacts"),
            **self._inside,
        )
        entry = cluster.access_entry(self, "ConnectorAccess", self._provider.worker_role, DEPLOYERS)
        self._ways = [entry, *self._open(database)]

    def connector(self, id_: str, spec: ConnectorSpec, *, runs: bool) -> CustomResource | None:
        """Create a connector that `runs`; its resources' ids begin with `id_`."""
        if not runs:
            return None
        self._names.append(spec.name)
        association = eks.CfnPodIdentityAssociation(
            self,
            f"{id_}Identity",
            cluster_name=self._eks.name,
            namespace=NAMESPACE,
            service_account=spec.name,
            role_arn=spec.role.role_arn,
        )
        request = {
            "cluster": self._eks.address,
            "connectorName": spec.name,
            "objects": objects(self._group(spec)),
            "connectorConfiguration": spec.configuration,
        }
        after = [association, spec.role, *self._ways]
        return self._provider.resource(self, f"{id_}Connector", "KubernetesConnector", request, after=after)

    def look_after(self) -> None:
        """Publish the connectors' metrics and restart their failed tasks, every minute.

        If a pause has left none, the function stays, unscheduled: a function in the VPC takes long to delete, and its
        log stays.
        """
        namespace = connect_workers.namespace(self._environment.prefix)
        publishing = statement(
            "cloudwatch:PutMetricData", on="*", when={"StringEquals": {"cloudwatch:namespace": namespace}}
        )
        watch = scheduled_function(
            self,
            "Watch",
            "kubernetes_watch",
            ids="Watch",
            every=Duration.minutes(1),
            description="Figures of the connectors, and restarts of their failed tasks",
            enabled=bool(self._names),
            rights={FIGURES: [publishing, statement("cloudwatch:GetMetricData", on="*")]},
            timeout=Duration.minutes(1),
            environment={
                "CLUSTER": Stack.of(self).to_json_string(self._eks.address),
                "NAMESPACE": NAMESPACE,
                "METRICS": namespace,
                "CONNECTORS": ",".join(self._names),
            },
            **self._inside,
        )
        self._eks.access_entry(self, "WatchAccess", role_of(watch), WATCHERS)

    def _group(self, spec: ConnectorSpec) -> WorkerGroup:
        settings, is_source = self._eks.settings, spec.reads is not None
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
            files=spec.certificates,
            destinations=tuple(self._destinations(spec)),
            api=self._environment.network.cidr,
            # A source has one task: more workers would idle.
            most=0 if is_source else settings.maximum_workers,
        )

    def _destinations(self, spec: ConnectorSpec) -> Iterator[tuple[str, int]]:
        inside = self._environment.network.cidr
        yield inside, IAM_PORT
        yield ANYWHERE, HTTPS
        if spec.reads is None:
            return
        if outside := spec.reads.database:
            # A database that admits a security group may be at any address.
            yield from ((cidr, outside.port) for cidr in outside.cidrs or (ANYWHERE,))
        else:
            yield inside, POSTGRESQL

    def _open(self, database: DatabaseStack) -> Iterator[ec2.CfnSecurityGroupIngress]:
        pods = self._eks.security_group_id
        for name, group, port, what in (
            ("Brokers", self._streaming.security_group, IAM_PORT, "Kafka"),
            ("Database", database.security_group, POSTGRESQL, "PostgreSQL"),
        ):
            description = f"{what} from the connectors' pods"
            yield let_in(self, f"{name}FromPods", to=group, source_id=pods, port=port, description=description)
        if destinations(self._environment):
            CfnOutput(Stack.of(self), "ClientSecurityGroup", value=pods)
