"""What stands for your own in the committed files: they are synthesized and reviewed so, and nothing deploys."""

import re
from collections.abc import Iterator
from ipaddress import ip_network

from plugins.releases.versions import load_versions, unpinned_refusal
from settings.addresses import is_within
from settings.environment import Environment
from settings.rules.problem import Problem, in_lines

# RFC 2606 and 6761: domains in which nobody receives anything.
_DOMAINS = re.compile(r"(^|[@.])(example\.(com|org|net)|example|invalid)$", re.IGNORECASE)
# RFC 5737: networks for documentation, of which no packet comes.
_NETWORKS = tuple(ip_network(text) for text in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))


def refused(environment: Environment) -> list[str]:
    """Return why nothing of the environment may be deployed, in lines: what can't be verified, and placeholders."""
    reason = unpinned_refusal(load_versions().unpinned)
    return [*([reason] if reason else []), *in_lines(environment, placeholders(environment)).splitlines()]


def placeholders(environment: Environment) -> Iterator[Problem]:
    """Yield the settings that must be changed before a deployment; the reason says what each is."""
    if len(set(environment.account)) == 1:
        yield "account", f"{environment.account} is an example: put your own there"
    if _DOMAINS.search(environment.monitoring.alarm_email):
        yield (
            "monitoring.alarm_email",
            f"{environment.monitoring.alarm_email} is an example, which nobody reads: name who is told",
        )
    cidrs = {"vpn.client_cidrs": environment.vpn.client_cidrs, "vpn.management_cidrs": environment.vpn.management_cidrs}
    if environment.eks is not None:
        cidrs["connectors.eks.endpoint_cidrs"] = environment.eks.endpoint_cidrs
    for key, given in cidrs.items():
        for cidr in given:
            if any(is_within(ip_network(cidr), network) for network in _NETWORKS):
                yield key, f"{cidr} is for documentation, so nobody has it: name the networks that people come from"
