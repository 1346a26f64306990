"""The review's page: all sections of one environment; this module writes the acknowledged findings and the cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from operate.costs.bill import confirmed, items, total, unknown
from operate.costs.prices import load_prices
from operate.costs.report import NOT_IN_IT, TENS, figures
from operate.diff import comparison
from operate.errors import OperateError
from operate.review import custom, holdings, network, roles, secrets, services
from operate.review.material import Material
from operate.review.rows import Section, Table, grouped, siblings
from operate.review.verdict import Verdict, verdict
from operate.review.words import rule_in_words
from operate.synth import Synthesis
from settings.environment import Environment
from stacks.gate.template import App, Finding


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page's contents; `about` says of what it is."""

    environment: Environment
    about: str
    verdict: Verdict
    sections: tuple[Section, ...]


def page(
    environment: Environment, synthesis: Synthesis, findings: Sequence[Finding], *, changes: Sequence[str] | None = None
) -> Page:
    """Read all sections; `changes`: differences from the last reviewed state, if compared."""
    material = Material(environment, synthesis)
    rights = roles.rights_by_holder(material)
    net, held = network.network(material), holdings.holdings(material)
    bill = cost(material.app)
    judged = verdict(material, findings, network=net, rights=rights, holdings=held, cost=bill.words, changes=changes)
    sizes = (f"{material.stack_name(name)} ({len(each['Resources'])})" for name, each in synthesis.templates.items())
    return Page(
        environment=environment,
        about=f"Account {environment.account}, {environment.region}, {'' if environment.production else 'not '}"
        f"production. Read from the synthesized CloudFormation templates alone: {', '.join(sizes)} resources. Names "
        "are places in the app: stack/construct.",
        verdict=judged,
        sections=(
            judged.section(),
            network.section(material, net),
            holdings.section(held),
            secrets.section(material, rights),
            roles.section(material, rights),
            custom.section(material, rights),
            services.section(material),
            acknowledgements(material),
            cost_section(bill),
        ),
    )


def acknowledgements(material: Material) -> Section:
    """Group findings by reason, the reason with the most findings first."""
    found = grouped((each.reason, each) for each in material.synthesis.acknowledged)
    rows = [
        (
            reason,
            str(len(same)),
            tuple(sorted({rule_in_words(each.rule) for each in same})),
            siblings(material.path_name(each.construct) for each in same),
        )
        for reason, same in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return Section(
        title="Findings that were acknowledged",
        fold=f"{len(material.synthesis.acknowledged)} findings that are as they should be, for {len(rows)} reasons",
        folded=(Table("Why", ("Reason", "Findings", "Of what", "Construct, and below it"), rows),),
    )


class Cost(NamedTuple):
    """The bill in a sentence, its lines as shown (what, part, quantity, USD each and a month), or why there is none."""

    words: str
    lines: tuple[tuple[str, ...], ...] = ()


def cost(app: App) -> Cost:
    """Work out the bill; for a region without prices the words say so."""
    try:
        found = items(app, load_prices())
    except OperateError as error:
        return Cost(str(error))
    usd, sure = (round(of(found), TENS) for of in (total, confirmed))
    without = "; ".join(item.what for item in unknown(found))
    lacking = f", without {without}, whose prices aren't known" if without else ""
    budget = f"; its budget is {budget:,} USD" if (budget := app.settings.budget.monthly_usd) else ""
    words = f"about {usd:,.0f} USD a month, {sure:,.0f} USD of it at confirmed prices{lacking}{budget}"
    return Cost(words, tuple((item.what, item.part, *figures(item)) for item in found))


def cost_section(bill: Cost) -> Section:
    words = f"{bill.words[0].upper()}{bill.words[1:]}. {NOT_IN_IT}"
    heads = ("What", "Part", "How many", "USD each", "USD a month")
    lines = Table("USD a month, by resource; ~ marks an estimated price or amount", heads, bill.lines, narrow=True)
    return Section(title="Cost", shown=(words,), fold=f"All {len(bill.lines)} lines of the bill", folded=(lines,))


def changes(environment: Environment, synthesis: Synthesis, *, against: str | None = None) -> tuple[str, ...]:
    """Return how many changes there are of each kind, then those that a person decides; `./lake aws diff` has them all.

    With nothing to compare with, one line says so: it begins with "not compared".
    """
    try:
        found = comparison.changes(environment, synthesis.stacks, against=against)
    except OperateError as error:
        return (str(error),)
    grave = [f"{section.title}: {line}" for section in found.sections if section.grave for line in section.lines]
    return (f"{found.summary}, against {found.base}", *grave)
