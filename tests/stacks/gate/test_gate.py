"""Careless or hostile changes to the templates are refused, and the templates as they are pass every check.

Templates are changed after synthesis, with all acceptances unchanged: an earlier acceptance of the same role must not
hide anything.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import aws, prepare
from cli.__main__ import app
from operate import synth
from settings.load import load
from stacks.gate import review
from stacks.gate.properties import ALLOWED, candidates, lines, step
from stacks.gate.rights import accepted_statement
from stacks.gate.template import App
from tests.cases import long
from tests.stacks.conftest import Synthesized
from tests.stacks.gate.changed import Changed, Mutation, allow, errors, refusing, set_
from tests.stacks.gate.mutations import rows
from tests.synthesis import found_in

pytestmark = pytest.mark.synth
HANDLER, NODES = "ProvidersConnectorOnEventRole", "RolesNodes"
# Whose policy a statement is added to: stack, type, the beginning of the logical id, and the document.
IN_HANDLER = ("connectors", "AWS::IAM::Policy", HANDLER, "PolicyDocument")
IN_BUCKET = ("lake", "AWS::S3::BucketPolicy", "LakePolicy", "PolicyDocument")
STRANGER = "arn:aws:iam::999999999999:root"


@pytest.mark.parametrize(("environment", "mutate", "line"), list(rows()))
def test_a_dangerous_change_is_refused(
    request: pytest.FixtureRequest, environment: str, mutate: Mutation, line: str
) -> None:
    found = refusing(request.getfixturevalue(environment), mutate, line)
    assert [message for message in found if message.startswith(line)], found
    assert "hunter2" not in "".join(found), "a secret is shown to nobody"


# Of environments that the tests don't synthesize: restored ones, and what no environment has yet.
UNUSED = 8


def test_the_list_has_no_line_that_nobody_needs(request: pytest.FixtureRequest) -> None:
    """A new line must be of something that an environment has; take a line out with the property."""
    used = set()
    for name in ("dev", "prod", "sandbox", "many", "prod_on_eks"):
        environment = request.getfixturevalue(name)
        for subject in App(templates=environment.synthesis.templates).subjects:
            used |= set(used_by(subject.type, subject.opened))
            for each in subject.objects:
                used |= set(used_by(f"kubernetes/{each['kind']}", each))
    unused = {(type_, path.removesuffix("!")) for type_, paths in ALLOWED.items() for path in paths} - used
    assert len(unused) == UNUSED, unused


def used_by(type_: str, value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the lines that a resource's properties need."""
    line = next((found for found in candidates(path) if found in lines(type_)), None)
    if line is not None:
        yield type_, line
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from used_by(type_, inner, f"{path}/{step(key)}".removeprefix("/"))
    elif isinstance(value, list):
        for inner in value:
            yield from used_by(type_, inner, f"{path}/*")


def test_production_is_protected_against_the_deletion_of_its_stacks(prod: Synthesized) -> None:
    synthesis = prod.synthesis
    assert set(synthesis.protected.values()) == {True}
    protected = {**synthesis.protected, "prod-cdc-lake-lake": False}
    found = review(synthesis.templates, prod.settings, synthesis.accepted, protected)
    [error] = [finding for finding in found if finding.level == "error"]
    assert str(error).startswith("error: as-set: prod-cdc-lake-lake/-: isn't protected against its deletion")


def test_a_statement_is_accepted_for_its_role_alone(prod: Synthesized) -> None:
    metrics = {"Condition": {"StringEquals": {"cloudwatch:namespace": "prod-cdc-lake"}}}
    [found] = errors(prod, allow("processing", "RolesService", "cloudwatch:PutMetricData", "*", **metrics))
    assert "RolesService" in found.message
    assert "nobody has accepted this" in found.message


def test_an_acceptance_of_nothing_is_refused(prod: Synthesized) -> None:
    def take_out(changed: Changed) -> None:
        policy = changed.properties("processing", "AWS::IAM::Policy", NODES)["PolicyDocument"]
        policy["Statement"] = [each for each in policy["Statement"] if each["Action"] != "cloudwatch:PutMetricData"]

    [found] = errors(prod, take_out)
    assert "is accepted, and isn't in the template" in found.message


