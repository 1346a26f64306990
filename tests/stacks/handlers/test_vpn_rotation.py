"""A rotation's four steps on moto's Secrets Manager."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from stacks.handlers import vpn_rotation
from stacks.vpn import PASSWORD_LENGTH
from tests.stacks.handlers.clients import client

NAME = "dev-cdc-lake/vpn/alice"
TOKEN = "0123456789abcdef0123456789abcdef"
STEPS = ("createSecret", "setSecret", "testSecret", "finishSecret")


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with mock_aws():
        service = client("secretsmanager")
        monkeypatch.setattr(vpn_rotation, "client", lambda: service)
        yield service.create_secret(Name=NAME, SecretString="Former")["ARN"]


def step(secret: str, name: str) -> None:
    vpn_rotation.handler({"SecretId": secret, "ClientRequestToken": TOKEN, "Step": name}, None)


def value(secret: str, stage: str = "AWSCURRENT") -> str:
    return str(vpn_rotation.client().get_secret_value(SecretId=secret, VersionStage=stage)["SecretString"])


def test_a_rotation_makes_another_password_current_and_keeps_the_former_one(secret: str) -> None:
    for name in STEPS:
        step(secret, name)
    password = value(secret)
    assert password.isalnum()
    assert password.isascii()
    assert len(password) == PASSWORD_LENGTH
    assert value(secret, "AWSPREVIOUS") == "Former"


def test_nothing_changes_for_anybody_before_the_last_step(secret: str) -> None:
    for name in STEPS[:-1]:
        step(secret, name)
    assert value(secret) == "Former"


def test_every_step_may_come_twice(secret: str) -> None:
    step(secret, "createSecret")
    password = value(secret, "AWSPENDING")
    for name in (*STEPS, *STEPS):
        step(secret, name)
    assert value(secret) == password


def test_a_version_that_was_never_made_doesnt_become_current(secret: str) -> None:
    with pytest.raises(ValueError, match="isn't pending"):
        step(secret, "finishSecret")
    assert value(secret) == "Former"


def test_another_step_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="deleteSecret is no step of a rotation"):
        step(secret, "deleteSecret")


def test_no_password_is_logged(secret: str, caplog: pytest.LogCaptureFixture) -> None:
    for name in STEPS:
        step(secret, name)
    assert "rotated" in caplog.text
    assert value(secret) not in caplog.text
