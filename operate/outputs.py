"""Reads a deployed environment's stacks from CloudFormation: their outputs and states."""

import contextlib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NoReturn

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    ReadTimeoutError,
    SSOError,
    TokenRetrievalError,
)
from botocore.exceptions import ConnectionError as AwsConnectionError

from operate.errors import OperateError
from settings.environment import Environment
from stacks.paused import OUTPUT as PAUSED

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

LOG_IN = "log in (`aws sso login`, or as your organisation does it) and set AWS_PROFILE"
# CloudFormation's, STS's and signing errors for credentials that are invalid or expired.
STALE = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
REFUSED = frozenset({"InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "AuthFailure"})
QUICK = Config(connect_timeout=5, read_timeout=15, retries={"mode": "standard", "total_max_attempts": 3})
CALL_ERRORS = (ClientError, HTTPClientError, AwsConnectionError)
_TOO_MANY, _SERVER_ERROR = 429, 500
# Services name "too many requests" differently, and most answer with 400.
_THROTTLED = ("Throttl", "TooManyRequests", "RequestLimitExceeded", "SlowDown")
# A failed first creation: such a stack can only be deleted.
NEVER_CREATED = frozenset({"ROLLBACK_COMPLETE", "ROLLBACK_FAILED"})


def may_pass(error: Exception) -> bool:
    """Tell whether the answer to a call was lost or AWS was too busy: not a refusal."""
    if not isinstance(error, ClientError):
        return True
    code, status = error.response["Error"]["Code"], error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status == _TOO_MANY or status >= _SERVER_ERROR or any(word in code for word in _THROTTLED)


def check_account(environment: Environment) -> boto3.Session:
    """Return a session in the environment's region. Raises OperateError: another account may have such a stack, too."""
    with one_line(environment):
        session = boto3.Session(region_name=environment.region)
        account = session.client("sts", config=QUICK).get_caller_identity()["Account"]
    if account != environment.account:
        raise OperateError(
            f"your credentials are of account {account}, but environments/{environment.name}.toml says account = "
            f'"{environment.account}": set AWS_PROFILE to one of that account'
        )
    return session


def output(environment: Environment, stack: str, name: str) -> str:
    """Return an output of `<environment>-cdc-lake-<stack>`. Raises OperateError where it isn't deployed, or refused."""
    full_name = f"{environment.prefix}-{stack}"
    session = check_account(environment)
    with one_line(environment):
        found = find_stack(session.client("cloudformation", config=QUICK), full_name)
    if found is None:
        raise OperateError(
            f"there is no stack {full_name} in {environment.region}: run `./lake aws deploy -e {environment.name}` "
            "first"
        )
    outputs = {entry["OutputKey"]: entry["OutputValue"] for entry in found.get("Outputs", [])}
    if name not in outputs and PAUSED in outputs:
        raise OperateError(
            f"{environment.name} is paused: `./lake aws resume -e {environment.name}` first (docs/aws/pause.md)"
        )
    if name not in outputs:
        raise OperateError(
            f"{full_name} has no output {name} (it is {found['StackStatus']}): let its deployment end, or run "
            f"`./lake aws deploy -e {environment.name}`"
        )
    return outputs[name]


@contextlib.contextmanager
def one_line(environment: Environment) -> Iterator[None]:
    """Turn an error of AWS or its client into an OperateError of one line."""
    try:
        yield
    except (NoCredentialsError, PartialCredentialsError):
        raise OperateError(f"no AWS credentials for account {environment.account}: {LOG_IN}") from None
    except (ProfileNotFound, SSOError, TokenRetrievalError) as error:
        raise OperateError(f"{str(error).rstrip('.')}: {LOG_IN}") from None
    except (EndpointConnectionError, ConnectTimeoutError, ReadTimeoutError) as error:
        raise OperateError(f"AWS in {environment.region} can't be reached: {error}") from None
    except ClientError as error:
        _refused(error)
    except BotoCoreError as error:
        raise OperateError(f"AWS: {' '.join(str(error).split())}") from None


def _refused(error: ClientError) -> NoReturn:
    code = error.response["Error"]["Code"]
    if code in STALE:
        raise OperateError(f"your AWS credentials have expired: {LOG_IN}") from None
    if code in REFUSED:
        raise OperateError(f"AWS doesn't accept your credentials ({code}): {LOG_IN}") from None
    message = " ".join(error.response["Error"].get("Message", "").split())
    raise OperateError(f"AWS refuses {error.operation_name}: {code}: {message}") from None


def delete_failed_creations(client: "CloudFormationClient", names: Collection[str]) -> list[str]:
    """Delete the stacks whose first creation failed: they are empty; return their names.

    CDK protects a stack before its creation begins, and then can't delete it; it imports nothing into a stack that is
    there; and the guard takes its template for what is deployed. Raises OperateError if CloudFormation couldn't remove
    what it had created: deleting the stack would leave it behind, and its names would block the next one.
    """
    failed = [stack for stack in _stacks(client, names) if stack["StackStatus"] in NEVER_CREATED]
    for stack in failed:
        if stack.get("EnableTerminationProtection"):
            client.update_termination_protection(StackName=stack["StackName"], EnableTerminationProtection=False)
    if left := [line for stack in failed if (line := _left_behind(client, stack))]:
        raise OperateError("\n".join(left))
    for stack in failed:
        client.delete_stack(StackName=stack["StackName"])
        client.get_waiter("stack_delete_complete").wait(StackName=stack["StackName"])
    return [stack["StackName"] for stack in failed]


def check_unprotected(client: "CloudFormationClient", names: Collection[str]) -> None:
    """Raise OperateError with the commands that remove the protection, if a stack has one."""
    protected = [stack["StackName"] for stack in _stacks(client, names) if stack.get("EnableTerminationProtection")]
    if protected:
        raise OperateError(
            f"{len(protected)} stacks are protected from deletion. If they are to go: `for stack in "
            f"{' '.join(protected)}; do aws cloudformation update-termination-protection "
            "--no-enable-termination-protection --stack-name $stack; done`, then run this again "
            "(docs/aws/deploy.md#tear-down says what stays)"
        )


def stacks_of(client: "CloudFormationClient", environment: Environment) -> Iterator["StackTypeDef"]:
    """Yield an environment's stacks, also those that the app has lost, without nested ones. Raises ClientError."""
    for page in client.get_paginator("describe_stacks").paginate():
        for stack in page["Stacks"]:
            if stack["StackName"].startswith(f"{environment.prefix}-") and "ParentId" not in stack:
                yield stack


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
        f"delete that by hand, then `aws cloudformation delete-stack --stack-name {name}`, then run this again"
    )
