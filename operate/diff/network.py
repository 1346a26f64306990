"""Who reaches more or less than before: CDK's comparison of security group rules."""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any, NamedTuple

from operate.diff.names import readable
from stacks.gate.template import written

Compared = Mapping[str, Mapping[str, Any]]
EVERYBODY = frozenset({"0.0.0.0/0", "::/0"})
# CDK's rule for a group without egress.
NOBODY = "255.255.255.255/32"


class Way(NamedTuple):
    """A rule: ports from `first` to `last`, "" for all, between a group and addresses or another group."""

    group: str
    protocol: str
    first: str
    last: str
    peer: str

    def __str__(self) -> str:
        if self.protocol == "-1":
            return "all protocols"
        ports = self.first if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.protocol} {readable(ports) or 'all ports'}"


def network(compared: Compared) -> tuple[list[str], list[str]]:
    """Return the rules that open access and those that close it, a line for each, by stack."""
    wider: list[str] = []
    narrower: list[str] = []
    for stack, found in compared.items():
        for direction, verb in (("ingress", "in from"), ("egress", "out to")):
            added, removed = (set(_ways(found[direction][side])) for side in ("added", "removed"))
            opened, closed = added - removed, removed - added
            wider += [f"{stack}/{_said(way)} {verb} {_peer(way)}" for way in _uncovered(opened, removed)]
            narrower += [f"{stack}/{_said(way)} no longer {verb} {_peer(way)}" for way in _uncovered(closed, added)]
    return wider, narrower


def _ways(rules: Iterable[Mapping[str, Any]]) -> Iterator[Way]:
    for rule in rules:
        peer = rule.get("peer") or {}
        to = peer.get("ip") or peer.get("securityGroupId") or peer.get("prefixListId") or "?"
        if to != NOBODY:
            first = _port(rule.get("fromPort", ""))
            last = _port(rule.get("toPort", "")) or first
            yield Way(str(rule["groupId"]), str(rule["ipProtocol"]), first, last, str(to))


def _port(value: Any) -> str:
    """Write a port, which may be a reference to a database's; -1 means all."""
    text = written(value) if isinstance(value, dict) else str(value)
    return "" if text == "-1" else text


def _uncovered(ways: set[Way], others: set[Way]) -> list[Way]:
    return sorted(way for way in ways if not any(other != way and _covers(other, way) for other in others))


def _covers(wide: Way, way: Way) -> bool:
    same = wide.group == way.group and wide.protocol in ("-1", way.protocol)
    return same and _holds_ports(wide, way) and _holds(wide.peer, way.peer)


def _holds_ports(wide: Way, way: Way) -> bool:
    if not wide.first or (wide.first, wide.last) == (way.first, way.last):
        return True
    ports = (wide.first, way.first, way.last, wide.last)
    return all(port.isdecimal() for port in ports) and int(ports[0]) <= int(ports[1]) <= int(ports[2]) <= int(ports[3])


def _holds(wide: str, peer: str) -> bool:
    if wide == peer:
        return True
    try:
        return ip_network(peer, strict=False).subnet_of(ip_network(wide, strict=False))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # groups, or an IPv4 and an IPv6 range
        return False


def _said(way: Way) -> str:
    return f"{_group(way.group)}: {way}"


def _peer(way: Way) -> str:
    return f"everybody ({way.peer})" if way.peer in EVERYBODY else _group(way.peer)


def _group(name: str) -> str:
    return readable(name).replace(".GroupId>", ">")
