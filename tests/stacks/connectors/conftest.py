"""Both environments synthesized with their connectors on EKS, once for all tests."""

import pytest

from settings.environment import Environment
from settings.load import load
from tests.settings.pipelines import add_to
from tests.stacks.conftest import Synthesized, synthesized
from tests.stacks.environments import environment_on_eks, on_eks

ADMINISTRATOR = 'administrators = ["arn:aws:iam::111111111111:role/platform"]'


@pytest.fixture(scope="session")
def dev_settings(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """dev's settings, with allowed addresses and an administrator of the API; another pipeline is query-based."""
    addresses = 'endpoint_cidrs = ["203.0.113.0/24"]'
    environments = on_eks(tmp_path_factory.mktemp("dev"), "dev", addresses, ADMINISTRATOR)
    add_to(environments, "pagilaquery")
    return load("dev", environments)


@pytest.fixture(scope="session")
def prod_settings(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return environment_on_eks(tmp_path_factory.mktemp("prod"), "prod")


@pytest.fixture(scope="session")
def dev_on_eks(dev_settings: Environment, tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return synthesized("dev", tmp_path_factory.mktemp("eks"), environment=dev_settings)


@pytest.fixture(scope="session")
def prod_on_eks(prod_settings: Environment, tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return synthesized("prod", tmp_path_factory.mktemp("eks"), environment=prod_settings)
