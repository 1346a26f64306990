"""What a reviewer reads first: what is to be done, what changes, what is open, kept and watched, and the cost."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from operate.diff.resources import looked_up
from operate.review.holdings import KEPT, Holding
from operate.review.material import Material
from operate.review.network import Network
from operate.review.roles import Rights, peoples, wildcards, without_framework
from operate.review.rows import Section, Table, count, grouped, siblings
from operate.review.services import answers
from stacks.gate.template import Finding

Colour = Literal["red", "amber", "green"]
NOT_COMPARED = "not compared"
# CDK warns of a release without a checksum as our rules do: both are one fact.
_UNPINNED = re.compile(r"(?=.*(?:SHA-256|checksum)).*?(\S+\.(?:zip|jar|tar\.gz))\b")


@dataclass(frozen=True)
class Fact:
    """What one or several findings say, and where."""

    level: str
    rule: str
    where: tuple[str, ...]
    what: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The page's first section: `colour` and `words` are its headline, `rows` questions with their answers.

    Red: a check refuses it. Amber: something has to be done before it deploys, or it wasn't compared. Green: neither.
    """

    colour: Colour
    words: str
    facts: tuple[Fact, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]

    def section(self) -> Section:
        facts = [(each.level, each.what, each.where, each.rule) for each in self.facts]
        title = "What cdk-nag, CDK, cfn-lint and the project's own rules find"
        found = Table(title, ("Level", "What", "Where", "Rule"), facts)
        return Section(title="Verdict", shown=(found, Table("What matters", ("Question", "Answer"), self.rows)))


def verdict(
    material: Material,
    findings: Sequence[Finding],
    *,
    network: Network,
    rights: Rights,
    holdings: Sequence[Holding],
    cost: str,
    changes: Sequence[str] | None = None,
) -> Verdict:
    """Judge the findings and answer what matters; `changes` is None if nothing was compared."""
    facts = tuple(_facts(material, findings))
    compared = tuple([f"{NOT_COMPARED} with what was reviewed"] if changes is None else changes or ["nothing"])
    colour, words = _headline(facts, compared=not any(each.startswith(NOT_COMPARED) for each in compared))
    gone = [each for each in holdings if each.on_delete != KEPT]
    out = grouped((", ".join(way.ports), way.source) for way in network.ways_out if way.public)
    images = looked_up(material.app.templates)
    rows: tuple[tuple[str, Sequence[str]], ...] = (
        ("Changes", compared),
        ("Open to the internet", _open(network)),
        ("Out to the internet", [f"{ports}: {', '.join(sources)}" for ports, sources in sorted(out.items())]),
        ("Made for people", [f"{name}: {what}" for name, what, _ in peoples(material, rights)]),
        ("Wildcards in rights", wildcards(without_framework(material, rights))),
        ("Kept on delete", [each.name for each in holdings if each.on_delete == KEPT]),
        ("Deleted", [f"{each.name} ({each.on_delete})".removesuffix(" (deleted)") for each in gone]),
        ("Without encryption or a retention", [f"{each.name}: {each.missing}" for each in holdings if each.missing]),
        *answers(material),
        (
            "Looked up at the deployment",
            [f"{material.name_at(stack, id_)}: {words}" for stack, id_, _, words in images],
        ),
        ("Cost", [cost]),
    )
    return Verdict(
        colour=colour,
        words=words,
        facts=facts,
        rows=tuple((question, tuple(answer) or ("nothing",)) for question, answer in rows),
    )


def _headline(facts: Sequence[Fact], *, compared: bool) -> tuple[Colour, str]:
    errors, warnings = (sum(each.level == level for each in facts) for level in ("error", "warning"))
    if errors:
        counts = f"{count(errors, 'error')} and {count(warnings, 'warning')}"
        return "red", f"No: {counts}. `./lake aws deploy` refuses it."
    undone = [f"{count(warnings, 'thing')} must be done or decided before it deploys"] if warnings else []
    undone += [] if compared else ["it wasn't compared with what was reviewed"]
    if undone:
        return "amber", f"Not yet: no check refuses it, but {', and '.join(undone)}."
    return "green", "Yes: no check refuses it, and nothing is left to do."


def _facts(material: Material, findings: Sequence[Finding]) -> Iterator[Fact]:
    found: dict[tuple[str, ...], list[Fact]] = {}
    for each in findings:
        fact = Fact(each.level, each.rule, (_where(material, each),), material.readable(each.stack, each.message))
        release = _UNPINNED.match(each.message)
        key = (each.level, release[1]) if release else (each.level, each.rule, fact.what)
        found.setdefault(key, []).append(fact)
    for same in found.values():
        yield replace(same[-1], where=siblings(each.where[0] for each in same))


def _where(material: Material, finding: Finding) -> str:
    by_id = finding.resource in material.app.templates.get(finding.stack, {"Resources": {}})["Resources"]
    path = "/".join(filter(None, (finding.stack, finding.resource)))
    return material.name_at(finding.stack, finding.resource) if by_id else material.path_name(path)


def _open(network: Network) -> list[str]:
    return [
        f"{', '.join(network.groups.get(way.target, ())) or way.target}: {', '.join(way.ports)}, from {way.source}"
        for way in network.ways_in
        if way.public
    ]
