"""How much of the world a set of address ranges is: what counts is their union, so two halves are the whole."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

Network = IPv4Network | IPv6Network
# RFC 1918, RFC 4193 (unique local) and link-local: nobody comes from there through the internet. Python's own
# `is_private` looks at a range's first and last address alone, by which 0.0.0.0/1 has been private.
PRIVATE: tuple[Network, ...] = tuple(
    ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10")
)
# As much as one organisation has: a /16 of IPv4, the /32 that a registry gives to a provider of IPv6.
LARGEST = {4: 2 ** (32 - 16), 6: 2 ** (128 - 32)}
ALL = {4: 2**32, 6: 2**128}


def is_private(network: Network) -> bool:
    return any(is_within(network, private) for private in PRIVATE)


def is_within(network: Network, other: Network) -> bool:
    if isinstance(network, IPv4Network):
        return isinstance(other, IPv4Network) and network.subnet_of(other)
    return isinstance(other, IPv6Network) and network.subnet_of(other)


def too_many(ranges: Iterable[str]) -> str | None:
    """Name ranges that are together more than one organisation's, with how much they are; None where they aren't.

    Private ranges don't count. Raises ValueError for what isn't a range.
    """
    networks = [ip_network(text, strict=False) for text in ranges]
    public = [network for network in networks if not is_private(network)]
    four = [network for network in public if isinstance(network, IPv4Network)]
    six = [network for network in public if isinstance(network, IPv6Network)]
    sizes = {
        4: sum(network.num_addresses for network in collapse_addresses(four)),
        6: sum(network.num_addresses for network in collapse_addresses(six)),
    }
    for version, size in sizes.items():
        if size > LARGEST[version]:
            shown = ", ".join(str(network) for network in public if network.version == version)
            share = size / ALL[version]
            return f"{shown} ({share:.3%} of all IPv{version} addresses)"
    return None
