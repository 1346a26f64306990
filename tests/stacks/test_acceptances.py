"""Every check on every template of both environments."""

from pathlib import Path

import pytest

from settings.load import load
from tests.cases import long
from tests.stacks.conftest import Synthesized
from tests.synthesis import found_in

pytestmark = pytest.mark.synth


@pytest.mark.parametrize(("name", "lint"), [("dev", True), ("prod", True), ("sandbox", False), long("sandbox", True)])
def test_cdk_nag_cfn_lint_and_our_rules_find_nothing(request: pytest.FixtureRequest, name: str, *, lint: bool) -> None:
    environment: Synthesized = request.getfixturevalue(name)
    assert found_in(load(name), environment.synthesis, lint=lint) == []


def test_every_acknowledged_finding_has_a_reason_that_says_something(environment: Synthesized) -> None:
    acknowledged = environment.synthesis.acknowledged
    assert acknowledged
    assert [each for each in acknowledged if len(each.reason.split()) < 6] == []


def test_nothing_of_cdk_nag_is_acknowledged_for_a_whole_stack(environment: Synthesized) -> None:
    ours = [each for each in environment.synthesis.acknowledged if each.rule.startswith("AwsSolutions")]
    assert ours
    assert [each for each in ours if "/" not in each.construct] == []


@pytest.mark.parametrize("environment", ["prod", long("dev")], indirect=True)
def test_every_acknowledgement_is_of_something_that_is_there(
    environment: Synthesized, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from operate.synth import synthesize  # isort: skip
    from aws_cdk import Validations

    monkeypatch.setattr(Validations, "acknowledge", lambda *_: None)
    settings = load(environment.name)
    violations = synthesize(settings, tmp_path / "cdk.out", nag=True).violations
    ours = [each for each in environment.synthesis.acknowledged if each.rule.startswith("AwsSolutions")]
    assert [each for each in ours if not any(each.covers(violation) for violation in violations)] == []
    # And nothing else hides anything.
    assert [
        str(violation)
        for violation in violations
        if "AwsSolutions" in violation.rule and not any(each.covers(violation) for each in ours)
    ] == []
