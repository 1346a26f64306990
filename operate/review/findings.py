"""All findings on an environment's templates: cdk-nag, CDK, cfn-lint and the rules of stacks/gate."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from operate.costs.bill import items, total
from operate.costs.prices import load_prices
from operate.costs.report import budget_problem
from operate.errors import OperateError
from operate.synth import Synthesis
from settings.environment import Environment
from settings.rules.placeholders import placeholders
from stacks.gate import review
from stacks.gate.template import App, Finding, Level, texts

if TYPE_CHECKING:
    from cfnlint.runner import Runner

# W3005: CDK lists dependencies that references already imply. W3010: an environment's file names its zones, so that its
# templates stay the same when AWS adds one.
IGNORED_LINTS = ["W3005", "W3010"]
PLACEHOLDER = "placeholder"
_ASSET = re.compile(r"\b[0-9a-f]{64}[.]\w+")


def find(environment: Environment, synthesis: Synthesis) -> list[Finding]:
    """All findings on an environment: cdk-nag and CDK's own validation, cfn-lint, our rules."""
    # Importing it takes a second.
    from cfnlint.config import ConfigMixIn
    from cfnlint.runner import Runner

    linter = Runner(ConfigMixIn(regions=[environment.region], ignore_checks=IGNORED_LINTS))
    found = [*synthesis.violations]
    for stack in synthesis.templates:
        found += _cfn_lint(linter, synthesis, stack)
    found += review(synthesis.templates, environment, synthesis.accepted, synthesis.protected)
    found += _assets(synthesis)
    found += _budget(synthesis.app(environment))
    found += _placeholders(environment)
    return sorted(found, key=lambda finding: (finding.level, finding.stack, finding.rule, finding.resource))


def _assets(synthesis: Synthesis) -> Iterator[Finding]:
    """What a template names by its hash must be what this synthesis has made: a comparison leaves hashes out."""
    made = {name for path in synthesis.folder.glob("*.assets.json") for name in _ASSET.findall(path.read_text("utf-8"))}
    for stack, template in synthesis.templates.items():
        for resource, each in template["Resources"].items():
            named = {name for text in texts(each.get("Properties", {})) for name in _ASSET.findall(text)}
            for name in sorted(named - made):
                message = f"{name} isn't an asset of this synthesis: name one by its files"
                yield Finding(rule="own-code", level="error", stack=stack, resource=resource, message=message)


def _budget(app: App) -> Iterator[Finding]:
    level: Level = "error"
    try:
        problem = budget_problem(app.settings, total(items(app, load_prices())))
    except OperateError as unknown:
        level, problem = "warning", f"isn't compared with the costs: {unknown}"
    if problem:
        stack = f"{app.settings.prefix}-monitoring"
        yield Finding(rule="budget-covers-costs", level=level, stack=stack, resource="Budget", message=problem)


def _placeholders(environment: Environment) -> Iterator[Finding]:
    file = f"environments/{environment.name}.toml"
    for key, reason in placeholders(environment):
        message = f"{reason}; nothing deploys while it stands there"
        yield Finding(rule=PLACEHOLDER, level="warning", stack=file, resource=key, message=message)


def _cfn_lint(linter: "Runner", synthesis: Synthesis, stack: str) -> Iterator[Finding]:
    from cfnlint.decode import decode_str

    text = (synthesis.folder / f"{stack}.template.json").read_text(encoding="utf-8")
    template, errors = decode_str(text)
    for match in [*errors, *linter.validate_template(template)]:
        yield Finding(
            rule=f"cfn-lint {match.rule.id}",
            level="error" if match.rule.severity == "error" else "warning",
            stack=stack,
            resource=str(match.path[1] if len(match.path) > 1 else "-"),
            message=match.message,
        )
