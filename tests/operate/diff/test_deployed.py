"""Deployed templates, with moto as CloudFormation."""

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from operate.diff import changes
from operate.diff.snapshots import deployed
from operate.errors import OperateError
from settings.environment import Environment
from settings.load import load
from tests.operate.test_outputs import without_credentials

MOTOS_ACCOUNT = "123456789012"
TOPIC = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "one"}}}}


@pytest.fixture
def environment() -> Environment:
    return load("dev").model_copy(update={"account": MOTOS_ACCOUNT})


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    without_credentials(monkeypatch, tmp_path)
    with mock_aws():
        yield


def deploy(name: str) -> None:
    client = boto3.client("cloudformation", region_name="ap-southeast-2")
    client.create_stack(StackName=name, TemplateBody=json.dumps(TOPIC))


def test_the_environments_stacks_are_read_and_nobody_elses(environment: Environment) -> None:
    for name in ("dev-cdc-lake-lake", "dev-cdc-lake-former", "prod-cdc-lake-lake", "other"):
        deploy(name)
    assert deployed(environment) == {"dev-cdc-lake-lake": TOPIC, "dev-cdc-lake-former": TOPIC}


def test_what_is_deployed_is_compared_by_itself(environment: Environment) -> None:
    deploy("dev-cdc-lake-lake")
    found = changes(environment, {"dev-cdc-lake-lake": TOPIC}, against_deployed=True)
    assert (found.base, found.any) == ("what is deployed", False)


def test_nothing_deployed_is_one_line(environment: Environment) -> None:
    with pytest.raises(OperateError, match="nothing of dev-cdc-lake is deployed in ap-southeast-2: without --deployed"):
        deployed(environment)


def test_credentials_of_another_account_are_refused(environment: Environment) -> None:
    with pytest.raises(OperateError, match="your credentials are of account 123456789012"):
        deployed(environment.model_copy(update={"account": "111111111111"}))
