"""Compares two states of an environment's templates: the changes in words, the gravest first, and as a diff."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from operate.diff import resources, reviewed, snapshots
from operate.diff.access import network, rights
from operate.diff.changed import changed
from operate.diff.normal_form import NOTHING, Template, Templates, from_to, text_of
from settings.environment import Environment
from stacks.gate.template import resolves

CONTEXT = 3
# The gravest first, and whether a person must decide.
SECTIONS: Mapping[str, bool] = {
    "Refused by CloudFormation": True,
    "Data lost or left behind": True,
    "Replaced": True,
    "Rights wider": True,
    "Locked out": True,
    "Network wider": True,
    "Gone": True,
    "New": True,
    "Values that the gate judges": True,
    "Connectors, jobs, topics": True,
    "Recreated": False,
    "Rights narrower": False,
    "Network narrower": False,
    "Changed in place": False,
    "Texts of connectors, jobs, topics": False,
    "Changed apart from resources": False,
}
# Of a template: resources are compared one by one, and outputs hand on what those have.
PLAIN = frozenset({"Description", "Metadata", "Outputs"})


@dataclass(frozen=True)
class Section:
    """Changes of one kind: `title` for people, a line of text for each change, `grave` if a person must decide."""

    title: str
    lines: tuple[str, ...]
    grave: bool


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


def changes(environment: Environment, templates: Templates, *, against: str | None = None) -> Changes:
    """Compare synthesized templates, by stack name, with the snapshots of a git revision, the last reviewed by default.

    Raises OperateError where there is nothing to compare with, among them the commit that renewed the snapshots.
    """
    revision = reviewed.revision(environment.name, against)
    before = reviewed.read(environment, revision)
    found = compare(environment.name, str(revision), before, snapshots.by_stack(environment, templates))
    if revision.own and not found.any:
        raise reviewed.not_compared("HEAD is on the main branch, and nothing differs from its own snapshots")
    return found


def changes_between(environment: Environment, base: str, before: Templates, after: Templates) -> Changes:
    """Compare templates of one environment, by stack name; `base` says what `before` is."""
    return compare(environment.name, base, *(snapshots.by_stack(environment, side) for side in (before, after)))


def compare(environment: str, base: str, before: Templates, after: Templates) -> Changes:
    """Compare templates in their normal forms, by stack."""
    said: dict[str, list[str]] = {title: [] for title in SECTIONS}
    for title, line in _said(before, after):
        said[title].append(line)
    return Changes(
        environment=environment,
        base=base,
        sections=tuple(Section(title, tuple(said[title]), grave) for title, grave in SECTIONS.items() if said[title]),
        resolved=tuple(resources.resolved(after)),
        diff="".join(_diff(before, after)),
    )


def _said(before: Templates, after: Templates) -> Iterator[tuple[str, str]]:
    """Yield all lines, each with its section's title."""
    touched = changed(before, after)
    for way, found in zip(("wider", "narrower"), network(before, after), strict=True):
        yield from ((f"Network {way}", line) for line in found)
    for stack in sorted({*before, *after}):
        old, new = before.get(stack, NOTHING), after.get(stack, NOTHING)
        if old != new:
            yield from ((title, line) for title, lines in rights(stack, old, new).items() for line in lines)
            yield from _of_template(stack, old, new, resources_differ=any(each.stack == stack for each in touched))
    for each in touched:
        yield from resources.said(each)


def _of_template(stack: str, old: Template, new: Template, *, resources_differ: bool) -> Iterator[tuple[str, str]]:
    """Say what differs outside of a stack's resources, or only their order."""
    parts = [name for name in sorted({*old, *new} - {"Resources"}) if old.get(name) != new.get(name)]
    for name in parts:
        if name not in PLAIN:
            yield "Values that the gate judges", f"{stack}: {name} {from_to(old.get(name), new.get(name))}"
    for name, output in sorted(new.get("Outputs", {}).items()):
        if resolves(output) and output != old.get("Outputs", {}).get(name):
            yield "Values that the gate judges", f"{stack}: the output {name} shows a secret's value"
    if NOTHING in (old, new):  # A stack that comes or goes.
        return
    if plain := [name for name in parts if name in PLAIN]:
        yield "Changed apart from resources", f"{stack}: {', '.join(plain)}"
    elif not parts and not resources_differ:
        yield "Changed apart from resources", f"{stack}: the order in which resources are made"


def _diff(before: Templates, after: Templates) -> Iterator[str]:
    for stack in sorted({*before, *after}):
        if before.get(stack) != after.get(stack):
            old, new = (text_of(side[stack]).splitlines(True) if stack in side else [] for side in (before, after))
            yield from difflib.unified_diff(old, new, f"a/{stack}.json", f"b/{stack}.json", n=CONTEXT)


def text(changes: Changes) -> str:
    """Return the whole text, which ends with a newline."""
    lists = [(f"{'! ' if each.grave else ''}{each.title}", each.lines) for each in changes.sections]
    lists += [("Looked up at the deployment", changes.resolved)] if changes.resolved else []
    found = [f"{changes.environment} against {changes.base}: {changes.summary}"]
    for title, lines in lists:
        found += ["", title, *(f"  - {line}" for line in lines)]
    found += ["", "Diff (asset hashes left out)", changes.diff.rstrip("\n")] if changes.diff else []
    return "\n".join(found) + "\n"
