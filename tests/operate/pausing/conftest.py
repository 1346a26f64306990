"""dev as AWS would have it, with CDK's command line, its templates and all AWS calls replaced."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.client import BaseClient

from settings.environment import Environment
from settings.load import load
from stacks.paused import Paused
from tests.operate.conftest import with_credentials
from tests.operate.pausing.cloud import Cloud
from tests.stacks.environments import environment_on_eks


@pytest.fixture(scope="session")
def dev_on_eks(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """dev with its connectors on EKS."""
    return environment_on_eks(tmp_path_factory.mktemp("environments"), "dev")


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cloud]:
    """dev, running and caught up."""
    with standing_in(load("dev"), monkeypatch, tmp_path) as made:
        yield made


@pytest.fixture
def on_eks(dev_on_eks: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cloud]:
    """The same on EKS."""
    with standing_in(dev_on_eks, monkeypatch, tmp_path) as made:
        monkeypatch.setattr("operate.pausing.connectors.cluster_api", lambda _session, _environment: made)
        monkeypatch.setattr("operate.pausing.connectors.workers", Cloud.workers)
        yield made


@contextlib.contextmanager
def standing_in(environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cloud]:
    """Replace AWS with a Cloud."""
    from operate import account, deploy
    from operate.pausing import pause

    with_credentials(monkeypatch, tmp_path)
    made = Cloud(environment)

    def synthesize(
        _environment: Any, _folder: Path, *, paused: Paused = Paused.NOTHING, resumes: bool = False, **_: object
    ) -> Any:
        made.may_resume = resumes
        return SimpleNamespace(folder=tmp_path / f"dev.paused-{paused}", templates=made.templates[paused])

    for module in (deploy, pause):
        monkeypatch.setattr(module, "synthesize", synthesize)
    monkeypatch.setattr(deploy, "cdk", made.deploy)
    monkeypatch.setattr(account, "region_enabled", lambda _environment: account.Found(line="enabled"))
    monkeypatch.setattr(account, "look", lambda *_arguments: [])
    monkeypatch.setattr(deploy, "find", lambda _environment, _synthesis: [])
    monkeypatch.setattr(deploy, "refused", lambda _environment: [])
    monkeypatch.setattr(account, "check_offers", lambda _session, _environment: None)
    monkeypatch.setattr(BaseClient, "_make_api_call", lambda client, *call: made.call(client, *call))
    yield made
    assert not any(made.faults.values()), "a fault that never came"
