"""Rules for an environment's zones, its addresses, and the VPN's clients."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Network

from settings import aws_offers
from settings.addresses import is_private, too_many
from settings.environment import Environment
from settings.rules.problem import Problem, Rule

MINIMUM_ZONES = 2
MOST_ZONES = 3
SMALLEST_VPC = 20
# The addresses that stacks/userdata/softether.sh gives VPN clients.
VPN_CLIENTS = IPv4Network("192.168.30.0/24")


def zones(environment: Environment) -> Iterator[Problem]:
    """Require two or three subnets for MSK, each in its own zone; MSK spreads its brokers evenly over them."""
    named = environment.availability_zones
    if not MINIMUM_ZONES <= len(set(named)) == len(named) <= MOST_ZONES:
        yield (
            "availability_zones",
            f"MSK spreads its brokers over {MINIMUM_ZONES} or {MOST_ZONES} zones: name 2 or 3 different ones",
        )
    there = aws_offers.ZONES.get(environment.region)
    for zone in named:
        if not re.fullmatch(rf"{re.escape(environment.region)}[a-z]", zone):
            yield "availability_zones", f"{zone!r} isn't a zone of {environment.region}"
        elif there and zone.removeprefix(environment.region) not in there:
            known = ", ".join(f"{environment.region}{letter}" for letter in there)
            yield "availability_zones", f"{environment.region} has no {zone}, only {known}"


def network(environment: Environment) -> Iterator[Problem]:
    """Require private VPC addresses that fit our subnets and don't overlap the VPN clients'."""
    cidr = IPv4Network(environment.network.cidr)
    if not is_private(cidr):
        yield "network.cidr", f"{cidr} isn't private: choose from 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16"
    if not 16 <= cidr.prefixlen <= SMALLEST_VPC:
        yield "network.cidr", f"{cidr} must be from /16 (AWS's largest VPC) to /{SMALLEST_VPC} (our subnets)"
    if cidr.overlaps(VPN_CLIENTS):
        yield "network.cidr", f"{cidr} overlaps {VPN_CLIENTS}, the addresses of VPN clients: choose another network"


def vpn(environment: Environment) -> Iterator[Problem]:
    """Require that someone can reach the VPN, and that the internet can't manage it."""
    if not environment.vpn.client_cidrs:
        yield "vpn.client_cidrs", "is empty, so that nobody could connect: name the networks that clients come from"
    if reason := too_many(environment.vpn.management_cidrs):
        yield (
            "vpn.management_cidrs",
            f"opens VPN management to {reason}: name your own network, or none and use Session Manager",
        )


RULES: tuple[Rule, ...] = (zones, network, vpn)
