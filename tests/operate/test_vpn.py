"""A person's VPN connection settings; moto answers for AWS."""

import pytest

from operate.errors import OperateError
from operate.vpn import connection
from settings.environment import Environment
from tests.operate.test_outputs import aws, deploy, environment  # noqa: F401
from tests.stacks.handlers.clients import client


@pytest.fixture
def with_people(environment: Environment) -> Environment:  # noqa: F811
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
