"""AWS for commands: moto, or botocore's stubber, which checks requests and answers against the service's model."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from settings.environment import Environment
from settings.load import load

MOTOS_ACCOUNT = "123456789012"
REGION = "ap-southeast-2"


@pytest.fixture
def environment() -> Environment:
    """dev, in the account of moto's credentials, with an address of its own."""
    dev = load("dev")
    monitoring = dev.monitoring.model_copy(update={"alarm_email": "alarms@lake.test"})
    return dev.model_copy(update={"account": MOTOS_ACCOUNT, "monitoring": monitoring})


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[boto3.Session]:
    """Fake credentials, and moto in AWS's place."""
    with_credentials(monkeypatch, tmp_path)
    with mock_aws():
        yield boto3.Session(region_name=REGION)


def without_credentials(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def with_credentials(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Fake ones."""
    without_credentials(monkeypatch, folder)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")


def deploy(name: str, **outputs: str) -> None:
    """Deploy a stack of one topic, with these outputs."""
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {key: {"Value": value} for key, value in outputs.items()},
    }
    client = boto3.client("cloudformation", region_name=REGION)
    client.create_stack(StackName=name, TemplateBody=json.dumps(template))


class Stubbed:
    """A session whose services give the answers that a test puts in, in order."""

    region_name = REGION

    def __init__(self) -> None:
        self._stubs: dict[str, Stubber] = {}

    def client(self, service: str, region_name: str = REGION, **_: object) -> Any:
        return self.stub(service, region_name).client

    def stub(self, service: str, region: str = REGION) -> Stubber:
        if service not in self._stubs:
            keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
            made: Any = boto3.client(service, region_name=region, **keys)  # type: ignore[call-overload]
            self._stubs[service] = Stubber(made)
            self._stubs[service].activate()
        return self._stubs[service]

    def answer(self, service: str, operation: str, found: dict[str, Any], asked: dict[str, Any] | None = None) -> None:
        self.stub(service).add_response(operation, found, asked)

    def refuse(self, service: str, operation: str, code: str) -> None:
        self.stub(service).add_client_error(operation, code, "no")

    def check_all_asked(self) -> None:
        for stub in self._stubs.values():
            stub.assert_no_pending_responses()


@pytest.fixture
def stubbed() -> Iterator[Stubbed]:
    """Its answers must all be asked for."""
    made = Stubbed()
    yield made
    made.check_all_asked()


@pytest.fixture
def answers(stubbed: Stubbed) -> Stubber:
    """CloudFormation's answers."""
    return stubbed.stub("cloudformation")
