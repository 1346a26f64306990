"""The VPN bastion: people's way into the private subnets, by L2TP over IPsec or by Session Manager."""

from collections.abc import Sequence
from ipaddress import IPv4Network

from aws_cdk import Annotations, CfnOutput, Duration, RemovalPolicy, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from plugins.releases.versions import load_versions
from settings.environment import Environment
from stacks.base import EnvironmentStack, acknowledge, allow, arn, closed_group, of_service, serve_sessions, statement
from stacks.network import NetworkStack
from stacks.provider import handler_function, role_of
from stacks.vpn_script import NOBODY, bastion_script

# IKE, and IPsec wrapped in UDP: an Elastic IP is a NAT, so bare ESP never arrives.
IPSEC_PORTS = (500, 4500)
MANAGEMENT_PORT = 443
# Long enough for a slow download and the linker on the smallest instance.
BOOT_TIMEOUT = Duration.minutes(15)
VOLUME_GB = 8
# Same as in stacks/handlers/vpn_rotation.py.
PASSWORD_LENGTH = 24


class VpnStack(EnvironmentStack):
    """One small instance with SoftEther, the secrets that it reads, and its user list. It keeps no data."""

    def __init__(self, scope: Construct, environment: Environment, network: NetworkStack) -> None:
        super().__init__(scope, "vpn", environment)
        self._vpc = network.vpc
        # No user name begins with a dot, so this can't collide.
        key = environment.vpn_secret(".pre-shared-key")
        self._pre_shared_key = self._secret("PreSharedKey", "the IPsec pre-shared key", name=key)
        self._passwords = [self._password(user) for user in environment.vpn.users]
        self._secrets = [self._pre_shared_key, *self._passwords]
        self._instance = self._bastion(network.vpn_access, self._edge())
        self._set_up()
        self._grant()
        self._list_users()
        self._rotate()
        self._publish_address()

    def _password(self, user: str) -> secretsmanager.Secret:
        """Create a person's own secret; IAM can allow it to that person only, by its name and tag."""
        secret = self._secret(f"Password-{user}", f"the password of {user}", name=self._environment.vpn_secret(user))
        Tags.of(secret).add("vpn-user", user)
        return secret

    def _secret(self, id_: str, what: str, *, name: str) -> secretsmanager.Secret:
        return secretsmanager.Secret(
            self,
            id_,
            secret_name=name,
            description=f"VPN of {self._environment.prefix}: {what}",
            # Letters and digits: SoftEther's command language treats others specially.
            generate_secret_string=secretsmanager.SecretStringGenerator(
                exclude_punctuation=True, password_length=PASSWORD_LENGTH
            ),
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _rotate(self) -> None:
        if days := self._environment.vpn.password_rotation_days:
            _rotate(Construct(self, "Rotation"), self._secrets, days)
            return
        reason = "Rotation is a setting (vpn.password_rotation_days), off in this environment; docs/aws/vpn.md says how"
        for secret in self._secrets:
            acknowledge(secret, "AwsSolutions-SMG4", reason=f"{reason} a key or password is changed by hand.")

    def _edge(self) -> ec2.SecurityGroup:
        group = closed_group(self, "VpnServer", self._vpc, "Who reaches the VPN server")
        for cidr in self._environment.vpn.client_cidrs:
            for port in IPSEC_PORTS:
                group.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.udp(port), "IPsec")
        for cidr in self._environment.vpn.management_cidrs:
            group.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.tcp(MANAGEMENT_PORT), "SoftEther management")
        if any(IPv4Network(cidr).prefixlen == 0 for cidr in self._environment.vpn.client_cidrs):
            anywhere = "vpn.client_cidrs lets VPN clients come from anywhere, which production may not: only IPsec's"
            reason = f"{anywhere} two UDP ports, behind a generated pre-shared key and a password per person."
            acknowledge(group, "AwsSolutions-EC23", reason=reason)
        return group

    def _bastion(self, vpn_access: ec2.SecurityGroup, edge: ec2.SecurityGroup) -> ec2.Instance:
        instance = ec2.Instance(
            self,
            "Bastion",
            instance_type=ec2.InstanceType(self._environment.vpn.instance_type),
            machine_image=ec2.MachineImage.latest_amazon_linux2023(),
            vpc=self._vpc,
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC),
            security_group=vpn_access,
            # Needed until the Elastic IP is attached, after the first boot.
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
            # Changed settings create a new instance, which takes the address over after it has signalled that it is up.
            user_data_causes_replacement=True,
            resource_signal_timeout=BOOT_TIMEOUT,
        )
        instance.add_security_group(edge)
        acknowledge(
            instance,
            "AwsSolutions-EC28",
            "AwsSolutions-EC29",
            reason="It keeps nothing and is set up again at its first boot: losing it costs a reconnection. Metrics "
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
        key, resource = self._pre_shared_key.secret_arn, self._instance.instance.logical_id
        script = bastion_script(self._environment, pre_shared_key=key, resource=resource)
        # CDK writes the first line itself.
        self._instance.user_data.add_commands(script.removeprefix("#!/bin/bash\n"))

    def _grant(self) -> None:
        role = self._instance.role
        reading = statement("secretsmanager:GetSecretValue", on=[secret.secret_arn for secret in self._secrets])
        allow(role, reading, reason="SoftEther's own secrets, which the bastion takes over as they change.")
        # By name: the parameter is created after this right.
        users = arn(self, "ssm", f"parameter{self._environment.vpn_users_parameter}")
        allow(role, statement("ssm:GetParameter", on=users), reason="The list of those who may connect, and no secret.")
        serve_sessions(role)

    def _list_users(self) -> None:
        """Publish the user list where the bastion checks it every few minutes, so a change needs no new instance."""
        users = ssm.StringParameter(
            self,
            "Users",
            parameter_name=self._environment.vpn_users_parameter,
            description=f"VPN of {self._environment.prefix}: who may connect",
            string_value=",".join(self._environment.vpn.users) or NOBODY,
        )
        users.node.add_dependency(*self._passwords, self._instance.role)
        # Only the instance, not its role, which the parameter itself depends on.
        self._instance.instance.node.add_dependency(users)

    def _publish_address(self) -> None:
        address = ec2.CfnEIP(self, "Address", domain="vpc")
        ec2.CfnEIPAssociation(
            self, "AddressOfBastion", allocation_id=address.attr_allocation_id, instance_id=self._instance.instance_id
        )
        CfnOutput(self, "ServerAddress", value=address.attr_public_ip)
        CfnOutput(self, "InstanceId", value=self._instance.instance_id)
        CfnOutput(self, "PreSharedKeySecret", value=self._pre_shared_key.secret_name)


def _rotate(scope: Construct, secrets: Sequence[secretsmanager.Secret], days: int) -> None:
    """Give each of `secrets` a new value every `days` through stacks/handlers/vpn_rotation.py, and to no others."""
    actions = ("DescribeSecret", "GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage")
    rotating = statement(*of_service("secretsmanager", actions), on=[secret.secret_arn for secret in secrets])
    reason = "The VPN's own secrets by name: what a rotation reads, writes and makes current."
    rights, timeout = {reason: [rotating]}, Duration.minutes(1)
    function = handler_function(scope, "Function", "vpn_rotation.handler", rights=rights, timeout=timeout)
    permission = lambda_.CfnPermission(
        scope,
        "CalledBySecretsManager",
        action="lambda:InvokeFunction",
        function_name=function.function_name,
        principal="secretsmanager.amazonaws.com",
        source_account=Stack.of(scope).account,
    )
    for secret in secrets:
        schedule = secretsmanager.CfnRotationSchedule(
            # Child of the secret, so that both are deleted together.
            secret,
            "Rotation",
            secret_id=secret.secret_arn,
            rotation_lambda_arn=function.function_arn,
            rotation_rules=secretsmanager.CfnRotationSchedule.RotationRulesProperty(automatically_after_days=days),
            # Otherwise the password that a person has just read would already be outdated.
            rotate_immediately_on_update=False,
        )
        # Secrets Manager tests the function when the schedule is created.
        schedule.node.add_dependency(permission, role_of(function))
