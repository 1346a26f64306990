from pathlib import Path

import pytest

from tests.settings.pipelines import Project, copied_pipelines
from tests.stacks.settings import copied


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(copied(tmp_path), copied_pipelines(tmp_path))
