"""AWS for commands: moto, or botocore's stubber, which checks requests and answers against the service's model."""

import json
from collections.abc import Iterator
from pathlib import Path

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
    without_credentials(monkeypatch, tmp_path)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield boto3.Session(region_name=REGION)


def without_credentials(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def deploy(name: str, **outputs: str) -> None:
    """Deploy a stack of one topic, with these outputs."""
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {key: {"Value": value} for key, value in outputs.items()},
    }
    client = boto3.client("cloudformation", region_name=REGION)
    client.create_stack(StackName=name, TemplateBody=json.dumps(template))


@pytest.fixture
def answers() -> Iterator[Stubber]:
    """CloudFormation's answers, in order; all must be asked for."""
    service = boto3.client("cloudformation", region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(service) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()