@pytest.mark.parametrize(
    ("role", "type_", "beginning", "document", "statement", "line"),
    [
        (*IN_HANDLER, {"Action": "secretsmanager:GetSecretValue", "Resource": "*"}, "this action knows resources"),
        (*IN_HANDLER, {"NotAction": "iam:*", "Resource": "arn:aws:s3:::x"}, "name what is allowed"),
        (*IN_BUCKET, {"Principal": "*", "Action": "s3:GetObject", "Resource": "*"}, "is let in by a policy"),
        (*IN_BUCKET, {"Principal": {"AWS": STRANGER}, "Action": "s3:Get*", "Resource": "*"}, "names another account"),
    ],
)
def test_what_nobody_may_accept_is_refused_though_somebody_has(
    prod: Synthesized, role: str, type_: str, beginning: str, document: str, statement: dict[str, object], line: str
) -> None:
    changed = Changed(prod)
    resources = changed.stack(role)["Resources"]
    name, resource = next(
        (name, each) for name, each in resources.items() if name.startswith(beginning) and each["Type"] == type_
    )
    resource["Properties"][document]["Statement"].append({"Effect": "Allow"} | statement)
    holder = resource["Properties"].get("Roles", [{"Ref": name}])[0]
    noted = {"holder": holder, "statement": statement, "reason": "It was said to be all right."}
    accepted = prod.synthesis.accepted | accepted_statement(f"prod-cdc-lake-{role}", noted)
    found = review(changed.templates, load("prod"), accepted)
    assert [finding.message for finding in found if finding.level == "error" and line not in finding.message] == []
    assert any(line in finding.message for finding in found)


def test_a_refusal_is_the_commands_exit_status(
    prod: Synthesized, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changed = Changed(prod)
    changed.set("database", "AWS::RDS::DBInstance", "PubliclyAccessible", True)
    mutated = dataclasses.replace(prod.synthesis, templates=changed.templates)
    # It reads the folder, which has no mutations, and is slow.
    monkeypatch.setattr("operate.review.findings._cfn_lint", lambda *_: iter(()))
    monkeypatch.setattr(synth, "synthesize", lambda *_, **__: mutated)
    monkeypatch.setattr(aws, "PAGES", tmp_path / "build" / "review")
    for name in ("wheels", "node_modules"):
        monkeypatch.setattr(prepare, name, lambda: None)
    result = CliRunner().invoke(app, ["aws", "review", "--env", "prod"])
    assert result.exit_code == 1
    assert "PubliclyAccessible is true" in result.output
    assert "build/review/prod.html" in result.output
    page = (tmp_path / "build" / "review" / "prod.md").read_text()
    assert "**No: 1 error" in page
    assert "connectors/Providers/Connector/IsCompleteRole" in page


@pytest.mark.parametrize(
    ("name", "lint"), [("prod", True), ("dev", False), ("sandbox", False), long("dev", True), long("sandbox", True)]
)
def test_cdk_nag_cfn_lint_and_our_rules_find_nothing(request: pytest.FixtureRequest, name: str, *, lint: bool) -> None:
    environment: Synthesized = request.getfixturevalue(name)
    assert found_in(load(name), environment.synthesis, lint=lint) == []


def test_code_that_this_synthesis_has_not_made_is_refused(prod: Synthesized) -> None:
    changed, name = Changed(prod), f"{'0' * 64}.zip"
    changed.set("connectors", "AWS::Lambda::Function", "Code/S3Key", name)
    mutated = dataclasses.replace(prod.synthesis, templates=changed.templates)
    [found] = found_in(prod.settings, mutated, lint=False)
    assert f"{name} isn't an asset of this synthesis" in found


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
    from operate.synth import Acknowledged, synthesize  # isort: skip
    from aws_cdk import Validations

    monkeypatch.setattr(Validations, "acknowledge", lambda *_: None)
    settings = load(environment.name)
    violations = synthesize(settings, tmp_path / "cdk.out", nag=True).violations
    ours = [each for each in environment.synthesis.acknowledged if each.rule.startswith("AwsSolutions")]
    places = [(f"{each.stack}/{each.resource}/", each.rule) for each in violations if "AwsSolutions" in each.rule]

    def covers(acknowledged: Acknowledged, place: str, rule: str) -> bool:
        return place.startswith(f"{acknowledged.construct}/") and rule == acknowledged.rule

    assert [each for each in ours if not any(covers(each, *place) for place in places)] == []
    # And nothing else hides anything.
    assert [place for place in places if not any(covers(each, *place) for each in ours)] == []


def test_what_the_settings_may_say_passes(prod: Synthesized) -> None:
    schedule = "AWS::SecretsManager::RotationSchedule", "RotationRules/ScheduleExpression", "rate(1 day)"
    assert errors(prod, set_("database", *schedule)) == []


def test_a_query_may_be_called_as_a_secret_is(many: Synthesized) -> None:
    def rename(changed: Changed) -> None:
        changed.replace("Custom::QueriedSource", "query.address_place", "query.authorization", role="database")

    assert not [each for each in errors(many, rename) if "isn't a reference" in str(each)]
