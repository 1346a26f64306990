"""What a platform team reads before it says yes: findings of every check, open ports, acknowledged findings."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from operate.reach import vpn_users, ways_in
from operate.synth import Acknowledged, Synthesis
from settings.environment import Environment
from stacks.gate import Accepted, Facts, Finding, review
from stacks.gate.rights import Grant, together

if TYPE_CHECKING:
    from cfnlint.runner import Runner

# W3005: CDK names dependencies that references imply, too. W3010: an environment's file names its zones, so that its
# templates stay the same when AWS adds one.
IGNORED_LINTS = ["W3005", "W3010"]
Templates = Mapping[str, Mapping[str, Any]]


def find(environment: Environment, synthesis: Synthesis) -> list[Finding]:
    """Everything that the checks say of an environment: cdk-nag and CDK's own validation, cfn-lint, our rules."""
    found = [
        Finding(
            rule=violation.rule,
            level="warning" if violation.severity in ("warning", "info") else "error",
            stack=violation.construct.partition("/")[0],
            resource=violation.construct.partition("/")[2],
            message=violation.description,
        )
        for violation in synthesis.violations
    ]
    linter = _linter(environment.region)
    for stack in synthesis.templates:
        found += _cfn_lint(linter, synthesis, stack)
    found += review(synthesis.templates, facts(environment), synthesis.accepted)
    return sorted(found, key=lambda finding: (finding.level, finding.stack, finding.rule, finding.resource))


def facts(environment: Environment) -> Facts:
    """What the rules judge templates by."""
    return Facts(
        account=environment.account,
        region=environment.region,
        production=environment.production,
        cidr=environment.network.cidr,
    )


def _linter(region: str) -> "Runner":
    """One cfn-lint for all templates: it reads its rules when it is made. Importing it takes a second."""
    from cfnlint.config import ConfigMixIn
    from cfnlint.runner import Runner

    return Runner(ConfigMixIn(regions=[region], ignore_checks=IGNORED_LINTS))


def _cfn_lint(linter: "Runner", synthesis: Synthesis, stack: str) -> Iterator[Finding]:
    from cfnlint.decode import decode_str

    text = (synthesis.folder / f"{stack}.template.json").read_text(encoding="utf-8")
    template, errors = decode_str(text)
    for match in [*errors, *linter.validate_template(template)]:
        resource = match.path[1] if len(match.path) > 1 else "-"
        yield Finding(
            rule=f"cfn-lint {match.rule.id}",
            level="error" if match.rule.severity == "error" else "warning",
            stack=stack,
            resource=str(resource),
            message=match.message,
        )


def report(environment: Environment, synthesis: Synthesis, findings: list[Finding]) -> str:
    """Write the review as Markdown: what was found, who can reach which port, what was acknowledged and why."""
    lines = [f"# {environment.prefix}: {environment.account}, {environment.region}", "", "## Findings"]
    lines += [f"- {finding}" for finding in findings] or ["None: cdk-nag, cfn-lint and our rules."]
    lines += ["", "## Stacks", "| stack | resources |", "|---|---|"]
    lines += [f"| {stack} | {len(template['Resources'])} |" for stack, template in synthesis.templates.items()]
    lines += ["", "## Who can reach what", "| stack | security group | port | from |", "|---|---|---|---|"]
    lines += sorted({str(way) for way in ways_in(synthesis.templates)})
    lines += ["", "## What a VPN user reaches", *vpn_users(environment, synthesis.templates)]
    lines += ["", "## Accepted rights", "| who | what | on | if | why |", "|---|---|---|---|---|"]
    lines += _accepted(synthesis.accepted)
    lines += ["", "## Acknowledged findings", "| construct, and below it | findings | why |", "|---|---|---|"]
    lines += _acknowledged(synthesis.acknowledged)
    return "\n".join(lines) + "\n"


def _accepted(accepted: Iterable[Accepted]) -> Iterator[str]:
    """One line for what several roles may do alike, for one reason: the actions together, then the resources."""
    alike: dict[tuple[str, ...], set[str]] = {}
    for each in accepted:
        for names, grant in _on_same_actions(each.grants).items():
            key = (grant.action, "<br>".join(names), grant.condition or "-", each.reason)
            alike.setdefault(key, set()).add(f"{each.stack.rpartition('-')[2]}/{each.holder}")
    for (actions, resources, condition, reason), who in sorted(alike.items(), key=lambda item: (sorted(item[1]), item)):
        yield f"| {'<br>'.join(sorted(who))} | {actions} | {resources} | {condition} | {reason} |"


def _on_same_actions(grants: Iterable[Grant]) -> dict[tuple[str, ...], Grant]:
    """Grants by the resources that the same actions are on; each stands for its actions."""
    found: dict[Grant, list[str]] = {}
    for grant in together(sorted(grants)):
        found.setdefault(grant._replace(resource=""), []).append(grant.resource)
    return {tuple(sorted(resources)): grant for grant, resources in found.items()}


def _acknowledged(acknowledged: Iterable[Acknowledged]) -> Iterator[str]:
    """One line for what one reason explains on a construct."""
    for (construct, reason), same in groupby(acknowledged, key=attrgetter("construct", "reason")):
        yield f"| {construct} | {', '.join(each.rule for each in same)} | {reason} |"
