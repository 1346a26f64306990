"""Reads a deployed environment's stack outputs from CloudFormation."""

import contextlib
from collections.abc import Iterator
from typing import NoReturn

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    ReadTimeoutError,
    SSOError,
    TokenRetrievalError,
)

from operate.errors import OperateError
from operate.stack_states import find_stack
from settings.environment import Environment
from stacks.paused import OUTPUT as PAUSED

LOG_IN = "log in (`aws sso login`, or as your organisation does it) and set AWS_PROFILE"
# CloudFormation's, STS's and signing errors for credentials that are invalid or expired.
STALE = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
REFUSED = frozenset({"InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "AuthFailure"})
QUICK = Config(connect_timeout=5, read_timeout=15, retries={"mode": "standard", "total_max_attempts": 3})


def check_account(environment: Environment) -> boto3.Session:
    """Return a session in the environment's region, with credentials of the environment's account.

    Another account may have a stack of the same name. Raises OperateError.
    """
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
    """Return an output of `<environment>-cdc-lake-<stack>`.

    Raises OperateError if credentials are missing or of another account, or the stack or its output doesn't exist.
    """
    full_name = f"{environment.prefix}-{stack}"
    session = check_account(environment)
    with one_line(environment):
        outputs, status = _describe(session, environment, full_name)
    if name not in outputs and PAUSED in outputs:
        raise OperateError(
            f"{environment.name} is paused: `./lake aws resume -e {environment.name}` first (docs/aws/pause.md)"
        )
    if name not in outputs:
        raise OperateError(
            f"{full_name} has no output {name} (it is {status}): let its deployment end, or run "
            f"`./lake aws deploy -e {environment.name}`"
        )
    return outputs[name]


def _describe(session: boto3.Session, environment: Environment, stack: str) -> tuple[dict[str, str], str]:
    """Return the stack's outputs and its status."""
    found = find_stack(session.client("cloudformation", config=QUICK), stack)
    if found is None:
        raise OperateError(
            f"there is no stack {stack} in {environment.region}: run `./lake aws deploy -e {environment.name}` first"
        )
    values = {entry["OutputKey"]: entry["OutputValue"] for entry in found.get("Outputs", [])}
    return values, found["StackStatus"]


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
