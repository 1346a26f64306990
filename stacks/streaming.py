"""The Kafka cluster that carries change events from the database to the lake."""

from collections.abc import Mapping

from aws_cdk import CfnOutput
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_msk as msk
from constructs import Construct

from contract.sizes import LARGEST_EVENT_BYTES, SizeLimits
from plugins.kafka.topics import in_sync_of, replicas_on
from settings.environment import Environment
from stacks.base import HTTPS, EnvironmentStack, closed_group, log_group, removal, statement
from stacks.network import NetworkStack
from stacks.provider import HandlerProvider

# MSK's port for IAM over TLS; nothing else is enabled, so it is the only one.
IAM_PORT = 9098


class StreamingStack(EnvironmentStack):
    """MSK with IAM as the only login. Brokers and connectors share `security_group`.

    `bootstrap_brokers` are the `host:9098` addresses, separated by commas, of the cluster's initial brokers.
    """

    def __init__(self, scope: Construct, environment: Environment, network: NetworkStack) -> None:
        super().__init__(scope, "streaming", environment)
        self._vpc = network.vpc
        self.cluster_name = environment.prefix
        self.security_group = self._security_group(network.vpn_access)
        self.broker_log = log_group(self, "BrokerLog", environment, environment.streaming.log_retention_days)
        self.configuration = self._configuration()
        self.cluster = self._cluster()
        self.cluster_arn = self.cluster.attr_arn
        self.bootstrap_brokers = self._bootstrap_brokers()
        CfnOutput(self, "ClusterArn", value=self.cluster_arn)
        CfnOutput(self, "BootstrapBrokers", value=self.bootstrap_brokers)

    def _security_group(self, vpn_access: ec2.ISecurityGroup) -> ec2.SecurityGroup:
        group = closed_group(self, "BrokerAccess", self._vpc, "Brokers and connectors")
        # All ports among its members, as AWS requires: Connect's workers also talk to one another.
        group.add_ingress_rule(group, ec2.Port.all_traffic(), "Brokers and connectors among themselves")
        group.add_egress_rule(group, ec2.Port.all_traffic(), "Brokers and connectors among themselves")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "Connectors to S3, Secrets Manager and STS")
        group.add_ingress_rule(vpn_access, ec2.Port.tcp(IAM_PORT), "Kafka clients on the VPN")
        # A retained cluster needs its group.
        group.apply_removal_policy(removal(self._environment))
        return group

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
                # At rest, MSK encrypts with AWS's own key by default.
                encryption_in_transit=msk.CfnCluster.EncryptionInTransitProperty(client_broker="TLS", in_cluster=True)
            ),
            configuration_info=msk.CfnCluster.ConfigurationInfoProperty(
                arn=self.configuration.attr_arn,
                revision=self.configuration.attr_latest_revision_revision,
            ),
            # Free, and includes the brokers' disks; the finer levels cost per metric.
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

        The request must not depend on any setting: other stacks import the answer, and CloudFormation refuses to change
        an imported value. More brokers need no other addresses: clients learn of them from the first ones.
        """
        asking = statement("kafka:GetBootstrapBrokers", "kafka:DescribeClusterV2", on=self.cluster_arn)
        rights = {"It asks where this cluster's brokers are.": [asking]}
        provider = HandlerProvider(self, "BrokerAddressLookup", module="bootstrap_brokers", rights=rights)
        request = {"clusterArn": self.cluster_arn}
        found = provider.resource(self, "BrokerAddresses", "BootstrapBrokers", request)
        return found.get_att_string("BootstrapBrokers")


def server_properties(zones: int, largest_event_bytes: int = LARGEST_EVENT_BYTES) -> Mapping[str, str]:
    """The brokers' configuration. Writing continues while one broker is away, for patching or after a failure.

    One replica per zone, for any number of brokers: MSK can't change the number of brokers and the configuration at
    once (docs/decisions/0056), and spreads replicas over zones in any case.
    """
    replicas = replicas_on(zones)
    in_sync = in_sync_of(replicas)
    return {
        # Topics are created on purpose (docs/decisions/0042), never by a misspelt name or an early client.
        "auto.create.topics.enable": "false",
        "delete.topic.enable": "true",
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        # MSK's default is true: a lagging replica could become leader, and acknowledged events would be lost.
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
