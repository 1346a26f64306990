"""Stack outputs: moto answers for AWS. Errors that moto can't cause are raised in place of the request."""

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError, EndpointConnectionError, UnauthorizedSSOTokenError
from moto import mock_aws

from operate.errors import OperateError
from operate.outputs import check_account, output
from settings.environment import Environment
from settings.load import load

MOTOS_ACCOUNT = "123456789012"
BROKERS = "b-1.example:9098,b-2.example:9098"


@pytest.fixture
def environment() -> Environment:
    return load("dev").model_copy(update={"account": MOTOS_ACCOUNT})


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Fake credentials, and moto in AWS's place."""
    without_credentials(monkeypatch, tmp_path)
    with mock_aws():
        yield


def without_credentials(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def deploy(name: str, **outputs: str) -> None:
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {key: {"Value": value} for key, value in outputs.items()},
    }
    client = boto3.client("cloudformation", region_name="ap-southeast-2")
    client.create_stack(StackName=name, TemplateBody=json.dumps(template))


@pytest.mark.usefixtures("aws")
def test_a_deployed_stacks_output_is_found(environment: Environment) -> None:
    deploy("dev-cdc-lake-streaming", BootstrapBrokers=BROKERS)
    assert output(environment, "streaming", "BootstrapBrokers") == BROKERS


@pytest.mark.usefixtures("aws")
def test_another_environments_stack_is_not_taken(environment: Environment) -> None:
    deploy("prod-cdc-lake-streaming", BootstrapBrokers=BROKERS)
    with pytest.raises(OperateError, match=r"^there is no stack dev-cdc-lake-streaming .*./lake aws deploy -e dev"):
        output(environment, "streaming", "BootstrapBrokers")


@pytest.mark.usefixtures("aws")
def test_a_stack_without_the_output_says_how_far_it_is(environment: Environment) -> None:
    deploy("dev-cdc-lake-streaming", ClusterArn="arn")
    with pytest.raises(OperateError, match=r"no output BootstrapBrokers \(it is CREATE_COMPLETE\)"):
        output(environment, "streaming", "BootstrapBrokers")


@pytest.mark.usefixtures("aws")
def test_credentials_of_another_account_are_refused() -> None:
    other = load("dev").model_copy(update={"account": "999999999999"})
    with pytest.raises(OperateError, match=f"{MOTOS_ACCOUNT}, but environments/dev.toml says .*999999999999"):
        check_account(other)


def test_no_credentials_is_one_line(environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_credentials(monkeypatch, tmp_path)
    with pytest.raises(OperateError, match=f"no AWS credentials for account {MOTOS_ACCOUNT}: log in"):
        check_account(environment)


def test_an_unknown_profile_is_one_line(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_credentials(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_PROFILE", "nobodys")
    with pytest.raises(OperateError, match=r"nobodys.* could not be found: log in"):
        check_account(environment)


def refusal(code: str, message: str = "as AWS\nputs it") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "GetCallerIdentity")


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("error", "line"),
    [
        (refusal("ExpiredToken"), "your AWS credentials have expired: log in"),
        (UnauthorizedSSOTokenError(), "SSO session .* expired or is otherwise invalid.*: log in"),
        (refusal("InvalidClientTokenId"), r"AWS doesn't accept your credentials \(InvalidClientTokenId\)"),
        (refusal("AccessDenied"), "AWS refuses GetCallerIdentity: AccessDenied: as AWS puts it$"),
        (EndpointConnectionError(endpoint_url="https://sts"), "AWS in ap-southeast-2 can't be reached"),
    ],
)
def test_what_aws_refuses_is_one_line(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    def refuse(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(BaseClient, "_make_api_call", refuse)
    with pytest.raises(OperateError, match=line) as caught:
        check_account(environment)
    assert "\n" not in str(caught.value)
