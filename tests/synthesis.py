"""Syntheses that tests share: each takes seconds of CPU, and so does cfn-lint on its templates."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from settings.environment import Environment
from settings.load import PIPELINES
from stacks.gate.template import Finding
from stacks.paused import Paused

if TYPE_CHECKING:
    from cfnlint.runner import Runner

    from operate.synth import Synthesis

_made: "dict[tuple[str, Path, Paused, bool], Synthesis]" = {}
_linted: dict[tuple[str, str], list[Finding]] = {}


def shared_synthesis(
    environment: Environment,
    folder: Path,
    *,
    paused: Paused = Paused.NOTHING,
    nag: bool = True,
    pipelines: Path = PIPELINES,
) -> "Synthesis":
    """Synthesize into a folder below `folder`, or return these settings' earlier result: callers must not change it.

    `pipelines` has the pipelines' schemas. With `nag`, cdk-nag and CDK's validation also check it, unless paused: that
    takes as long again.
    """
    # Importing CDK starts Node.js.
    from operate.synth import synthesize

    checked = nag and paused is Paused.NOTHING
    key = (environment.model_dump_json(), pipelines, paused)
    for known in ((*key, True), (*key, checked)):
        if known in _made:
            return _made[known]
    place = folder / (environment.name if paused is Paused.NOTHING else f"{environment.name}.paused-{paused}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stacks.processing.jobs.PIPELINES", pipelines)
        return _made.setdefault((*key, checked), synthesize(environment, place, nag=checked, paused=paused))


def found_in(environment: Environment, synthesis: "Synthesis", *, lint: bool = True) -> list[str]:
    """All that the review finds but what the deployer fills in: the releases' checksums, an account, an address.

    cfn-lint checks a template that environments share once; all are of one region. Without `lint` it checks none.
    """
    from operate.review import findings
    from operate.review.findings import find

    once = findings._cfn_lint

    def lint_once(linter: "Runner", synthesis: "Synthesis", stack: str) -> Iterator[Finding]:
        key = (stack, (synthesis.folder / f"{stack}.template.json").read_text())
        if lint and key not in _linted:
            _linted[key] = list(once(linter, synthesis, stack))
        return iter(_linted.get(key, []))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings, "_cfn_lint", lint_once)
        found = find(environment, synthesis)
    return [
        str(each)
        for each in found
        if "./lake dev lock plugins" not in each.message and each.rule != findings.PLACEHOLDER
    ]
