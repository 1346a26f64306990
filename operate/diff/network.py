"""Who reaches more or less: the rules of security groups, in the groups and as resources of their own."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any, NamedTuple

from operate.diff.normal_form import Template, as_text, readable
from stacks.gate.template import as_list

EVERYBODY = frozenset({"0.0.0.0/0", "::/0"})
# CDK's rule for a group without egress.
NOBODY = "255.255.255.255/32"
_GROUP = "AWS::EC2::SecurityGroup"
_VERBS = {"Ingress": "in from", "Egress": "out to"}
_PEERS = (
    *("CidrIp", "CidrIpv6", "SourceSecurityGroupId", "DestinationSecurityGroupId"),
    *("SourcePrefixListId", "DestinationPrefixListId"),
)


class Way(NamedTuple):
    """A rule: ports from `first` to `last`, "" for all, between a group and addresses or another group."""

    group: str
    verb: str
    protocol: str
    first: str
    last: str
    peer: str

    def words(self, no_longer: str = "") -> str:
        ports = self.first if self.first == self.last else f"{self.first}-{self.last}"
        what = "all protocols" if self.protocol == "-1" else f"{self.protocol} {readable(ports) or 'all ports'}"
        peer = f"everybody ({self.peer})" if self.peer in EVERYBODY else _name(self.peer)
        return f"{_name(self.group)}: {what} {no_longer}{self.verb} {peer}"


def network(stack: str, before: Template, after: Template) -> tuple[list[str], list[str]]:
    """Return the rules that open access and those that close it, a line for each."""
    was, is_ = (set(_ways(side)) for side in (before, after))
    return (
        [f"{stack}/{way.words()}" for way in _uncovered(is_ - was, was)],
        [f"{stack}/{way.words('no longer ')}" for way in _uncovered(was - is_, is_)],
    )


def _ways(template: Template) -> Iterator[Way]:
    limited = set()
    for resource in template["Resources"].values():
        for direction, verb in _VERBS.items():
            if resource["Type"] == f"{_GROUP}{direction}":
                group = as_text(resource["Properties"].get("GroupId"))
                limited |= {(group, direction)}
                yield from _way(group, verb, resource["Properties"])
    for name, resource in template["Resources"].items():
        for direction, verb in _VERBS.items() if resource["Type"] == _GROUP else ():
            group = f"<{name}.GroupId>"
            # AWS lets a group out to everybody until it has a rule.
            opened = direction == "Egress" and (group, direction) not in limited
            default = [{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}] if opened else []
            for rule in as_list(resource.get("Properties", {}).get(f"SecurityGroup{direction}", default)):
                yield from _way(group, verb, rule)


def _way(group: str, verb: str, rule: Mapping[str, Any]) -> Iterator[Way]:
    first, last = (_port(rule.get(key, "")) for key in ("FromPort", "ToPort"))
    for peer in [as_text(rule[key]) for key in _PEERS if key in rule] or ["?"]:
        if peer != NOBODY:
            yield Way(group, verb, str(rule.get("IpProtocol")), first, last or first, peer)


def _port(value: Any) -> str:
    """Write a port, which may be a reference to a database's; -1 means all."""
    text = as_text(value) if isinstance(value, dict) else str(value)
    return "" if text == "-1" else text


def _uncovered(ways: set[Way], others: set[Way]) -> list[Way]:
    return sorted(way for way in ways if not any(other != way and _holds_way(other, way) for other in others))


def _holds_way(wide: Way, way: Way) -> bool:
    same = wide[:2] == way[:2] and wide.protocol in ("-1", way.protocol)
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


def _name(name: str) -> str:
    return readable(name).replace(".GroupId>", ">")
