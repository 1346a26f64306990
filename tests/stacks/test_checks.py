"""Every check on every template of both environments."""

import pytest

from operate.review import find, report
from stacks.environment import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


@pytest.fixture(scope="module", params=["dev", "prod"])
def environment(request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(request.param)
    return found


def test_cdk_nag_cfn_lint_and_our_rules_find_nothing_but_missing_checksums(environment: Synthesized) -> None:
    settings = load(environment.synthesis.folder.name)
    findings = find(settings, environment.synthesis)
    unexpected = [finding for finding in findings if "make lock-plugins" not in finding.message]
    assert [str(finding) for finding in unexpected] == []
    shown = report(settings, environment.synthesis, findings)
    assert "## Who can reach what" in shown
    assert f"| {settings.prefix}-vpn |" in shown


def test_every_acknowledged_finding_has_a_reason_that_says_something(environment: Synthesized) -> None:
    reasons = [
        rule["reason"]
        for template in environment.synthesis.templates.values()
        for resource in template["Resources"].values()
        for rule in resource.get("Metadata", {}).get("cdk_nag", {}).get("rules_to_suppress", [])
    ]
    assert reasons
    assert [reason for reason in reasons if len(reason.split()) < 6] == []


def test_nothing_is_acknowledged_for_a_whole_stack(environment: Synthesized) -> None:
    for template in environment.synthesis.templates.values():
        assert "cdk_nag" not in template.get("Metadata", {})
