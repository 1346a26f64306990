"""The construct behind every custom resource: a Lambda handler, and CDK's framework that calls it and waits."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aws_cdk import CfnElement, CustomResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as cr
from constructs import Construct, IConstruct, IDependable

from stacks import lambda_assets
from stacks.base import acknowledge, acknowledge_versions, allow, bucket_arn, statement
from stacks.lambda_assets import KAFKA, PSYCOPG2, Layer, layer_folder

# Statements by the reason why a handler has them.
Rights = Mapping[str, Sequence[iam.PolicyStatement]]


def runtime_of(layer: Layer) -> lambda_.Runtime:
    name = f"python{layer.python_version}"
    return lambda_.Runtime(name, lambda_.RuntimeFamily.PYTHON, supports_inline_code=True)


# The version that the tests run on.
RUNTIME = runtime_of(PSYCOPG2)
# For packages that need a newer system (stacks/lambda_assets.py).
NEWER_RUNTIME = runtime_of(KAFKA)
VERSIONS = {
    RUNTIME.name: "Runs the Python version that the project's tests run on; Lambda supports it until June 2027.",
    NEWER_RUNTIME.name: "Runs the oldest Python whose system has what the function's packages want; "
    "Lambda supports it until October 2028.",
}
# Where requests record what they have begun; stacks/handlers/journal.py reads the variable.
JOURNAL_VARIABLE = "JOURNAL"
JOURNAL_KEYS = "requests/"
JOURNAL_REASON = "The requests of this stack's resources alone: their keys begin with its name."
# boto3 reads a newer model of MSK Connect's API there.
MODELS = {"AWS_DATA_PATH": f"/var/task/{lambda_assets.MODELS}"}
IN_A_VPC = "EC2's network interface actions that Lambda needs in a VPC have no resource before they exist."
_INTERFACES = (
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
)
QUERY_INTERVAL = Duration.seconds(30)
# CloudFormation waits for a custom resource for an hour at most; the handlers give up with a reason after 55 min.
TOTAL_TIMEOUT = Duration.minutes(58)


class HandlerProvider(Construct):
    """Runs `stacks/handlers/<module>.py`: its `on_event` and its `is_complete`.

    `rights` are all that the handler may do apart from writing its own log, by reason. `packages` are the project's
    packages that it imports. `journal` is the bucket in which its requests record what they have begun, for a handler
    with a journal (stacks/handlers/journal.py). `options` are the functions' own.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        module: str,
        rights: Rights,
        packages: Sequence[str] = ("plugins",),
        variables: Mapping[str, str] | None = None,
        journal: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(scope, id_)
        environment = {**MODELS, **(variables or {})}
        if journal:
            rights = {**rights, JOURNAL_REASON: _journal_rights(self, journal)}
            environment[JOURNAL_VARIABLE] = f"{journal}/{JOURNAL_KEYS}"
        shared = {"timeout": Duration.minutes(5), "memory_size": 256, "environment": environment, **options}
        self.on_event, self.is_complete = (
            handler_function(self, id_, f"{module}.{name}", rights=rights, packages=packages, ids=id_, **shared)
            for id_, name in (("OnEvent", "on_event"), ("IsComplete", "is_complete"))
        )
        self._provider = cr.Provider(
            self,
            "Framework",
            on_event_handler=self.on_event,
            is_complete_handler=self.is_complete,
            query_interval=QUERY_INTERVAL,
            total_timeout=TOTAL_TIMEOUT,
            disable_waiter_state_machine_logging=True,
            log_group=_log_group(self, "FrameworkLog"),
        )
        self._acknowledge_framework()

    @property
    def worker_role(self) -> iam.IRole:
        return role_of(self.is_complete)

    def resource(
        self,
        scope: Construct,
        id_: str,
        type_: str,
        request: Mapping[str, Any],
        *,
        after: Iterable[IDependable] = (),
        **more: str,
    ) -> CustomResource:
        """Create one of this handler's resources; `more` properties only force an update, the handler ignores them.

        The whole request is one property: CloudFormation would turn its numbers into strings.
        """
        made = CustomResource(
            scope,
            id_,
            service_token=self._provider.service_token,
            resource_type=f"Custom::{type_}",
            properties={"Request": Stack.of(scope).to_json_string(request), **more},
        )
        made.node.add_dependency(*after)
        return made

    def _acknowledge_framework(self) -> None:
        acknowledge(
            self._provider,
            "AwsSolutions-SF1",
            "AwsSolutions-SF2",
            "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]",
            reason="CDK's provider framework: a small state machine that asks whether a resource is there yet.",
        )
        # The framework's functions call the handler's; its state machine calls the framework functions that wait.
        called = [_logical_id(function.node.default_child) for function in (self.on_event, self.is_complete)]
        framework = {
            child.node.path.rpartition("framework-")[2]: _logical_id(child)
            for child in self._provider.node.find_all()
            if isinstance(child, lambda_.CfnFunction)
        }
        waiting = [id_ for path, id_ in sorted(framework.items()) if not path.startswith("onEvent/")]
        for role in self._provider.node.find_all():
            if isinstance(role, iam.Role):
                names = waiting if "waiter-state-machine" in role.node.path else called
                reason = "CDK's provider framework calls these functions, and no others, in any version."
                acknowledge_versions(role, names, reason=reason)


