"""Restarts the connectors' failed tasks, every five minutes: stacks/handlers/connector_restarts.py."""

from collections.abc import Sequence

from aws_cdk import CfnResource, Duration, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks import handler_code
from stacks.acceptances import acknowledge_wildcards
from stacks.provider import handler_function, run_every

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
        self.function = handler_function(
            self,
            "Function",
            module="connector_restarts",
            role=role,
            timeout=Duration.minutes(2),
            environment={"AWS_DATA_PATH": f"/var/task/{handler_code.MODELS}", "CONNECTORS": ",".join(names)},
        )
        for statement in (statements := self._statements(names)):
            role.add_to_policy(statement)
        acknowledge_wildcards(role, *statements, reason=OWN_NAMES)
        _vouch_for_the_action(role)
        run_every(self.function, EVERY, description="Restart failed tasks of the connectors")

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
