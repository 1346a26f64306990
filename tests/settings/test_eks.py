"""Connectors on EKS: what their section refuses, one line each."""

from pathlib import Path

import pytest

from settings.load import load
from tests.stacks.kubernetes.environments import on_eks
from tests.stacks.kubernetes.groups import IMAGE
from tests.stacks.settings import change, copied, refusal

LINES = [
    (
        "connectors.eks",
        'kubernetes_version = "1.12"',
        "connectors.eks.kubernetes_version: 1.12 isn't a version that",
    ),
    ("connectors.eks", 'image = "connect:latest"', "connectors.eks.image: must be <repository>@sha256:<64 hexadecimal"),
    (
        "connectors.eks",
        'endpoint_cidrs = ["0.0.0.0/0"]',
        "connectors.eks.endpoint_cidrs: would open the Kubernetes",
    ),
    ("connectors.eks", 'endpoint_cidrs = ["10.0.0.0/16"]', "connectors.eks.endpoint_cidrs: 10.0.0.0/16 is private"),
    (
        "connectors.eks",
        'administrators = ["arn:aws:iam::999999999999:role/x"]',
        "connectors.eks.administrators: arn:aws:iam::999999999999:role/x is of another account",
    ),
    (
        "connectors.eks",
        "maximum_workers = 1",
        "connectors.eks.maximum_workers: 1 is less than the 2 workers of",
    ),
    ("pipelines.source", "workers = 1", "pipelines[0].source.workers: on EKS two or more, so that one may go"),
    ("pipelines.sink", "workers = 1", "pipelines[0].sink.workers: on EKS two or more, so that one may go"),
    ("connectors", 'platform = "ecs"', "connectors.platform: "),
    ("connectors", 'platform = "msk-connect"', 'connectors.eks: says nothing without platform = "eks"'),
]


@pytest.mark.parametrize(("section", "line", "reason"), LINES, ids=[line for _, line, _ in LINES])
def test_a_setting_that_would_fail_is_refused(tmp_path: Path, section: str, line: str, reason: str) -> None:
    folder = on_eks(tmp_path, "dev")
    change(folder, "dev", section, line)
    assert f"environments/dev.toml: {reason}" in refusal(folder, "dev")


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
