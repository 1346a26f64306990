"""Connectors on EKS: what their section refuses, one line each."""

from pathlib import Path

import pytest

from settings.load import load
from tests.stacks.environments import IMAGE, on_eks
from tests.stacks.settings import change, copied, refusal


def test_the_platform_needs_its_section(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    change(folder, "dev", "connectors", 'platform = "eks"')
    assert "connectors.eks: is missing" in refusal(folder, "dev")


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_each_environment_may_have_its_connectors_there(tmp_path: Path, name: str) -> None:
    found = load(name, on_eks(tmp_path, name)).eks
    assert found is not None
    assert found.image == IMAGE
    assert load(name).eks is None


def test_msk_connects_quota_is_not_asked_of_workers_of_ours(tmp_path: Path) -> None:
    folder = on_eks(tmp_path, "dev")
    for role in ("source", "sink"):
        change(folder, "dev", f"pipelines.{role}", "workers = 10")
    change(folder, "dev", "connectors.eks", "maximum_workers = 0")
    assert load("dev", folder).connector_workers == 20
