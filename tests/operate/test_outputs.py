"""Stack outputs and a person's VPN settings: moto answers for AWS; errors that it can't cause are raised instead."""

from pathlib import Path

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError, EndpointConnectionError, UnauthorizedSSOTokenError

from operate.errors import OperateError
from operate.outputs import check_account, output
from operate.vpn import connection
from settings.environment import Environment
from tests.operate.conftest import MOTOS_ACCOUNT, deploy, without_credentials
from tests.stacks.handlers.clients import client


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("stack", "line"),
    [
        ("prod-cdc-lake-streaming", r"^there is no stack dev-cdc-lake-streaming .*./lake aws deploy -e dev"),
        ("dev-cdc-lake-streaming", r"no output BootstrapBrokers \(it is CREATE_COMPLETE\)"),
    ],
)
def test_what_isnt_deployed_yet_is_one_line(environment: Environment, stack: str, line: str) -> None:
    deploy(stack, ClusterArn="arn")
    with pytest.raises(OperateError, match=line):
        output(environment, "streaming", "BootstrapBrokers")


@pytest.mark.parametrize(
    ("profile", "line"),
    [(None, f"no AWS credentials for account {MOTOS_ACCOUNT}: log in"), ("nobodys", "could not be found: log in")],
)
def test_missing_credentials_are_one_line(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str | None, line: str
) -> None:
    without_credentials(monkeypatch, tmp_path)
    if profile:
        monkeypatch.setenv("AWS_PROFILE", profile)
    with pytest.raises(OperateError, match=line):
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


@pytest.fixture
def with_people(environment: Environment) -> Environment:
    return environment.model_copy(update={"vpn": environment.vpn.model_copy(update={"users": ("alice", "bob")})})


@pytest.mark.usefixtures("aws")
def test_she_gets_the_server_the_key_and_her_own_password_of_now(with_people: Environment) -> None:
    deploy("dev-cdc-lake-vpn", ServerAddress="203.0.113.9")
    secrets = client("secretsmanager")
    secrets.create_secret(Name="dev-cdc-lake/vpn/.pre-shared-key", SecretString="Key")
    secrets.create_secret(Name="dev-cdc-lake/vpn/alice", SecretString="Former")
    secrets.create_secret(Name="dev-cdc-lake/vpn/bob", SecretString="Bobs")
    secrets.put_secret_value(SecretId="dev-cdc-lake/vpn/alice", SecretString="Rotated")
    assert connection(with_people, "alice") == [
        ("server", "203.0.113.9"),
        ("pre-shared key", "Key"),
        ("user name", "alice"),
        ("password", "Rotated"),
    ]


@pytest.mark.parametrize("name", ["carol", ""])
def test_somebody_else_is_one_line_with_who_may(with_people: Environment, name: str) -> None:
    with pytest.raises(OperateError, match=r"names alice, bob; name one of these, or add it there and deploy$"):
        connection(with_people, name)


@pytest.mark.usefixtures("aws")
def test_a_secret_that_isnt_there_is_one_line(with_people: Environment) -> None:
    deploy("dev-cdc-lake-vpn", ServerAddress="203.0.113.9")
    with pytest.raises(OperateError, match=r"^AWS refuses GetSecretValue: ResourceNotFoundException"):
        connection(with_people, "alice")
