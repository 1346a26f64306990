"""The function that rotates the VPN's secrets, and their schedules: stacks/handlers/vpn_rotation.py."""

from collections.abc import Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from stacks.acceptances import accept
from stacks.provider import handler_function

_ACTIONS = ("DescribeSecret", "GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage")


class VpnRotation(Construct):
    """Gives each of `secrets` a new value every `days`, and may touch no others."""

    def __init__(self, scope: Construct, id_: str, *, secrets: Sequence[secretsmanager.Secret], days: int) -> None:
        super().__init__(scope, id_)
        self._role = self._made_role([secret.secret_arn for secret in secrets])
        self.function = handler_function(
            self, "Function", module="vpn_rotation", role=self._role, timeout=Duration.minutes(1)
        )
        permission = lambda_.CfnPermission(
            self,
            "CalledBySecretsManager",
            action="lambda:InvokeFunction",
            function_name=self.function.function_name,
            principal="secretsmanager.amazonaws.com",
            source_account=Stack.of(self).account,
        )
        for secret in secrets:
            schedule = secretsmanager.CfnRotationSchedule(
                # Beside the secret: a person who goes takes her schedule with her.
                secret,
                "Rotation",
                secret_id=secret.secret_arn,
                rotation_lambda_arn=self.function.function_arn,
                rotation_rules=secretsmanager.CfnRotationSchedule.RotationRulesProperty(automatically_after_days=days),
                # Or the password that she has just read would already be the former one.
                rotate_immediately_on_update=False,
            )
            # Secrets Manager tries the function when it takes the schedule.
            schedule.node.add_dependency(permission, self._role)

    def _made_role(self, arns: Sequence[str]) -> iam.Role:
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        rotating = iam.PolicyStatement(actions=[f"secretsmanager:{action}" for action in _ACTIONS], resources=[*arns])
        role.add_to_policy(rotating)
        accept(role, rotating, reason="The VPN's own secrets by name: what a rotation reads, writes and makes current.")
        return role
