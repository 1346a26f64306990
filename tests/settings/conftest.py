from pathlib import Path

import pytest

from tests.settings.pipelines import Project, copied_pipelines
from tests.stacks.settings import copied


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of environments that a test may change."""
    return copied(tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(copied(tmp_path), copied_pipelines(tmp_path))
