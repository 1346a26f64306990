"""The review's page: all sections of one environment, read from its templates; here the acknowledged findings."""

from collections.abc import Sequence
from dataclasses import dataclass

from operate import diff
from operate.errors import OperateError
from operate.review.cost import Cost, cost
from operate.review.custom import Kind, custom_resources
from operate.review.holdings import Holding, holdings
from operate.review.material import Material, siblings, unique
from operate.review.network import Network, VpnUsers, network, vpn_users
from operate.review.roles import LetIn, Roles, let_in, roles
from operate.review.secrets import Secret, secrets
from operate.review.verdict import Verdict, verdict
from operate.review.words import rule_in_words
from operate.synth import Synthesis
from settings.environment import Environment
from stacks.gate.template import Finding

WILDCARD = "AwsSolutions-IAM5"


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One reason: the rules and number of the findings that it explains, and the constructs that have them."""

    reason: str
    rules: tuple[str, ...]
    count: int
    places: tuple[str, ...]

    @property
    def of_wildcards(self) -> bool:
        """Whether it explains a right's wildcard, and is therefore also shown with that right."""
        return all(rule.startswith(f"{WILDCARD}:") for rule in self.rules)


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page's contents."""

    prefix: str
    name: str
    account: str
    region: str
    production: bool
    stacks: tuple[tuple[str, int], ...]
    verdict: Verdict
    network: Network
    vpn: VpnUsers
    holdings: tuple[Holding, ...]
    secrets: tuple[Secret, ...]
    roles: Roles
    let_in: tuple[LetIn, ...]
    custom: tuple[Kind, ...]
    acknowledgements: tuple[Reason, ...]
    cost: Cost


def page(
    environment: Environment, synthesis: Synthesis, findings: Sequence[Finding], *, changes: Sequence[str] | None = None
) -> Page:
    """Read all sections; `changes`: differences from the last reviewed state, if compared."""
    material = Material.of(environment, synthesis)
    net, may, held, bill = network(material), roles(material), holdings(material), cost(environment)
    return Page(
        prefix=environment.prefix,
        name=environment.name,
        account=environment.account,
        region=environment.region,
        production=environment.production,
        stacks=tuple(
            (material.stack_name(stack), len(template["Resources"])) for stack, template in synthesis.templates.items()
        ),
        verdict=verdict(material, findings, network=net, roles=may, holdings=held, cost=bill, changes=changes),
        network=net,
        vpn=vpn_users(material, net),
        holdings=held,
        secrets=secrets(material),
        roles=may,
        let_in=let_in(material),
        custom=custom_resources(material),
        acknowledgements=acknowledgements(material),
        cost=bill,
    )


def acknowledgements(material: Material) -> tuple[Reason, ...]:
    """Group findings by reason, the reason with the most findings first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for each in material.acknowledged:
        found.setdefault(each.reason, []).append((rule_in_words(each.rule), material.path_name(each.construct)))
    reasons = [
        Reason(
            reason=reason,
            rules=unique(sorted(rules for rules, _ in same)),
            count=len(same),
            places=siblings(place for _, place in same),
        )
        for reason, same in found.items()
    ]
    return tuple(sorted(reasons, key=lambda each: (-each.count, each.reason)))


def changes(environment: Environment, synthesis: Synthesis, *, against: str | None = None) -> tuple[str, ...]:
    """Return how many changes there are of each kind, then those that a person decides; `./lake aws diff` has them all.

    With nothing to compare with, one line says so: it begins with "not compared".
    """
    try:
        found = diff.changes(environment, synthesis.stacks, against=against)
    except OperateError as error:
        return (str(error),)
    grave = [f"{section.title}: {line}" for section in found.sections if section.grave for line in section.lines]
    return (f"{found.summary}, against {found.base}", *grave)
