"""The committed snapshots match the code: a changed template is visible in the commit that changes it."""

import shutil
from pathlib import Path

import pytest

from operate.diff import snapshots
from settings.load import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


@pytest.mark.parametrize("name", ["dev", "prod", "sandbox"])
def test_the_snapshot_is_what_the_code_makes(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    environment, synthesized = load(name), request.getfixturevalue(name)
    assert isinstance(synthesized, Synthesized)
    made = snapshots.by_stack(environment, synthesized.synthesis.templates)
    assert snapshots.read(environment) == made, "run `./lake aws synth --save`, look at what it changes and commit it"
    written = snapshots.write(environment, synthesized.synthesis.templates, copied(tmp_path))
    for path in written.iterdir():
        assert path.read_text() == (snapshots.SNAPSHOTS / name / path.name).read_text(), "run `./lake aws synth --save`"


def copied(tmp_path: Path) -> Path:
    """The base's snapshot, which others are compared with."""
    shutil.copytree(snapshots.SNAPSHOTS / snapshots.BASE, tmp_path / snapshots.BASE)
    return tmp_path
