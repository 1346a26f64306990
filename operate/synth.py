"""Synthesizes an environment without credentials or network, and reads cdk-nag's findings."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import stacks.node  # noqa: F401  before aws_cdk, which starts Node.js

# isort: split
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks

import app
from settings.environment import Environment
from stacks.base import ACCEPTED_STATEMENT
from stacks.gate.grants import Grant
from stacks.gate.rights import accepted_statement
from stacks.gate.template import App, Finding
from stacks.paused import Paused

CDK_OUT = Path(__file__).resolve().parents[1] / "cdk.out"
REPORT = "validation-report.json"
# The metadata type under which CDK records a resource's logical id.
LOGICAL_ID = "aws:cdk:logicalId"


@dataclass(frozen=True, kw_only=True, order=True)
class Acknowledged:
    """A finding that is accepted on a construct, by its path in the app, and below it."""

    construct: str
    reason: str
    rule: str


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """An environment's templates by stack name, in `folder`, validation findings, and what is accepted with its reason.

    `paths`: a resource's path in the app, by stack and logical id.
    """

    folder: Path
    templates: dict[str, dict[str, Any]]
    violations: tuple[Finding, ...]
    acknowledged: tuple[Acknowledged, ...]
    accepted: dict[Grant, str]
    paths: Mapping[tuple[str, str], str] = field(default_factory=dict)
    protected: Mapping[str, bool] = field(default_factory=dict)

    def app(self, environment: Environment) -> App:
        """The templates, as rules, page and bill read them."""
        return App(settings=environment, templates=self.templates, protected=self.protected)

    @property
    def stacks(self) -> dict[str, dict[str, Any]]:
        """The templates with what is compared besides: whether a stack is protected against its deletion."""
        return {
            stack: template | {"TerminationProtection": self.protected.get(stack, False)}
            for stack, template in self.templates.items()
        }


def synthesize(
    environment: Environment, folder: Path, *, nag: bool = False, paused: Paused = Paused.NOTHING, resumes: bool = False
) -> Synthesis:
    """Write the templates into the emptied `folder`; `nag`: run the checks; the rest is as in app.build."""
    shutil.rmtree(folder, ignore_errors=True)
    cdk_app = app.build(environment, outdir=folder, validate=nag, paused=paused, resumes=resumes)
    if nag:
        Validations.of(cdk_app).add_plugins(AwsSolutionsChecks(cdk_app))
    try:
        cdk_app.synth()
    except RuntimeError as error:
        # The templates and the report are written nevertheless.
        if not str(error).startswith("ValidationFailed"):
            raise
    return _read(folder)


def _read(folder: Path) -> Synthesis:
    paths, accepted, acknowledged = dict[tuple[str, str], str](), dict[Grant, str](), set[Acknowledged]()
    for stack, constructs in _files(folder, "metadata"):
        for path, entries in constructs.items():
            construct = path.removeprefix("/")
            for kind, data in ((entry["type"], entry.get("data")) for entry in entries):
                if kind == LOGICAL_ID:
                    paths[stack, data] = construct
                elif kind == ACCEPTED_STATEMENT:
                    accepted |= accepted_statement(stack, data)
                elif kind == Validations.ACKNOWLEDGED_RULES_METADATA_KEY:
                    # CDK's records of `Validations.acknowledge`: a rule's id follows its owner.
                    for rule, reason in data.items():
                        acknowledged.add(Acknowledged(construct=construct, rule=rule.partition("::")[2], reason=reason))
    return Synthesis(
        folder=folder,
        templates=dict(_files(folder, "template")),
        violations=tuple(_violations(folder / REPORT)),
        acknowledged=tuple(sorted(acknowledged)),
        accepted=accepted,
        protected=dict(_protected(folder)),
        paths=paths,
    )


def _files(folder: Path, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the files of a kind by their stack."""
    for path in sorted(folder.glob(f"*.{kind}.json")):
        yield path.name.removesuffix(f".{kind}.json"), json.loads(path.read_text(encoding="utf-8"))


def _protected(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield whether each stack is protected against its deletion, which isn't in its template."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for name, artifact in manifest["artifacts"].items():
        if artifact["type"] == "aws:cloudformation:stack":
            properties = artifact["properties"]
            yield properties.get("stackName", name), properties.get("terminationProtection", False)


def _violations(report: Path) -> Iterator[Finding]:
    """Yield cdk-nag's and CDK's own findings: their resource is a construct's path below its stack."""
    if not report.is_file():
        return
    for plugin in json.loads(report.read_text(encoding="utf-8"))["pluginReports"]:
        for violation in plugin["violations"]:
            for construct in violation["violatingConstructs"]:
                stack, _, resource = construct.get("constructPath", "app").partition("/")
                yield Finding(
                    rule=violation["ruleName"],
                    level="warning" if violation["severity"] in ("warning", "info") else "error",
                    stack=stack,
                    resource=resource,
                    message=violation["description"],
                )
