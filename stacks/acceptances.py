"""Where a construct says that it knows of a finding, and why that is as it should be.

cdk-nag's findings are acknowledged by their ids. Rights are accepted by statement: what is noted here, beside the
templates, is the statement itself, and `./lake aws review` (stacks/gate) refuses every right that isn't exactly one of
them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import Acknowledgment, CfnRefElement, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from stacks.gate.template import written

# The metadata's type under which a statement is noted; operate/synth.py reads it again.
ACCEPTED_STATEMENT = "cdc-lake:accepted-statement"


def acknowledge(construct: IConstruct, *ids: str, reason: str) -> None:
    """Acknowledge findings on `construct` and below it, each by its full id (`AwsSolutions-IAM5[Resource::*]`)."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=id_, reason=reason) for id_ in ids))


def accept(holder: IConstruct, *statements: iam.PolicyStatement, reason: str) -> None:
    """Accept exactly these statements of a role, or of the policy of a bucket, key, topic or secret.

    cdk-nag looks for wildcards in what roles may do, not in whom a resource's policy lets in.
    """
    for statement in statements:
        _note(holder, statement.to_statement_json(), reason)
        if not statement.has_principal:
            resources = sorted({written(Stack.of(holder).resolve(name)) for name in statement.resources})
            findings = [f"AwsSolutions-IAM5[Resource::{name}]" for name in resources if "*" in name]
            acknowledge(holder, *findings, reason=reason)


def acknowledge_versions(role: IConstruct, functions: Iterable[str], *, reason: str) -> None:
    """Accept that a role calls functions, by logical id, in any version."""
    names = list(functions)
    arns = [{"Fn::Join": ["", [{"Fn::GetAtt": [name, "Arn"]}, ":*"]]} for name in names]
    _note(role, {"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": arns}, reason)
    acknowledge(role, *(f"AwsSolutions-IAM5[Resource::<{name}.Arn>:*]" for name in names), reason=reason)


def _note(holder: IConstruct, statement: Mapping[str, Any], reason: str) -> None:
    """Write a statement down; CDK resolves its references when it synthesizes, as it does in the template."""
    element = holder.node.default_child or holder
    if not isinstance(element, CfnRefElement):
        raise TypeError(f"{holder.node.path} carries no policy")
    noted = {"holder": {"Ref": element.logical_id}, "statement": statement, "reason": reason}
    holder.node.add_metadata(ACCEPTED_STATEMENT, noted)
