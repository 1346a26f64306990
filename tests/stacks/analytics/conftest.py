"""dev with QuickSight: an environment with a principal, with SPICE, with Lake Formation."""

import pytest

from settings.environment import Environment
from settings.load import load
from tests.stacks.conftest import Synthesized, synthesized

ACCOUNT = "111111111111"
ANALYSTS = f"arn:aws:quicksight:us-east-1:{ACCOUNT}:group/default/analysts"
READER = f"arn:aws:iam::{ACCOUNT}:role/analyst"


def shown(**analytics: object) -> Environment:
    """The dev environment with a dashboard, and further settings of its analytics."""
    values = load("dev").model_dump(by_alias=True)
    values["analytics"] |= {"quicksight_principal": ANALYSTS, **analytics}
    return Environment.model_validate(values)


@pytest.fixture(scope="session")
def with_quicksight(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    environment = shown(import_mode="SPICE", refresh="DAILY", lake_formation=True, lake_formation_readers=(READER,))
    return synthesized("dev", tmp_path_factory.mktemp("quicksight"), environment=environment)
