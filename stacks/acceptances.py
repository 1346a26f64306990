"""Where a construct says that it knows of a finding, and why that is as it should be.

cdk-nag's findings are acknowledged by their ids. Rights are accepted by statement: what is noted here, beside the
templates, is the statement itself, and `./lake aws review` (stacks/gate) refuses every right that isn't exactly one of
them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import Acknowledgment, CfnRefElement, Stack, Validations
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from stacks.gate.template import written

# The metadata's type under which a statement is noted; operate/synth.py reads it again.
ACCEPTED_STATEMENT = "cdc-lake:accepted-statement"


def acknowledge(construct: IConstruct, *ids: str, reason: str) -> None:
    """Acknowledge findings on `construct` and below it, each by its full id (`AwsSolutions-IAM5[Resource::*]`)."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=id_, reason=reason) for id_ in ids))


def acknowledge_wildcards(holder: IConstruct, *statements: iam.PolicyStatement, reason: str) -> None:
    """Accept exactly these statements of a role (or of an instance's), and acknowledge their wildcards for cdk-nag."""
    accept(holder, *statements, reason=reason)
    stack = Stack.of(holder)
    resources = {written(stack.resolve(name)) for statement in statements for name in statement.resources}
    findings = sorted(f"AwsSolutions-IAM5[Resource::{resource}]" for resource in resources if "*" in resource)
    acknowledge(holder, *findings, reason=reason)


def accept(holder: IConstruct, *statements: iam.PolicyStatement, reason: str) -> None:
    """Accept exactly these statements of a role, or of the policy of a bucket, key, topic or secret.

    For what cdk-nag has nothing to say of: powerful rights on resources by name, and whom a resource's policy lets in.
    """
    for statement in statements:
        _note(holder, statement.to_statement_json(), reason)


def acknowledge_versions(role: IConstruct, functions: Iterable[str], *, reason: str) -> None:
    """Accept that a role calls functions, by logical id, in any version."""
    names = list(functions)
    arns = [{"Fn::Join": ["", [{"Fn::GetAtt": [name, "Arn"]}, ":*"]]} for name in names]
    _note(role, {"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": arns}, reason)
    acknowledge(role, *(f"AwsSolutions-IAM5[Resource::<{name}.Arn>:*]" for name in names), reason=reason)


def _note(holder: IConstruct, statement: Mapping[str, Any], reason: str) -> None:
    """Write a statement down; CDK resolves its references when it synthesizes, as it does in the template."""
    role = holder.role if isinstance(holder, ec2.Instance) else holder
    element = role.node.default_child or role
    if not isinstance(element, CfnRefElement):
        raise TypeError(f"{holder.node.path} carries no policy")
    noted = {"holder": {"Ref": element.logical_id}, "statement": statement, "reason": reason}
    holder.node.add_metadata(ACCEPTED_STATEMENT, noted)
