"""The construct behind every custom resource: a handler in Lambda, and CDK's framework that calls it and waits."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import CfnElement, CustomResource, Duration, RemovalPolicy, Size, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as cr
from constructs import Construct, IConstruct

from stacks import handler_code
from stacks.acceptances import accept, acknowledge, acknowledge_versions, acknowledge_wildcards
from stacks.wheels import KAFKA, PSYCOPG2, Layer


def runtime_of(layer: Layer) -> lambda_.Runtime:
    name = f"python{layer.python_version}"
    return lambda_.Runtime(name, lambda_.RuntimeFamily.PYTHON, supports_inline_code=True)


# The version that the tests run on.
RUNTIME = runtime_of(PSYCOPG2)
# For packages that want a newer system (stacks/wheels.py).
NEWER_RUNTIME = runtime_of(KAFKA)
VERSIONS = {
    RUNTIME.name: "Runs the Python version that the project's tests run on; Lambda supports it until June 2027.",
    NEWER_RUNTIME.name: "Runs the oldest Python whose system has what the function's packages want; "
    "Lambda supports it until October 2028.",
}
# Where requests write down what they have begun; stacks/handlers/journal.py reads the variable.
JOURNAL_VARIABLE = "JOURNAL"
JOURNAL_KEYS = "requests/"
JOURNAL_REASON = "The requests of this stack's resources alone: their keys begin with its name."
QUERY_INTERVAL = Duration.seconds(30)
# CloudFormation waits for a custom resource for an hour at most; the handlers give up with a reason after 55 min.
TOTAL_TIMEOUT = Duration.minutes(58)


class HandlerProvider(Construct):
    """Runs `stacks/handlers/<module>.py`: its `on_event` and its `is_complete`.

    `statements` are all that the handler may do besides writing its own log. `packages` are the project's packages
    that it imports. `journal` is the bucket in which its requests write down what they have begun, for a handler that
    has one (stacks/handlers/journal.py).
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        module: str,
        statements: Sequence[iam.PolicyStatement],
        packages: Sequence[str] = ("plugins",),
        timeout: Duration | None = None,
        memory_mb: int = 256,
        ephemeral_storage: Size | None = None,
        variables: Mapping[str, str] | None = None,
        journal: str | None = None,
        layers: Sequence[lambda_.ILayerVersion] = (),
        vpc: ec2.IVpc | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        runtime: lambda_.Runtime = RUNTIME,
    ) -> None:
        super().__init__(scope, id_)
        records = _journal_rights(self, journal) if journal else []
        place = {JOURNAL_VARIABLE: f"{journal}/{JOURNAL_KEYS}"} if journal else {}
        self._statements = [*statements, *records]
        self._roles: list[iam.Role] = []
        self._options: dict[str, Any] = {
            "runtime": runtime,
            "code": lambda_.Code.from_asset(handler_code.staged(*packages)),
            "timeout": timeout or Duration.minutes(5),
            "memory_size": memory_mb,
            "ephemeral_storage_size": ephemeral_storage,
            "environment": {"AWS_DATA_PATH": f"/var/task/{handler_code.MODELS}"} | place | dict(variables or {}),
            "layers": list(layers),
            "vpc": vpc,
            "security_groups": list(security_groups) or None,
        }
        self.on_event = self._function("OnEvent", f"stacks.handlers.{module}.on_event")
        self.is_complete = self._function("IsComplete", f"stacks.handlers.{module}.is_complete")
        self.provider = self._provider()
        self.service_token = self.provider.service_token
        self._acknowledge_framework()
        self.acknowledge_wildcards(*records, reason=JOURNAL_REASON)

    def resource(
        self, scope: Construct, id_: str, type_: str, request: Mapping[str, Any], **more: str
    ) -> CustomResource:
        """Make a resource of this handler's; what `more` says makes another request of it and is nobody's to read."""
        return CustomResource(
            scope,
            id_,
            service_token=self.provider.service_token,
            resource_type=type_,
            properties={"Request": Stack.of(scope).to_json_string(request), **more},
        )

    @property
    def worker_role(self) -> iam.Role:
        return self._roles[-1]

    def acknowledge_wildcards(self, *statements: iam.PolicyStatement, reason: str) -> None:
        """Acknowledge the wildcards of these statements in the handler's roles, not in those of CDK's framework."""
        for role in self._roles:
            acknowledge_wildcards(role, *statements, reason=reason)

    def accept(self, *statements: iam.PolicyStatement, reason: str) -> None:
        """Accept these statements, powerful though without wildcards, in the handler's roles."""
        for role in self._roles:
            accept(role, *statements, reason=reason)

    def _function(self, id_: str, handler: str) -> lambda_.Function:
        log_group = self._log_group(f"{id_}Log")
        role = iam.Role(self, f"{id_}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self._roles.append(role)
        log_group.grant_write(role)
        for statement in self._statements:
            role.add_to_policy(statement)
        if self._options["vpc"] is not None:
            role.add_to_policy(interfaces := network_interfaces())
            acknowledge_wildcards(
                role,
                interfaces,
                reason="EC2's network interface actions that Lambda needs in a VPC have no resource before they exist.",
            )
        function = lambda_.Function(self, id_, handler=handler, role=role, log_group=log_group, **self._options)
        acknowledge(
            function,
            "AwsSolutions-L1",
            reason=VERSIONS[self._options["runtime"].name],
        )
        return function

    def _log_group(self, id_: str) -> logs.LogGroup:
        return logs.LogGroup(self, id_, retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY)

    def _provider(self) -> cr.Provider:
        return cr.Provider(
            self,
            "Framework",
            on_event_handler=self.on_event,
            is_complete_handler=self.is_complete,
            query_interval=QUERY_INTERVAL,
            total_timeout=TOTAL_TIMEOUT,
            disable_waiter_state_machine_logging=True,
            log_group=self._log_group("FrameworkLog"),
        )

    def _acknowledge_framework(self) -> None:
        """What CDK's own framework functions look like isn't ours to choose."""
        acknowledge(
            self.provider,
            "AwsSolutions-SF1",
            "AwsSolutions-SF2",
            "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]",
            reason="CDK's provider framework: a small state machine that asks whether a resource is there yet.",
        )
        # The framework's functions call the handler's, its state machine those of the framework that wait.
        called = [_logical_id(function.node.default_child) for function in (self.on_event, self.is_complete)]
        framework = {
            child.node.path.rpartition("framework-")[2]: _logical_id(child)
            for child in self.provider.node.find_all()
            if isinstance(child, lambda_.CfnFunction)
        }
        waiting = [id_ for path, id_ in sorted(framework.items()) if not path.startswith("onEvent/")]
        for role in self.provider.node.find_all():
            if isinstance(role, iam.Role):
                names = waiting if "waiter-state-machine" in role.node.path else called
                reason = "CDK's provider framework calls these functions, and no others, in any version."
                acknowledge_versions(role, names, reason=reason)


def handler_function(
    scope: Construct, id_: str, *, module: str, role: iam.Role, timeout: Duration, names: str = "", **options: Any
) -> lambda_.Function:
    """Run `handler` of `stacks/handlers/<module>.py`, outside of CDK's framework; `names` begin its log's id."""
    log_group = logs.LogGroup(
        scope, f"{names}Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
    )
    log_group.grant_write(role)
    function = lambda_.Function(
        scope,
        id_,
        runtime=RUNTIME,
        code=lambda_.Code.from_asset(handler_code.staged("plugins")),
        handler=f"stacks.handlers.{module}.handler",
        role=role,
        log_group=log_group,
        timeout=timeout,
        **options,
    )
    acknowledge(function, "AwsSolutions-L1", reason=VERSIONS[RUNTIME.name])
    return function


def run_every(function: lambda_.Function, period: Duration, *, description: str, enabled: bool = True) -> None:
    """Run a function by a schedule, which is beside it."""
    scope = function.node.scope
    assert isinstance(scope, Construct)  # noqa: S101  jsii says less
    events.Rule(
        scope,
        "Schedule",
        description=description,
        schedule=events.Schedule.rate(period),
        enabled=enabled,
        targets=[targets.LambdaFunction(function)],
    )


def _logical_id(element: IConstruct | None) -> str:
    assert isinstance(element, CfnElement)  # noqa: S101  a function's own
    resolved: str = Stack.of(element).resolve(element.logical_id)
    return resolved


def _journal_rights(scope: Construct, bucket: str) -> list[iam.PolicyStatement]:
    """Read, write and list what this stack's requests have written down."""
    stack = Stack.of(scope)
    arn, keys = f"arn:{stack.partition}:s3:::{bucket}", f"{JOURNAL_KEYS}{stack.stack_name}/*"
    return [
        iam.PolicyStatement(actions=["s3:GetObject", "s3:PutObject"], resources=[f"{arn}/{keys}"]),
        iam.PolicyStatement(actions=["s3:ListBucket"], resources=[arn], conditions={"StringLike": {"s3:prefix": keys}}),
    ]


def network_interfaces() -> iam.PolicyStatement:
    actions = ("CreateNetworkInterface", "DeleteNetworkInterface", "DescribeNetworkInterfaces", "DescribeSubnets")
    return iam.PolicyStatement(actions=[f"ec2:{action}" for action in actions], resources=["*"])
