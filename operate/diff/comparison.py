"""Compares two states of an environment's templates: the changes in words, the gravest first, and as a diff.

CDK's own comparison (`@aws-cdk/cloudformation-diff`) runs in the project's Node.js.
"""

import difflib
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from operate.changes.compare import NAME_TAKEN, Touched
from operate.diff import resources
from operate.diff.kubernetes import kubernetes_network, kubernetes_rights
from operate.diff.normal_form import NOTHING, Template, Templates, text_of
from operate.diff.requests import requests
from operate.diff.resources import resolved
from operate.diff.rights import network, rights
from operate.diff.weakened import weakened
from operate.errors import OperateError
from stacks.node import NODE

CONTEXT = 3
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "node_modules" / "@aws-cdk" / "cloudformation-diff"
SCRIPT = Path(__file__).with_name("cloudformation_diff.cjs")


@dataclass(frozen=True, kw_only=True)
class Section:
    """Changes of one kind: `title` for people, a line of text for each change, `grave` if a person must decide."""

    title: str
    lines: tuple[str, ...]
    grave: bool = False


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What a deployment of an environment's templates changes, compared with `base`.

    `sections` hold the words, the gravest first, none empty; `resolved` lists what no template shows and applies with
    or without changes; `diff` is a unified diff of the templates' normal forms.
    """

    environment: str
    base: str
    sections: tuple[Section, ...]
    resolved: tuple[str, ...]
    diff: str

    @property
    def any(self) -> bool:
        return bool(self.diff)

    @property
    def summary(self) -> str:
        counts = "; ".join(f"{section.title} {len(section.lines)}" for section in self.sections)
        return counts or "no changes"


def compare(environment: str, base: str, before: Templates, after: Templates) -> Changes:
    """Compare templates in their normal forms, by stack. Raises OperateError if CDK's comparison isn't installed."""
    found = compared(before, after)
    touched = resources.compare(before, after, found)
    wider, narrower = rights(found, before, after)
    opened, closed = network(found)
    both = [(stack, before.get(stack, NOTHING), after.get(stack, NOTHING)) for stack in sorted({*before, *after})]
    for sides in both:
        for lines, more in zip((wider, narrower), kubernetes_rights(*sides), strict=True):
            lines += more
        for lines, more in zip((opened, closed), kubernetes_network(*sides), strict=True):
            lines += more
    weaker = [line for sides in both for line in weakened(*sides)]
    words = _Words(touched, before, after)
    sections = (
        Section(title="Refused by CloudFormation", lines=words.of("refused", words.refused), grave=True),
        Section(title="Data lost or left behind", lines=words.data_lost(), grave=True),
        Section(title="Replaced", lines=words.of("replaced", words.with_loss), grave=True),
        Section(title="Rights wider", lines=tuple(wider), grave=True),
        Section(title="Network wider", lines=tuple(opened), grave=True),
        Section(title="Protected less", lines=tuple(weaker), grave=True),
        Section(title="Recreated", lines=words.of("recreated", lambda each: f": {each.why}" if each.why else "")),
        Section(title="Connectors, jobs, topics", lines=tuple(line for sides in both for line in requests(*sides))),
        Section(title="Rights narrower", lines=tuple(narrower)),
        Section(title="Network narrower", lines=tuple(closed)),
        Section(title="New", lines=words.of("new")),
        Section(title="Gone", lines=words.of("gone", words.with_loss)),
        Section(title="Changed in place", lines=words.of("in place", words.in_place)),
        Section(title="Changed apart from resources", lines=tuple(_beside(before, after, touched))),
    )
    return Changes(
        environment=environment,
        base=base,
        sections=tuple(section for section in sections if section.lines),
        resolved=tuple(resolved(after)),
        diff="".join(_diff(before, after)),
    )


@dataclass(frozen=True)
class _Words:
    touched: Sequence[Touched]
    before: Templates
    after: Templates

    def of(self, effect: str, line: Callable[[Touched], str] = lambda _each: "") -> tuple[str, ...]:
        """Return a line for each resource with this effect; `line` is what follows its name."""
        return tuple(f"{resources.said(each)}{line(each)}" for each in self.touched if each.effect == effect)

    def refused(self, each: Touched) -> str:
        if each.type == "export":
            return f": {each.why}"
        would = self._lost(replace(each, effect="replaced"))
        loss = f". Under another name it would be replaced: {would}" if would and each.why == NAME_TAKEN else ""
        return f": {self._cause(each)}: {each.why}{loss}"

    def data_lost(self) -> tuple[str, ...]:
        """Replaced or deleted resources whose data can't be recreated, whether a policy keeps it or not."""
        precious = replace(self, touched=[each for each in self.touched if each.type in resources.PRECIOUS])
        return tuple(
            line
            for effect in ("replaced", "gone")
            for line in precious.of(effect, lambda each: f" {each.effect}: {self._lost(each)}")
        )

    def with_loss(self, each: Touched) -> str:
        own = each.effect == "replaced" and not each.type.startswith("Custom::")
        cause = self._cause(each) if own else each.why
        loss = self._lost(each)
        return f"{f': {cause}' if cause else ''}{f'. {loss[0].upper()}{loss[1:]}' if loss else ''}"

    def in_place(self, each: Touched) -> str:
        return f"{f' ({each.why})' if each.why else ''}: {self._cause(each)}"

    def _sides(self, each: Touched) -> tuple[Touched, Template, Template]:
        return each, self.before.get(each.stack, NOTHING), self.after.get(each.stack, NOTHING)

    def _cause(self, each: Touched) -> str:
        return resources.in_place(*self._sides(each))

    def _lost(self, each: Touched) -> str:
        return resources.lost(*self._sides(each))


