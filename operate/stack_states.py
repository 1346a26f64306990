"""The states of an environment's stacks in CloudFormation."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from operate.errors import OperateError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

# A failed first creation: such a stack can only be deleted, which CDK does automatically.
NEVER_CREATED = frozenset({"ROLLBACK_COMPLETE", "ROLLBACK_FAILED"})


def clear_failed_creations(client: "CloudFormationClient", names: Collection[str]) -> list[str]:
    """Unprotect stacks whose first creation failed, so that CDK can create them again; return their names.

    CDK protects a stack before its creation begins, and then can't delete it. Raises OperateError if CloudFormation
    couldn't remove what it had created: deleting the stack would leave it behind, and its names would block the next
    one.
    """
    failed = [stack for stack in _stacks(client, names) if stack["StackStatus"] in NEVER_CREATED]
    for stack in failed:
        if stack.get("EnableTerminationProtection"):
            client.update_termination_protection(StackName=stack["StackName"], EnableTerminationProtection=False)
    if left := [line for stack in failed if (line := _left_behind(client, stack))]:
        raise OperateError("\n".join(left))
    return [stack["StackName"] for stack in failed]


def check_unprotected(client: "CloudFormationClient", names: Collection[str]) -> None:
    """Raise OperateError with the commands that remove the protection, if a stack has one."""
    protected = [stack["StackName"] for stack in _stacks(client, names) if stack.get("EnableTerminationProtection")]
    if protected:
        raise OperateError(
            f"{len(protected)} stacks are protected from deletion. If they are to go: `for stack in "
            f"{' '.join(protected)}; do aws cloudformation update-termination-protection "
            "--no-enable-termination-protection --stack-name $stack; done`, then this again "
            "(docs/aws/deploy.md#tear-down says what stays)"
        )


def _stacks(client: "CloudFormationClient", names: Collection[str]) -> Iterator["StackTypeDef"]:
    return filter(None, (find_stack(client, name) for name in sorted(names)))


def find_stack(client: "CloudFormationClient", name: str) -> "StackTypeDef | None":
    """Return a stack, None if there is none of that name. Raises ClientError."""
    try:
        [found] = client.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        # CloudFormation has no error code for a missing stack.
        if error.response["Error"]["Code"] == "ValidationError" and "does not exist" in str(error):
            return None
        raise
    return found


def _left_behind(client: "CloudFormationClient", stack: "StackTypeDef") -> str | None:
    """Describe what the rollback of a first creation couldn't delete; None if it deleted everything."""
    if stack["StackStatus"] != "ROLLBACK_FAILED":
        return None
    name = stack["StackName"]
    resources = client.describe_stack_resources(StackName=name)["StackResources"]
    left = [
        f"{resource['LogicalResourceId']} ({resource.get('PhysicalResourceId', 'never made')})"
        for resource in resources
        if resource["ResourceStatus"] != "DELETE_COMPLETE"
    ]
    return (
        f"{name}: its first creation failed, and CloudFormation couldn't remove {', '.join(left) or 'all of it'}: "
        f"delete that by hand, then `aws cloudformation delete-stack --stack-name {name}`, then this again"
    )
