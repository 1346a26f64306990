"""Measures address ranges: their union counts, so two halves of the internet are the whole."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any

Network = IPv4Network | IPv6Network
# RFC 1918, RFC 4193 (unique local) and link-local: no one reaches us from there through the internet. Python's own
# `is_private` checks only a range's first and last address, which made 0.0.0.0/1 private.
PRIVATE: tuple[Network, ...] = tuple(
    ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10")
)
# One organisation's size: a /16 of IPv4, the /32 that a registry assigns to a provider of IPv6.
LARGEST = {4: 2 ** (32 - 16), 6: 2 ** (128 - 32)}
ALL = {4: 2**32, 6: 2**128}


def is_private(network: Network) -> bool:
    return any(is_within(network, private) for private in PRIVATE)


def is_within(network: Network, other: Network) -> bool:
    if isinstance(network, IPv4Network):
        return isinstance(other, IPv4Network) and network.subnet_of(other)
    return isinstance(other, IPv6Network) and network.subnet_of(other)


def too_many(ranges: Iterable[str]) -> str | None:
    """Name ranges that together exceed one organisation's, with their size; None if they don't.

    Private ranges don't count. Raises ValueError for an invalid range.
    """
    networks = [ip_network(text, strict=False) for text in ranges]
    for version, largest in LARGEST.items():
        public: list[Any] = [each for each in networks if each.version == version and not is_private(each)]
        size = sum(each.num_addresses for each in collapse_addresses(public))
        if size > largest:
            return f"{', '.join(map(str, public))} ({size / ALL[version]:.3%} of all IPv{version} addresses)"
    return None
