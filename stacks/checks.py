"""Where a construct says that it knows of a cdk-nag finding, and why that is as it should be."""

import json
from collections.abc import Iterable
from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct


def acknowledge(construct: IConstruct, *ids: str, reason: str) -> None:
    """Acknowledge findings on `construct` and below it, each by its full id (`AwsSolutions-IAM5[Resource::*]`)."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=id_, reason=reason) for id_ in ids))


def acknowledge_wildcards(construct: IConstruct, *statements: iam.PolicyStatement, reason: str) -> None:
    """Acknowledge the wildcards in the resources of exactly these statements, not any others of the role."""
    stack = Stack.of(construct)
    resources = {_as_nag_writes_it(stack.resolve(name)) for statement in statements for name in statement.resources}
    findings = sorted(f"AwsSolutions-IAM5[Resource::{resource}]" for resource in resources if "*" in resource)
    acknowledge(construct, *findings, reason=reason)


def acknowledge_versions(construct: IConstruct, functions: Iterable[str], *, reason: str) -> None:
    """Acknowledge that functions, by logical id, may be called in any version."""
    findings = (f"AwsSolutions-IAM5[Resource::<{function}.Arn>:*]" for function in functions)
    acknowledge(construct, *findings, reason=reason)


def _as_nag_writes_it(value: Any) -> str:
    """Write a resolved ARN the way that cdk-nag's findings do (its flattenCfnReference, 3.0.2)."""
    match value:
        case str():
            return value
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Fn::ImportValue": name}:
            return str(name)
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(_as_nag_writes_it(part) for part in parts)
        case _:
            return json.dumps(value, separators=(",", ":"))
