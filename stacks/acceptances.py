"""Accepts findings and rights on constructs, each with its reason.

cdk-nag findings are acknowledged by id. Rights are accepted by statement: the template's metadata holds each accepted
statement, and `./lake aws review` (stacks/gate) refuses every right that doesn't match one exactly.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import Acknowledgment, CfnRefElement, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from stacks.gate.template import written

# Metadata type of an accepted statement; operate/synth.py reads it.
ACCEPTED_STATEMENT = "cdc-lake:accepted-statement"


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
