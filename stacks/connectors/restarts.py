"""Restarts the connectors' failed tasks, every five minutes: stacks/handlers/connector_restarts.py."""

from collections.abc import Sequence

from aws_cdk import CfnResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks import handler_code
from stacks.acceptances import acknowledge, acknowledge_wildcards
from stacks.provider import RUNTIME

EVERY = Duration.minutes(5)
OWN_NAMES = (
    "AWS appends an id to a connector's name, and lists no resource for what is listed or for metrics; the names are "
    "this environment's connectors."
)


class ConnectorRestarts(Construct):
    """A function that looks after the connectors `names`, with the rights to find and restart these and no others."""

    def __init__(self, scope: Construct, id_: str, *, names: Sequence[str]) -> None:
        super().__init__(scope, id_)
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        log_group.grant_write(role)
        for statement in (statements := self._statements(names)):
            role.add_to_policy(statement)
        acknowledge_wildcards(role, *statements, reason=OWN_NAMES)
        _vouch_for_the_action(role)
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=RUNTIME,
            code=lambda_.Code.from_asset(handler_code.staged("plugins")),
            handler="stacks.handlers.connector_restarts.handler",
            role=role,
            log_group=log_group,
            timeout=Duration.minutes(2),
            environment={"AWS_DATA_PATH": f"/var/task/{handler_code.MODELS}", "CONNECTORS": ",".join(names)},
        )
        acknowledge(
            self.function,
            "AwsSolutions-L1",
            reason="Runs the Python version that the project's tests run on; Lambda supports it until June 2027.",
        )
        events.Rule(
            self,
            "Schedule",
            description="Restart failed tasks of the connectors",
            schedule=events.Schedule.rate(EVERY),
            targets=[targets.LambdaFunction(self.function)],
        )

    def _statements(self, names: Sequence[str]) -> list[iam.PolicyStatement]:
        stack = Stack.of(self)
        base = f"arn:{stack.partition}:kafkaconnect:{stack.region}:{stack.account}:connector"
        actions = ["kafkaconnect:ListConnectorOperations", "kafkaconnect:RestartConnector"]
        return [
            iam.PolicyStatement(actions=["kafkaconnect:ListConnectors", "cloudwatch:GetMetricData"], resources=["*"]),
            iam.PolicyStatement(actions=actions, resources=[f"{base}/{name}/*" for name in names]),
        ]


def _vouch_for_the_action(role: iam.Role) -> None:
    """cfn-lint 1.58 knows no RestartConnector; it is in MSK Connect's API reference and in botocore's model."""
    policy = role.node.find_child("DefaultPolicy").node.default_child
    assert isinstance(policy, CfnResource)  # noqa: S101  made by add_to_policy
    policy.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W3037"]}})
