"""Imports the resources that an environment's deleted stacks kept into new stacks of the same names.

What survives `./lake aws destroy` has fixed names, so every new deployment would fail on them. CloudFormation remembers
what a deleted stack kept ("DELETE_SKIPPED", for 90 days, by the stack's id), and `cdk import` takes a file that maps
resources. Kept resources need nothing that was deleted (tests/stacks/test_stores.py), so they can be imported alone;
the next `./lake aws deploy` creates the rest.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from operate.changes.update_rules import schema
from operate.errors import OperateError
from operate.stack_states import find_stack

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

KEPT = "DELETE_SKIPPED"
Mapped = dict[str, dict[str, str]]


def write_mappings(
    client: "CloudFormationClient", templates: Mapping[str, Mapping[str, Any]], folder: Path
) -> dict[str, Path]:
    """Write a file of each deleted stack's kept resources for `cdk import --resource-mapping`; return them by stack.

    Skips stacks that exist or kept nothing. Raises OperateError if the template no longer has a kept resource: its
    import would be forgotten.
    """
    written = {}
    for stack, template in templates.items():
        if find_stack(client, stack) or not (found := _mapping(client, stack, template["Resources"])):
            continue
        written[stack] = folder / f"{stack}.kept.json"
        written[stack].write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return written


def _mapping(client: "CloudFormationClient", stack: str, resources: Mapping[str, Any]) -> Mapped:
    found: Mapped = {}
    for logical_id, type_, physical_id in _kept(client, stack):
        if resources.get(logical_id, {}).get("Type") != type_:
            raise OperateError(
                f"{stack} has kept {logical_id} ({type_}, {physical_id}), which its template doesn't have now: check "
                "out the version that was deployed last, or delete that by hand"
            )
        [identifier] = schema(type_)["primaryIdentifier"]
        found[logical_id] = {identifier.removeprefix("/properties/"): physical_id}
    return found


def _kept(client: "CloudFormationClient", stack: str) -> Iterator[tuple[str, str, str]]:
    """Return logical id, type and physical id of what the last deleted stack of that name kept."""
    pages = client.get_paginator("list_stacks").paginate(StackStatusFilter=["DELETE_COMPLETE"])
    deleted = [each for page in pages for each in page["StackSummaries"] if each["StackName"] == stack]
    if not deleted:
        return
    # # An empty stack of a failed attempt may follow the one that kept resources.
    for summary in sorted(deleted, key=lambda each: each["DeletionTime"], reverse=True):
        resources = client.get_paginator("list_stack_resources").paginate(StackName=summary["StackId"])
        kept = [
            (each["LogicalResourceId"], each["ResourceType"], each["PhysicalResourceId"])
            for page in resources
            for each in page["StackResourceSummaries"]
            if each["ResourceStatus"] == KEPT
        ]
        if kept:
            yield from kept
            return
