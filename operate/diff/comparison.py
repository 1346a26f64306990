"""Compares two states of an environment's templates: the changes in words, the gravest first, and as a diff."""

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from operate.changes.compare import NAME_TAKEN, Touched
from operate.diff import resources
from operate.diff.judged import SECTIONS, judged
from operate.diff.network import network
from operate.diff.normal_form import NOTHING, Template, Templates, text_of
from operate.diff.requests import requests
from operate.diff.rights import rights

CONTEXT = 3


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
    """Compare templates in their normal forms, by stack."""
    touched = resources.compare(before, after)
    both = [(stack, before.get(stack, NOTHING), after.get(stack, NOTHING)) for stack in sorted({*before, *after})]
    both = [sides for sides in both if sides[1] != sides[2]]
    wider, narrower = _of_both(rights, both)
    opened, closed = network(before, after)
    asked = [line for sides in both for line in requests(*sides)]
    words = _Words(touched, before, after)
    refused, replaced = words.of("refused", words.refused), words.of("replaced", words.with_loss)
    # What is refused or replaced says its values itself, unless there are too many.
    said = (*refused, *replaced)
    values = tuple(line for sides in both for line in judged(*sides) if not _is_said(line, said))
    sections = (
        Section(title="Refused by CloudFormation", lines=refused, grave=True),
        Section(title="Data lost or left behind", lines=words.data_lost(), grave=True),
        Section(title="Replaced", lines=replaced, grave=True),
        Section(title="Rights wider", lines=wider, grave=True),
        Section(title="Network wider", lines=opened, grave=True),
        Section(title="Gone", lines=words.of("gone", words.with_loss), grave=True),
        Section(title="New", lines=words.of("new"), grave=True),
        Section(title="Values that the gate judges", lines=values, grave=True),
        Section(title="Connectors, jobs, topics", lines=tuple(line for line, grave in asked if grave), grave=True),
        Section(title="Recreated", lines=words.of("recreated", lambda each: f": {each.why}" if each.why else "")),
        Section(title="Rights narrower", lines=narrower),
        Section(title="Network narrower", lines=closed),
        Section(title="Changed in place", lines=words.changed_in_place()),
        Section(title="Texts of connectors, jobs, topics", lines=tuple(line for line, grave in asked if not grave)),
        Section(title="Changed apart from resources", lines=tuple(_beside(before, after, touched))),
    )
    return Changes(
        environment=environment,
        base=base,
        sections=tuple(section for section in sections if section.lines),
        resolved=tuple(resources.resolved(after)),
        diff="".join(_diff(before, after)),
    )


_Sides = tuple[str, Template, Template]


def _of_both(
    compare_: Callable[[str, Template, Template], tuple[list[str], list[str]]], both: Sequence[_Sides]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Collect the lines of all stacks: what is more, and what is less."""
    found = [compare_(*sides) for sides in both]
    more, less = (tuple(line for each in found for line in each[side]) for side in (0, 1))
    return more, less


def _is_said(line: str, lines: Sequence[str]) -> bool:
    """Whether a resource's value is in other lines, after the same resource's name."""
    name, separator, value = line.partition("): ")
    return any(each.startswith(f"{name}{separator}") and value in each for each in lines)


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

    def changed_in_place(self) -> tuple[str, ...]:
        """What an update does, and plain texts: what the gate judges is told apart."""
        found = [(each, resources.texts(*self._sides(each))) for each in self.touched if each.effect == "in place"]
        return tuple(
            f"{resources.said(each)}: {'; '.join(filter(None, (each.why, text)))}"
            for each, text in found
            if each.why or text
        )

    def _sides(self, each: Touched) -> tuple[Touched, Template, Template]:
        return each, self.before.get(each.stack, NOTHING), self.after.get(each.stack, NOTHING)

    def _cause(self, each: Touched) -> str:
        return resources.in_place(*self._sides(each))

    def _lost(self, each: Touched) -> str:
        return resources.lost(*self._sides(each))


def _beside(before: Templates, after: Templates, touched: Sequence[Touched]) -> Iterator[str]:
    """Stacks that differ outside their resources, in their order or outputs; the gate judges other sections."""
    for stack in sorted(before.keys() & after.keys()):
        old, new = before[stack], after[stack]
        parts = [name for name in sorted({*old, *new} - {"Resources"}) if old.get(name) != new.get(name)]
        if plain := [name for name in parts if name in SECTIONS]:
            yield f"{stack}: {', '.join(plain)}"
        elif not parts and old != new and not any(each.stack == stack for each in touched):
            yield f"{stack}: the order in which resources are made"


def _diff(before: Templates, after: Templates) -> Iterator[str]:
    for stack in sorted({*before, *after}):
        if before.get(stack) != after.get(stack):
            old, new = (text_of(side[stack]).splitlines(True) if stack in side else [] for side in (before, after))
            yield from difflib.unified_diff(old, new, f"a/{stack}.json", f"b/{stack}.json", n=CONTEXT)


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
