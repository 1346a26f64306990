"""Every check on every template of both environments."""

from pathlib import Path

import pytest

from operate.review.findings import find
from settings.load import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


@pytest.fixture(scope="module", params=["dev", "prod"])
def environment(request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(request.param)
    return found


def test_cdk_nag_cfn_lint_and_our_rules_find_nothing_but_missing_checksums(environment: Synthesized) -> None:
    settings = load(environment.synthesis.folder.name)
    findings = find(settings, environment.synthesis)
    unexpected = [finding for finding in findings if "./lake dev lock plugins" not in finding.message]
    assert [str(finding) for finding in unexpected] == []


def test_every_acknowledged_finding_has_a_reason_that_says_something(environment: Synthesized) -> None:
    acknowledged = environment.synthesis.acknowledged
    assert acknowledged
    assert [each for each in acknowledged if len(each.reason.split()) < 6] == []


def test_nothing_of_cdk_nag_is_acknowledged_for_a_whole_stack(environment: Synthesized) -> None:
    ours = [each for each in environment.synthesis.acknowledged if each.rule.startswith("AwsSolutions")]
    assert ours
    assert [each for each in ours if "/" not in each.construct] == []


def test_every_acknowledgement_is_of_something_that_is_there(
    environment: Synthesized, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from operate.synth import synthesize  # isort: skip
    from aws_cdk import Validations

    monkeypatch.setattr(Validations, "acknowledge", lambda *_: None)
    settings = load(environment.synthesis.folder.name)
    violations = synthesize(settings, tmp_path / "cdk.out", nag=True).violations
    ours = [each for each in environment.synthesis.acknowledged if each.rule.startswith("AwsSolutions")]
    assert [each for each in ours if not any(each.covers(violation) for violation in violations)] == []
    # And nothing else hides anything.
    assert [
        str(violation)
        for violation in violations
        if "AwsSolutions" in violation.rule and not any(each.covers(violation) for each in ours)
    ] == []