def _beside(before: Templates, after: Templates, touched: Sequence[Touched]) -> Iterator[str]:
    """Stacks that differ outside their resources: order, outputs, parameters."""
    for stack in sorted(before.keys() & after.keys()):
        old, new = before[stack], after[stack]
        if old == new:
            continue
        parts = [name for name in sorted({*old, *new} - {"Resources"}) if old.get(name) != new.get(name)]
        if parts:
            yield f"{stack}: {', '.join(parts)}"
        elif not any(each.stack == stack for each in touched):
            yield f"{stack}: the order in which resources are made"


def _diff(before: Templates, after: Templates) -> Iterator[str]:
    for stack in sorted({*before, *after}):
        if before.get(stack) != after.get(stack):
            old, new = (text_of(side[stack]).splitlines(True) if stack in side else [] for side in (before, after))
            yield from difflib.unified_diff(old, new, f"a/{stack}.json", f"b/{stack}.json", n=CONTEXT)


def compared(before: Templates, after: Templates) -> Mapping[str, Mapping[str, Any]]:
    """Compare templates stack by stack; return only stacks that differ.

    Each has `impacts` (resource → WILL_REPLACE, MAY_REPLACE, WILL_UPDATE, …) and `statements`, `policies`, `ingress`,
    `egress`, each as `added` and `removed`. Raises OperateError if the package is missing or fails.
    """
    stacks = {
        stack: {"before": before.get(stack, NOTHING), "after": after.get(stack, NOTHING)}
        for stack in sorted({*before, *after})
        if before.get(stack) != after.get(stack)
    }
    if not stacks:
        return {}
    if not PACKAGE.is_dir():
        raise OperateError(
            "CDK's comparison of templates isn't installed: `./lake aws diff` and `./lake aws review` install it"
        )
    done = subprocess.run(
        [str(NODE), str(SCRIPT)],
        input=json.dumps(stacks),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NODE_PATH": str(ROOT / "node_modules")},
    )
    if done.returncode:
        raise OperateError(f"CDK's comparison of templates failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def text(changes: Changes) -> str:
    """Return the whole text, which ends with a newline."""
    return "\n".join(_lines(changes)) + "\n"


def _lines(changes: Changes) -> Iterator[str]:
    yield f"{changes.environment} against {changes.base}: {changes.summary}"
    for section in changes.sections:
        yield ""
        yield f"{'! ' if section.grave else ''}{section.title}"
        yield from (f"  - {line}" for line in section.lines)
    if changes.resolved:
        yield ""
        yield "Looked up at the deployment"
        yield from (f"  - {line}" for line in changes.resolved)
    if changes.diff:
        yield ""
        yield "Diff (asset hashes left out)"
        yield changes.diff.rstrip("\n")
