"""An environment's deployed templates, from CloudFormation."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from operate.errors import OperateError
from operate.outputs import QUICK, check_account, one_line
from settings.environment import Environment

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

# These stacks exist but are empty: their creation failed, or waits for its change set.
EMPTY = frozenset({"REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE"})


def deployed(environment: Environment) -> dict[str, Mapping[str, Any]]:
    """Return the templates of an environment's deployed stacks by name, including those that the app no longer has.

    Raises OperateError if credentials are missing or of another account, AWS refuses, or nothing is deployed.
    """
    session = check_account(environment)
    with one_line(environment):
        client = session.client("cloudformation", config=QUICK)
        found = {name: template(client, name) for name in _names(client, f"{environment.prefix}-")}
    if not found:
        raise OperateError(
            f"nothing of {environment.prefix} is deployed in {environment.region}: without --deployed the comparison is"
            " with the snapshot"
        )
    return found


def _names(client: "CloudFormationClient", prefix: str) -> Iterator[str]:
    for page in client.get_paginator("describe_stacks").paginate():
        for stack in page["Stacks"]:
            nested = "ParentId" in stack
            if stack["StackName"].startswith(prefix) and not nested and stack["StackStatus"] not in EMPTY:
                yield stack["StackName"]


def template(client: "CloudFormationClient", name: str) -> Mapping[str, Any]:
    """Return a stack's template; botocore parses it if it is JSON, as CDK's are."""
    body: Any = client.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            raise OperateError(f"{name}: its deployed template isn't JSON: somebody else has made it") from None
    found: Mapping[str, Any] = body
    return found
