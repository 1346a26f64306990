"""The VPN bastion: people's way into the private subnets, by L2TP over IPsec or by Session Manager."""

import re
from collections.abc import Mapping
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from aws_cdk import Annotations, CfnOutput, Duration, RemovalPolicy, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from plugins.releases.versions import load_versions
from settings.environment import Environment
from stacks.acceptances import accept, acknowledge
from stacks.session_manager import serve_sessions
from stacks.vpn_rotation import VpnRotation

USER_DATA = Path(__file__).with_name("userdata") / "softether.sh"
HUB = "lake"
# A parameter can't be empty.
NOBODY = "-"
# IKE, and IPsec wrapped in UDP: an Elastic IP is a NAT, so bare ESP never arrives.
IPSEC_PORTS = (500, 4500)
MANAGEMENT_PORT = 443
# Long enough for a slow download and the linker on the smallest instance.
BOOT_TIMEOUT = Duration.minutes(15)
VOLUME_GB = 8
# As stacks/handlers/vpn_rotation.py makes them anew.
PASSWORD_LENGTH = 24


class VpnStack(Stack):
    """One small instance with SoftEther, the secrets that it reads, and who may connect. It keeps nothing."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: Environment,
        vpc: ec2.IVpc,
        vpn_access: ec2.SecurityGroup,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self._environment = environment
        self._vpc = vpc
        # A point: no person's name begins with one.
        key = environment.vpn_secret(".pre-shared-key")
        self.pre_shared_key = self._secret("PreSharedKey", "the IPsec pre-shared key", name=key)
        self.passwords = [self._password(user) for user in environment.vpn.users]
        self.instance = self._instance(vpn_access, self._edge())
        self._set_up()
        self._grant()
        self._list_users()
        self._rotate()
        self.address = self._address()
        self._outputs()

    def _password(self, user: str) -> secretsmanager.Secret:
        """Make a person's own secret; its name and its tag let IAM allow it to her alone."""
        secret = self._secret(f"Password-{user}", f"the password of {user}", name=self._environment.vpn_secret(user))
        Tags.of(secret).add("vpn-user", user)
        return secret

    def _secret(self, id_: str, what: str, *, name: str) -> secretsmanager.Secret:
        return secretsmanager.Secret(
            self,
            id_,
            secret_name=name,
            description=f"VPN of {self._environment.prefix}: {what}",
            # Letters and digits: SoftEther's command language has its own idea of the others.
            generate_secret_string=secretsmanager.SecretStringGenerator(
                exclude_punctuation=True, password_length=PASSWORD_LENGTH
            ),
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _rotate(self) -> None:
        secrets = [self.pre_shared_key, *self.passwords]
        if days := self._environment.vpn.password_rotation_days:
            VpnRotation(self, "Rotation", secrets=secrets, days=days)
            return
        for secret in secrets:
            acknowledge(
                secret,
                "AwsSolutions-SMG4",
                reason="Rotation is a setting (vpn.password_rotation_days), off in this environment; docs/aws/vpn.md "
                "says how a key or password is changed by hand.",
            )

    def _edge(self) -> ec2.SecurityGroup:
        """Who may knock: clients at IPsec; at the management port only the networks that the environment names."""
        group = ec2.SecurityGroup(
            self, "VpnServer", vpc=self._vpc, description="Who reaches the VPN server", allow_all_outbound=False
        )
        for cidr in self._environment.vpn.client_cidrs:
            for port in IPSEC_PORTS:
                group.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.udp(port), "IPsec")
        for cidr in self._environment.vpn.management_cidrs:
            group.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.tcp(MANAGEMENT_PORT), "SoftEther management")
        if any(IPv4Network(cidr).prefixlen == 0 for cidr in self._environment.vpn.client_cidrs):
            acknowledge(
                group,
                "AwsSolutions-EC23",
                reason="vpn.client_cidrs lets VPN clients come from anywhere, which production may not: only "
                "IPsec's two UDP ports, behind a generated pre-shared key and a password per person.",
            )
        return group

    def _instance(self, vpn_access: ec2.SecurityGroup, edge: ec2.SecurityGroup) -> ec2.Instance:
        instance = ec2.Instance(
            self,
            "Bastion",
            instance_type=ec2.InstanceType(self._environment.vpn.instance_type),
            machine_image=ec2.MachineImage.latest_amazon_linux2023(),
            vpc=self._vpc,
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC),
            security_group=vpn_access,
            # Until the Elastic IP is there, which is after the first boot.
            associate_public_ip_address=True,
            # SoftEther's NAT sends clients' traffic from the instance's own address.
            source_dest_check=True,
            http_tokens=ec2.HttpTokens.REQUIRED,
            block_devices=[
                ec2.BlockDevice(
                    device_name="/dev/xvda",
                    volume=ec2.BlockDeviceVolume.ebs(
                        VOLUME_GB, encrypted=True, volume_type=ec2.EbsDeviceVolumeType.GP3
                    ),
                )
            ],
            # Changed settings make a new instance, which takes the address over once it has said that it is up.
            user_data_causes_replacement=True,
            resource_signal_timeout=BOOT_TIMEOUT,
        )
        instance.add_security_group(edge)
        acknowledge(
            instance,
            "AwsSolutions-EC28",
            "AwsSolutions-EC29",
            reason="It keeps nothing and is set up anew at its first boot: losing it costs a reconnection. Metrics "
            "every five minutes tell enough of it.",
        )
        acknowledge(
            instance, "CloudFormation-Validate::W3010", reason="The zones are the environment file's, not a template's."
        )
        return instance

    def _set_up(self) -> None:
        release = load_versions().softether
        if not release.pinned:
            Annotations.of(self).add_warning_v2(
                "cdc-lake:softether-checksum",
                f"{release.file} has no checksum and the bastion would refuse it: run `./lake dev lock plugins`",
            )
        network = IPv4Network(self._environment.network.cidr)
        script = fill(
            USER_DATA.read_text(encoding="utf-8"),
            {
                "RELEASE_URL": release.url,
                "RELEASE_SHA256": release.sha256 or "",
                "PRE_SHARED_KEY_SECRET": self.pre_shared_key.secret_arn,
                "USERS_PARAMETER": self._environment.vpn_users_parameter,
                "USER_SECRET_PREFIX": self._environment.vpn_secret(""),
                "HUB": HUB,
                "VPC_NETWORK": f"{network.network_address}/{network.netmask}",
                "STACK": self.stack_name,
                "RESOURCE": self.instance.instance.logical_id,
                "REGION": self.region,
            },
        )
        # CDK writes the first line itself.
        self.instance.user_data.add_commands(script.removeprefix("#!/bin/bash\n"))

    def _grant(self) -> None:
        secrets = [self.pre_shared_key, *self.passwords]
        reading = iam.PolicyStatement(
            actions=["secretsmanager:GetSecretValue"], resources=[secret.secret_arn for secret in secrets]
        )
        self.instance.add_to_role_policy(reading)
        accept(self.instance, reading, reason="SoftEther's own secrets, which the bastion takes over as they change.")
        # By its name: the parameter has to come after this right.
        here = f"{self.partition}:ssm:{self.region}:{self.account}"
        listing = iam.PolicyStatement(
            actions=["ssm:GetParameter"],
            resources=[f"arn:{here}:parameter{self._environment.vpn_users_parameter}"],
        )
        self.instance.add_to_role_policy(listing)
        accept(self.instance, listing, reason="The list of those who may connect: names, and no secret.")
        serve_sessions(self.instance.role)

    def _list_users(self) -> None:
        """Say who may connect where the bastion looks every few minutes: another list makes no other instance."""
        users = ssm.StringParameter(
            self,
            "Users",
            parameter_name=self._environment.vpn_users_parameter,
            description=f"VPN of {self._environment.prefix}: who may connect",
            string_value=",".join(self._environment.vpn.users) or NOBODY,
        )
        users.node.add_dependency(*self.passwords, self.instance.role)
        # The instance alone: its role comes before.
        self.instance.instance.node.add_dependency(users)

    def _address(self) -> ec2.CfnEIP:
        address = ec2.CfnEIP(self, "Address", domain="vpc")
        ec2.CfnEIPAssociation(
            self, "AddressOfBastion", allocation_id=address.attr_allocation_id, instance_id=self.instance.instance_id
        )
        return address

    def _outputs(self) -> None:
        CfnOutput(self, "ServerAddress", value=self.address.attr_public_ip)
        CfnOutput(self, "InstanceId", value=self.instance.instance_id)
        CfnOutput(self, "PreSharedKeySecret", value=self.pre_shared_key.secret_name)


def fill(script: str, values: Mapping[str, str]) -> str:
    """Put values in place of the script's `@NAME@`. Raises KeyError for a name without a value."""
    return re.sub(r"@([A-Z0-9_]+)@", lambda match: values[match.group(1)], script)
