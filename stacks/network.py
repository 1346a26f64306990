"""The network: a VPC with public and private subnets in each zone, and the way out."""

from aws_cdk import CfnOutput
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from settings.environment import Environment
from stacks.base import HTTPS, EnvironmentStack, accept, acknowledge, arn, closed_group, log_group, statement

# The smallest instances have 512 MB, which installing a package can exhaust.
SWAP = (
    "dd if=/dev/zero of=/swapfile bs=1M count=1024",
    "chmod 600 /swapfile",
    "mkswap /swapfile",
    "swapon /swapfile",
)
NAT_VOLUME_GB = 8


class NetworkStack(EnvironmentStack):
    """A VPC whose private subnets reach the internet; only the VPN's group reaches them from outside.

    Every service opens its own ports to `vpn_access`; a rule here would make this stack depend on theirs.
    """

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(scope, "network", environment)
        self._settings = environment.network
        self._nat_gateways = self._nat_provider()
        self.vpc = self._vpc()
        self._close_nat_instances()
        self._endpoints()
        self._flow_logs()
        self.vpn_access = self._vpn_access()
        CfnOutput(self, "VpcId", value=self.vpc.vpc_id)
        CfnOutput(self, "VpcCidr", value=self._settings.cidr)

    def _nat_provider(self) -> ec2.NatProvider:
        """Gateways, or small instances: an instance costs a tenth, but we have to patch it."""
        if self._settings.nat == "gateways":
            return ec2.NatProvider.gateway()
        user_data = ec2.UserData.for_linux()
        user_data.add_commands(*SWAP, *ec2.NatInstanceProviderV2.DEFAULT_USER_DATA_COMMANDS)
        return ec2.NatProvider.instance_v2(
            instance_type=ec2.InstanceType(self._settings.nat_instance_type),
            # Its default admits the whole internet.
            default_allowed_traffic=ec2.NatTrafficDirection.OUTBOUND_ONLY,
            credit_specification=ec2.CpuCredits.STANDARD,
            associate_public_ip_address=True,
            user_data=user_data,
        )

    def _vpc(self) -> ec2.Vpc:
        zones = self._environment.availability_zones
        vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(self._settings.cidr),
            availability_zones=list(zones),
            nat_gateways=1 if self._settings.nat == "instance" else len(zones),
            nat_gateway_provider=self._nat_gateways,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=24, map_public_ip_on_launch=False
                ),
                ec2.SubnetConfiguration(name="Private", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=22),
            ],
        )
        self._accept_closing_the_default_group(vpc)
        # Keeps S3 traffic in AWS's network, free of charge.
        vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        return vpc

    def _accept_closing_the_default_group(self, vpc: ec2.Vpc) -> None:
        provider = self.node.find_child("Custom::VpcRestrictDefaultSGCustomResourceProvider").node.find_child("Role")
        closing = statement(
            "ec2:AuthorizeSecurityGroupEgress",
            "ec2:AuthorizeSecurityGroupIngress",
            "ec2:RevokeSecurityGroupEgress",
            "ec2:RevokeSecurityGroupIngress",
            on=arn(self, "ec2", f"security-group/{vpc.vpc_default_security_group}"),
        )
        accept(provider, closing, reason="CDK's function closes the VPC's default group, and puts it back at the end.")

    def _close_nat_instances(self) -> None:
        """Admit only the VPC to the NAT instances; require IMDSv2 and encryption, which CDK leaves open."""
        if not isinstance(self._nat_gateways, ec2.NatInstanceProviderV2):
            return
        self._nat_gateways.security_group.add_ingress_rule(
            ec2.Peer.ipv4(self._settings.cidr), ec2.Port.all_traffic(), "Private subnets on their way out"
        )
        for instance in self._nat_gateways.gateway_instances:
            element = instance.node.default_child
            assert isinstance(element, ec2.CfnInstance)  # noqa: S101  CDK's own type is looser
            element.metadata_options = ec2.CfnInstance.MetadataOptionsProperty(http_tokens="required")
            element.block_device_mappings = [
                ec2.CfnInstance.BlockDeviceMappingProperty(
                    device_name="/dev/xvda",
                    ebs=ec2.CfnInstance.EbsProperty(encrypted=True, volume_size=NAT_VOLUME_GB, volume_type="gp3"),
                )
            ]
            acknowledge(
                instance,
                "AwsSolutions-EC28",
                "AwsSolutions-EC29",
                reason="A stateless router that is replaced and not repaired: a termination loses nothing, and "
                "five-minute metrics tell enough of it.",
            )

    def _endpoints(self) -> None:
        names = self._settings.interface_endpoints
        if not names:
            return
        access = closed_group(self, "EndpointAccess", self.vpc, "AWS services from the VPC")
        access.add_ingress_rule(ec2.Peer.ipv4(self._settings.cidr), ec2.Port.tcp(HTTPS), "HTTPS from the VPC")
        for name in names:
            self.vpc.add_interface_endpoint(
                f"Endpoint-{name}",
                service=ec2.InterfaceVpcEndpointAwsService(name),
                security_groups=[access],
                open=False,
            )

    def _flow_logs(self) -> None:
        log = log_group(self, "FlowLog", self._environment, self._settings.flow_log_retention_days)
        role = iam.Role(self, "FlowLogRole", assumed_by=iam.ServicePrincipal("vpc-flow-logs.amazonaws.com"))
        self.vpc.add_flow_log(
            "AllTraffic",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(log, role),
            traffic_type=ec2.FlowLogTrafficType.ALL,
        )

    def _vpn_access(self) -> ec2.SecurityGroup:
        """The bastion's group: VPN clients' traffic comes from it, and may go only into the VPC."""
        group = closed_group(self, "VpnAccess", self.vpc, "Where VPN clients come from")
        group.add_egress_rule(ec2.Peer.ipv4(self._settings.cidr), ec2.Port.all_traffic(), "VPN clients into the VPC")
        # For the bastion itself: packages, the SoftEther release, Secrets Manager and Systems Manager.
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "HTTPS")
        return group
