"""What all stacks share: their names, rights and ARNs, accepted findings, retention, and open ports.

cdk-nag findings are acknowledged by id. Rights are accepted by statement: the template's metadata holds each accepted
statement, and `./lake aws review` (stacks/gate) refuses every right that doesn't match one exactly.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aws_cdk import Acknowledgment, CfnOutput, CfnRefElement, RemovalPolicy, Stack, Validations
from aws_cdk import Environment as Place
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_ssm as ssm
from constructs import Construct, IConstruct

from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.gate.template import written
from stacks.paused import OUTPUT, Paused

Conditions = Mapping[str, Mapping[str, Any]]
HTTPS = 443
# Session Manager lets people with an IAM identity into an instance without an open port. Its agent needs these
# actions; none supports resources (Systems Manager user guide, "Add Session Manager permissions to an existing IAM
# role").
_SESSION_AGENT = (
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
# Metadata type of an accepted statement; operate/synth.py reads it.
ACCEPTED_STATEMENT = "cdc-lake:accepted-statement"


class EnvironmentStack(Stack):
    """A stack of an environment; its role, such as `network`, ends its name. What a pause leaves out is an output."""

    def __init__(self, scope: Construct, role: str, environment: Environment, paused: Paused = Paused.NOTHING) -> None:
        super().__init__(
            scope,
            f"{environment.prefix}-{role}",
            env=Place(account=environment.account, region=environment.region),
            termination_protection=environment.production,
        )
        self._environment = environment
        if paused is not Paused.NOTHING:
            CfnOutput(self, OUTPUT, value=paused.value)


def keeps(environment: Environment) -> bool:
    return environment.removal_policy == "retain"


def id_of(kind: str, name: str) -> str:
    """Return the id of one of several resources, by its content: by its position, it would become its neighbour's."""
    return f"{kind}{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def removal(environment: Environment) -> RemovalPolicy:
    """What happens to data when its stack is deleted.

    Retained resources are still deleted if their creating operation is rolled back (`RetainExceptOnCreate`): they are
    empty, and their names would block the next attempt.
    """
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if keeps(environment) else RemovalPolicy.DESTROY


def log_group(
    scope: Construct, id_: str, environment: Environment, days: int, *, name: str | None = None
) -> logs.LogGroup:
    """Create a log group; `name` is for one that a service would otherwise create itself, without expiry."""
    group = logs.LogGroup(scope, id_, log_group_name=name, removal_policy=removal(environment))
    element = group.node.default_child
    assert isinstance(element, logs.CfnLogGroup)  # noqa: S101  CDK's own type is looser
    element.retention_in_days = days
    return group


def encryption_key(scope: Construct, id_: str, description: str, policy: RemovalPolicy) -> kms.Key:
    return kms.Key(scope, id_, description=description, enable_key_rotation=True, removal_policy=policy)


def source_value(stack: Stack, environment: Environment, pipeline: EnvironmentPipeline, name: str) -> str:
    """Read, when `stack` is deployed, a parameter that the database's stack writes: its value may change."""
    parameter = environment.source_parameter(pipeline, name)
    value: str = ssm.StringParameter.value_for_string_parameter(stack, parameter)
    return value


def arn(scope: IConstruct, service: str, resource: str) -> str:
    """Return an ARN in the stack's account and region, for a resource such as `connector/name/*` of kafkaconnect."""
    stack = Stack.of(scope)
    return f"arn:{stack.partition}:{service}:{stack.region}:{stack.account}:{resource}"


def bucket_arn(scope: IConstruct, bucket: str) -> str:
    return f"arn:{Stack.of(scope).partition}:s3:::{bucket}"


def statement(*actions: str, on: str | Sequence[str], when: Conditions | None = None) -> iam.PolicyStatement:
    """Allow actions on resources, given by ARN, under conditions."""
    return iam.PolicyStatement(actions=[*actions], resources=[on] if isinstance(on, str) else [*on], conditions=when)


def of_service(service: str, names: Sequence[str]) -> list[str]:
    return [f"{service}:{name}" for name in names]


def allow(role: iam.IRole, *statements: iam.PolicyStatement, reason: str) -> None:
    for each in statements:
        role.add_to_principal_policy(each)
    accept(role, *statements, reason=reason)


def serve_sessions(role: iam.IRole) -> None:
    """Let a role's instances serve Session Manager; people's own IAM rights decide who may start a session."""
    reason = "Session Manager's agent: its actions know no resources. AWS's managed policy would add all of Parameter"
    allow(role, statement(*_SESSION_AGENT, on="*"), reason=f"{reason} Store.")


def closed_group(scope: Construct, id_: str, vpc: ec2.IVpc, description: str) -> ec2.SecurityGroup:
    """Create a group with no ingress and no egress yet."""
    return ec2.SecurityGroup(scope, id_, vpc=vpc, description=description, allow_all_outbound=False)


def let_in(
    scope: Construct, id_: str, *, to: ec2.ISecurityGroup, source_id: str, port: int, description: str
) -> ec2.CfnSecurityGroupIngress:
    """Open a port of another stack's group from the stack of `scope`: a rule there would make it depend on this one."""
    return ec2.CfnSecurityGroupIngress(
        scope,
        id_,
        group_id=to.security_group_id,
        source_security_group_id=source_id,
        ip_protocol="tcp",
        from_port=port,
        to_port=port,
        description=description,
    )


def acknowledge(construct: IConstruct, *ids: str, reason: str) -> None:
    """Acknowledge findings on `construct` and its children by full id (`AwsSolutions-IAM5[Resource::*]`)."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=id_, reason=reason) for id_ in ids))


def accept(holder: IConstruct, *statements: iam.PolicyStatement, reason: str) -> None:
    """Accept exactly these statements of a role, or of the policy of a bucket, key, topic or secret.

    cdk-nag checks roles' rights for wildcards, but not who a resource's policy admits.
    """
    for statement in statements:
        _note(holder, statement.to_statement_json(), reason)
        if not statement.has_principal:
            resources = sorted({written(Stack.of(holder).resolve(name)) for name in statement.resources})
            findings = [f"AwsSolutions-IAM5[Resource::{name}]" for name in resources if "*" in name]
            acknowledge(holder, *findings, reason=reason)


def acknowledge_versions(role: IConstruct, functions: Iterable[str], *, reason: str) -> None:
    """Accept that a role calls functions, given by logical id, in any version."""
    names = list(functions)
    arns = [{"Fn::Join": ["", [{"Fn::GetAtt": [name, "Arn"]}, ":*"]]} for name in names]
    _note(role, {"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": arns}, reason)
    acknowledge(role, *(f"AwsSolutions-IAM5[Resource::<{name}.Arn>:*]" for name in names), reason=reason)


def _note(holder: IConstruct, statement: Mapping[str, Any], reason: str) -> None:
    """Note a statement in the metadata; CDK resolves its references at synthesis, as in the template."""
    element = holder.node.default_child or holder
    if not isinstance(element, CfnRefElement):
        raise TypeError(f"{holder.node.path} carries no policy")
    noted = {"holder": {"Ref": element.logical_id}, "statement": statement, "reason": reason}
    holder.node.add_metadata(ACCEPTED_STATEMENT, noted)
