"""Synthesizes an environment, without credentials and without network, and reads what cdk-nag says of it."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import stacks.node  # noqa: F401  before aws_cdk, which starts Node.js

# isort: split
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks

import app
from stacks.environment import Environment

CDK_OUT = Path(__file__).resolve().parents[1] / "cdk.out"
REPORT = "validation-report.json"


@dataclass(frozen=True, kw_only=True)
class Violation:
    """What a validation has found: `construct` is its path in the app."""

    rule: str
    severity: str
    construct: str
    description: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.rule}: {self.construct}: {self.description}"


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """An environment's templates by stack name, in `folder`, and what validations have found."""

    folder: Path
    templates: dict[str, dict[str, Any]]
    violations: tuple[Violation, ...]


def synthesize(environment: Environment, folder: Path, *, nag: bool = False) -> Synthesis:
    """Write the templates into `folder`, which is emptied first; with `nag` cdk-nag and CDK look at them, too."""
    shutil.rmtree(folder, ignore_errors=True)
    cdk_app = app.build(environment, outdir=folder, validate=nag)
    if nag:
        Validations.of(cdk_app).add_plugins(AwsSolutionsChecks(cdk_app, write_suppressions_to_cloud_formation=True))
    try:
        cdk_app.synth()
    except RuntimeError as error:
        # The templates and the report are written nevertheless.
        if not str(error).startswith("ValidationFailed"):
            raise
    return Synthesis(folder=folder, templates=_templates(folder), violations=tuple(_violations(folder / REPORT)))


def _templates(folder: Path) -> dict[str, dict[str, Any]]:
    suffix = ".template.json"
    return {
        path.name.removesuffix(suffix): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob(f"*{suffix}"))
    }


def _violations(report: Path) -> Iterator[Violation]:
    if not report.is_file():
        return
    for plugin in json.loads(report.read_text(encoding="utf-8"))["pluginReports"]:
        for violation in plugin["violations"]:
            for construct in violation["violatingConstructs"]:
                yield Violation(
                    rule=violation["ruleName"],
                    severity=violation["severity"],
                    construct=construct.get("constructPath", "app"),
                    description=violation["description"],
                )
