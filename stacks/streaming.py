"""The Kafka cluster that carries change events from the database to the lake."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_msk as msk
from constructs import Construct

from contract.sizes import LARGEST_EVENT_BYTES, SizeLimits
from plugins.kafka.topics import in_sync_of, replicas_on
from settings.environment import Environment
from stacks.provider import HandlerProvider
from stacks.retention import removal, retention

# MSK's port for IAM over TLS; with nothing else enabled there is no other.
IAM_PORT = 9098


class StreamingStack(Stack):
    """MSK with IAM as the only way in. `security_group` is the brokers' and the connectors'.

    `bootstrap_brokers` are `host:9098` addresses, separated by commas, of the brokers that the cluster began with.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: Environment,
        vpc: ec2.IVpc,
        vpn_access: ec2.ISecurityGroup,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self._environment = environment
        self._vpc = vpc
        self.cluster_name = environment.prefix
        self.security_group = self._security_group(vpn_access)
        self.broker_log = self._broker_log()
        self.configuration = self._configuration()
        self.cluster = self._cluster()
        self.cluster_arn = self.cluster.attr_arn
        self.bootstrap_brokers = self._bootstrap_brokers()
        CfnOutput(self, "ClusterArn", value=self.cluster_arn)
        CfnOutput(self, "BootstrapBrokers", value=self.bootstrap_brokers)

    def _security_group(self, vpn_access: ec2.ISecurityGroup) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self, "BrokerAccess", vpc=self._vpc, description="Brokers and connectors", allow_all_outbound=False
        )
        # Everything among its members, as AWS asks for: Connect's workers also talk to one another.
        group.add_ingress_rule(group, ec2.Port.all_traffic(), "Brokers and connectors among themselves")
        group.add_egress_rule(group, ec2.Port.all_traffic(), "Brokers and connectors among themselves")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "Connectors to S3, Secrets Manager and STS")
        group.add_ingress_rule(vpn_access, ec2.Port.tcp(IAM_PORT), "Kafka clients on the VPN")
        # A cluster that stays needs its group.
        group.apply_removal_policy(removal(self._environment))
        return group

    def _broker_log(self) -> logs.LogGroup:
        days = self._environment.streaming.log_retention_days
        return logs.LogGroup(self, "BrokerLog", retention=retention(days), removal_policy=removal(self._environment))

    def _configuration(self) -> msk.CfnConfiguration:
        settings = self._environment.streaming
        properties = server_properties(len(self._environment.availability_zones), settings.largest_event_bytes)
        configuration = msk.CfnConfiguration(
            self,
            "Configuration",
            name=self._environment.prefix,
            server_properties="\n".join(f"{key}={value}" for key, value in properties.items()),
        )
        configuration.apply_removal_policy(removal(self._environment))
        return configuration

    def _cluster(self) -> msk.CfnCluster:
        settings = self._environment.streaming
        cluster = msk.CfnCluster(
            self,
            "Cluster",
            # Fixed: a change that would replace the cluster, and lose its topics, fails on the name.
            cluster_name=self.cluster_name,
            kafka_version=settings.kafka_version,
            number_of_broker_nodes=settings.brokers,
            broker_node_group_info=self._brokers(),
            client_authentication=_iam_only(),
            encryption_info=msk.CfnCluster.EncryptionInfoProperty(
                # At rest with AWS's own key for MSK, which is the default.
                encryption_in_transit=msk.CfnCluster.EncryptionInTransitProperty(client_broker="TLS", in_cluster=True)
            ),
            configuration_info=msk.CfnCluster.ConfigurationInfoProperty(
                arn=self.configuration.attr_arn,
                revision=self.configuration.attr_latest_revision_revision,
            ),
            # Free, and has the brokers' disks; the finer levels cost per metric.
            enhanced_monitoring="DEFAULT",
            logging_info=msk.CfnCluster.LoggingInfoProperty(
                broker_logs=msk.CfnCluster.BrokerLogsProperty(
                    cloud_watch_logs=msk.CfnCluster.CloudWatchLogsProperty(
                        enabled=True, log_group=self.broker_log.log_group_name
                    )
                )
            ),
        )
        cluster.apply_removal_policy(removal(self._environment))
        return cluster

    def _brokers(self) -> msk.CfnCluster.BrokerNodeGroupInfoProperty:
        settings = self._environment.streaming
        volume = msk.CfnCluster.EBSStorageInfoProperty(volume_size=settings.volume_gb)
        return msk.CfnCluster.BrokerNodeGroupInfoProperty(
            client_subnets=self._vpc.select_subnets(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS).subnet_ids,
            instance_type=settings.broker_type,
            security_groups=[self.security_group.security_group_id],
            storage_info=msk.CfnCluster.StorageInfoProperty(ebs_storage_info=volume),
        )

    def _bootstrap_brokers(self) -> str:
        """CloudFormation doesn't return the brokers' addresses, so a handler asks MSK, once in a cluster's life.

        The request must hold nothing that a setting changes: other stacks import the answer, and CloudFormation refuses
        to change what is imported. More brokers need no other addresses: clients learn of them from the first ones.
        """
        provider = HandlerProvider(
            self,
            "BrokerAddressLookup",
            module="bootstrap_brokers",
            statements=[
                iam.PolicyStatement(
                    actions=["kafka:GetBootstrapBrokers", "kafka:DescribeClusterV2"], resources=[self.cluster_arn]
                )
            ],
        )
        request = {"clusterArn": self.cluster_arn}
        found = provider.resource(self, "BrokerAddresses", "Custom::BootstrapBrokers", request)
        return found.get_att_string("BootstrapBrokers")


def server_properties(zones: int, largest_event_bytes: int = LARGEST_EVENT_BYTES) -> Mapping[str, str]:
    """The brokers' configuration. One broker may be away, for patching or because it failed, and writing goes on.

    A replica in each zone, however many brokers: MSK takes no other number of brokers and another configuration at once
    (docs/decisions/0056), and spreads replicas over zones in any case.
    """
    replicas = replicas_on(zones)
    in_sync = in_sync_of(replicas)
    return {
        # Topics are made on purpose (docs/decisions/0042), never by a misspelt name or a client that comes too early.
        "auto.create.topics.enable": "false",
        "delete.topic.enable": "true",
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        # MSK's default is true: a replica that lags could become leader, and acknowledged events would be gone.
        "unclean.leader.election.enable": "false",
        **SizeLimits(largest_event_bytes).broker,
    }


def _iam_only() -> msk.CfnCluster.ClientAuthenticationProperty:
    return msk.CfnCluster.ClientAuthenticationProperty(
        sasl=msk.CfnCluster.SaslProperty(
            iam=msk.CfnCluster.IamProperty(enabled=True), scram=msk.CfnCluster.ScramProperty(enabled=False)
        ),
        tls=msk.CfnCluster.TlsProperty(enabled=False),
        unauthenticated=msk.CfnCluster.UnauthenticatedProperty(enabled=False),
    )
