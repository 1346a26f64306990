"""The committed snapshots are what the code makes: a change of a template is seen in the commit that makes it."""

import pytest

from operate.diff import snapshots
from operate.diff.normal_form import text_of
from settings.load import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


@pytest.mark.parametrize("name", ["dev", "prod", "sandbox"])
def test_the_snapshot_is_what_the_code_makes(name: str, request: pytest.FixtureRequest) -> None:
    environment, synthesized = load(name), request.getfixturevalue(name)
    assert isinstance(synthesized, Synthesized)
    made = snapshots.by_stack(environment, synthesized.synthesis.templates)
    stale = [stack for stack, template in made.items() if snapshots.read(environment).get(stack) != template]
    assert stale == [], "run `./lake aws synth --save`, look at what it changes and commit it"
    files = {path.stem: path.read_text(encoding="utf-8") for path in (snapshots.SNAPSHOTS / name).glob("*.json")}
    assert files == {stack: text_of(template) for stack, template in made.items()}, "run `./lake aws synth --save`"
