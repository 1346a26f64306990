"""Careless or hostile changes to the templates: the review refuses each of them.

Templates are changed after synthesis, with all acceptances unchanged: an earlier acceptance of the same role must not
hide anything.
"""

import dataclasses
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import aws, prepare
from cli.__main__ import app
from operate import synth
from operate.review.findings import facts
from settings.load import load
from stacks.gate import review
from stacks.gate.rights import accepted_statement
from stacks.gate.template import Finding
from tests.stacks.conftest import Synthesized
from tests.stacks.gate.changed import Changed, Templates
from tests.stacks.gate.mutations import HANDLER, MUTATIONS, NODES

pytestmark = pytest.mark.synth


def errors(prod: Synthesized, templates: Templates) -> list[Finding]:
    found = review(templates, facts(load("prod")), prod.synthesis.accepted)
    return [finding for finding in found if finding.level == "error"]


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_dangerous_change_is_refused(prod: Synthesized, name: str) -> None:
    rule, mutate = MUTATIONS[name]
    changed = Changed(prod.synthesis.templates)
    mutate(changed)
    found = errors(prod, changed.templates)
    assert rule in {finding.rule for finding in found}, found


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_what_is_there_passes(request: pytest.FixtureRequest, environment: str) -> None:
    synthesized: Synthesized = request.getfixturevalue(environment)
    found = review(synthesized.synthesis.templates, facts(load(environment)), synthesized.synthesis.accepted)
    assert [str(finding) for finding in found if finding.level == "error"] == []


def test_a_statement_is_accepted_for_its_role_alone(prod: Synthesized) -> None:
    changed = Changed(prod.synthesis.templates)
    metrics = {"Condition": {"StringEquals": {"cloudwatch:namespace": "prod-cdc-lake"}}}
    changed.allow("processing", "RolesService", "cloudwatch:PutMetricData", "*", **metrics)
    (found,) = errors(prod, changed.templates)
    assert "RolesService" in found.message
    assert "nobody has accepted this" in found.message


def test_an_acceptance_of_nothing_is_refused(prod: Synthesized) -> None:
    changed = Changed(prod.synthesis.templates)
    policy = changed.properties("processing", "AWS::IAM::Policy", NODES)["PolicyDocument"]
    policy["Statement"] = [each for each in policy["Statement"] if each["Action"] != "cloudwatch:PutMetricData"]
    (found,) = errors(prod, changed.templates)
    assert "is accepted, and isn't in the template" in found.message


def test_what_nobody_may_accept_is_refused_though_somebody_has(prod: Synthesized) -> None:
    statement = {"Effect": "Allow", "Action": "secretsmanager:GetSecretValue", "Resource": "*"}
    changed = Changed(prod.synthesis.templates)
    changed.allow("connectors", HANDLER, statement["Action"])
    holder = next(n for n in changed.stack("connectors")["Resources"] if n.startswith(HANDLER) and "Policy" not in n)
    noted = {"holder": {"Ref": holder}, "statement": statement, "reason": "It was said to be all right."}
    accepted = (*prod.synthesis.accepted, accepted_statement("prod-cdc-lake-connectors", noted))
    found = review(changed.templates, facts(load("prod")), accepted)
    assert {finding.rule for finding in found if finding.level == "error"} == {"no-administrators"}


def test_a_refusal_is_the_commands_exit_status(
    prod: Synthesized, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changed = Changed(prod.synthesis.templates)
    MUTATIONS["public database"][1](changed)
    mutated = dataclasses.replace(prod.synthesis, templates=changed.templates)
    # It reads the folder, which has no mutations, and is slow.
    monkeypatch.setattr("operate.review.findings._cfn_lint", lambda *_: iter(()))
    monkeypatch.setattr(synth, "synthesize", lambda *_, **__: mutated)
    monkeypatch.setattr(aws, "PAGES", tmp_path / "build" / "review")
    for name in ("wheels", "node_modules"):
        monkeypatch.setattr(prepare, name, lambda: None)
    result = CliRunner().invoke(app, ["aws", "review", "--env", "prod"])
    assert result.exit_code == 1
    assert "is a public database" in result.output
    assert "build/review/prod.html" in result.output
    page = (tmp_path / "build" / "review" / "prod.md").read_text()
    assert "**No: 1 error" in page
    assert "connectors/Providers/Connector/IsCompleteRole" in page
