"""Which source connector a re-snapshot controls: the environment's platform decides."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from operate.errors import OperateError
from operate.resnapshot import connectors as source_connectors
from operate.resnapshot.connectors import EksConnector, MskConnector, source_of
from settings.environment import Environment
from stacks.paused import OUTPUT, Paused
from tests.operate.test_outputs import MOTOS_ACCOUNT, deploy, environment, without_credentials  # noqa: F401
from tests.stacks.connectors.environments import environment_on_eks
from tests.stacks.handlers.clients import CREDENTIALS

REGION = "ap-southeast-2"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[boto3.Session]:
    without_credentials(monkeypatch, tmp_path)
    for name in ("aws_access_key_id", "aws_secret_access_key"):
        monkeypatch.setenv(name.upper(), CREDENTIALS[name])
    with mock_aws():
        yield boto3.Session(region_name=REGION)


@pytest.fixture
def on_eks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setattr(source_connectors, "cluster_api", lambda _session, _environment: None)
    return environment_on_eks(tmp_path, "dev").model_copy(update={"account": MOTOS_ACCOUNT})


def test_on_msk_connect_it_is_the_stacks_and_on_eks_the_workers(
    aws: boto3.Session,
    environment: Environment,  # noqa: F811
    on_eks: Environment,
) -> None:
    arn = f"arn:aws:kafkaconnect:{REGION}:{MOTOS_ACCOUNT}:connector/x/y"
    deploy("dev-cdc-lake-connectors", SourceConnectorArn=arn)
    found = source_of(environment, environment.pipelines[0], aws, newest=7)
    assert isinstance(found, MskConnector)
    other = source_of(on_eks, on_eks.pipelines[0], aws, newest=7)
    assert isinstance(other, EksConnector)
    assert (found.slot, found.newest_position()) == (other.slot, other.newest_position()) == ("cdc_orders", 7)


def test_a_paused_environment_is_not_told_anything(aws: boto3.Session, on_eks: Environment) -> None:
    deploy("dev-cdc-lake-connectors", **{OUTPUT: Paused.ALL.value})
    with pytest.raises(OperateError, match=r"dev is paused: first `\./lake aws resume -e dev`"):
        source_of(on_eks, on_eks.pipelines[0], aws)