def scheduled_function(
    scope: Construct, id_: str, module: str, *, every: Duration, description: str, enabled: bool = True, **options: Any
) -> lambda_.Function:
    """Run `handler` of `stacks/handlers/<module>.py` on a schedule if `enabled`; `options` as handler_function's.

    The schedule is in the same scope, one per scope.
    """
    function = handler_function(scope, id_, f"{module}.handler", **options)
    events.Rule(
        scope,
        "Schedule",
        description=description,
        schedule=events.Schedule.rate(every),
        enabled=enabled,
        targets=[targets.LambdaFunction(function)],
    )
    return function


def handler_function(
    scope: Construct,
    id_: str,
    handler: str,
    *,
    rights: Rights,
    packages: Sequence[str] = ("plugins",),
    ids: str = "",
    **options: Any,
) -> lambda_.Function:
    """Run `<module>.<function>` of stacks/handlers, with its own role and log, whose ids begin with `ids`."""
    role = iam.Role(scope, f"{ids}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    log_group = _log_group(scope, f"{ids}Log")
    log_group.grant_write(role)
    if "vpc" in options:
        rights = {**rights, IN_A_VPC: [statement(*_INTERFACES, on="*")]}
    for reason, statements in rights.items():
        allow(role, *statements, reason=reason)
    options = {"runtime": RUNTIME, **options}
    code = lambda_.Code.from_asset(str(lambda_assets.stage(*packages)))
    function = lambda_.Function(
        scope, id_, handler=f"stacks.handlers.{handler}", code=code, role=role, log_group=log_group, **options
    )
    acknowledge(function, "AwsSolutions-L1", reason=VERSIONS[options["runtime"].name])
    return function


def role_of(function: lambda_.Function) -> iam.IRole:
    assert function.role is not None  # noqa: S101  it was made with one
    return function.role


def layer_version(scope: Construct, id_: str, layer: Layer, description: str) -> lambda_.LayerVersion:
    """Create a layer of the packages that `make setup` has downloaded."""
    return lambda_.LayerVersion(
        scope,
        id_,
        code=lambda_.Code.from_asset(str(layer_folder(layer))),
        compatible_runtimes=[runtime_of(layer)],
        compatible_architectures=[lambda_.Architecture.X86_64],
        description=description,
    )


def _log_group(scope: Construct, id_: str) -> logs.LogGroup:
    return logs.LogGroup(scope, id_, retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY)


def _logical_id(element: IConstruct | None) -> str:
    assert isinstance(element, CfnElement)  # noqa: S101  a function's own
    resolved: str = Stack.of(element).resolve(element.logical_id)
    return resolved


def _journal_rights(scope: Construct, bucket: str) -> list[iam.PolicyStatement]:
    name, keys = bucket_arn(scope, bucket), f"{JOURNAL_KEYS}{Stack.of(scope).stack_name}/*"
    return [
        statement("s3:GetObject", "s3:PutObject", on=f"{name}/{keys}"),
        statement("s3:ListBucket", on=name, when={"StringLike": {"s3:prefix": keys}}),
    ]
