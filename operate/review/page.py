"""The review's page: all sections of one environment, read from its templates."""

from collections.abc import Sequence
from dataclasses import dataclass

from operate.review.acknowledgements import Reason, acknowledgements
from operate.review.cost import Cost, cost
from operate.review.custom import Kind, custom_resources
from operate.review.holdings import Holding, holdings
from operate.review.let_in import LetIn, let_in
from operate.review.material import Material
from operate.review.network import Network, VpnUsers, network, vpn_users
from operate.review.roles import Roles, roles
from operate.review.secrets import Secret, secrets
from operate.review.verdict import Verdict, verdict
from operate.synth import Synthesis
from settings.environment import Environment
from stacks.gate.template import Finding


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
    environment: Environment,
    synthesis: Synthesis,
    findings: Sequence[Finding],
    *,
    changes: Sequence[str] | None = None,
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
