"""Who reaches which port, as the templates' security groups say: of everybody, and of a VPN user."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from settings.environment import Environment
from stacks.gate import plain_text

Templates = Mapping[str, Mapping[str, Any]]
# What stacks/network.py calls the group that the bastion wears.
BASTION = "VpnAccess"
# RFC 5737: nobody has an address of these.
FOR_DOCUMENTATION = tuple(IPv4Network(text) for text in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))


@dataclass(frozen=True, kw_only=True)
class WayIn:
    """One rule of a security group: `port` is protocol and ports, `source` addresses or a group's name."""

    stack: str
    group: str
    port: str
    source: str

    def __str__(self) -> str:
        return f"| {self.stack} | {self.group} | {self.port} | {self.source} |"


def ways_in(templates: Templates) -> Iterator[WayIn]:
    """Yield what every rule of every security group lets in."""
    for stack, template in templates.items():
        for logical_id, resource in template["Resources"].items():
            properties = resource.get("Properties", {})
            if resource["Type"] == "AWS::EC2::SecurityGroup":
                for rule in properties.get("SecurityGroupIngress", []):
                    yield _way_in(stack, logical_id, rule)
            elif resource["Type"] == "AWS::EC2::SecurityGroupIngress":
                yield _way_in(stack, _name(properties.get("GroupId")), properties)


def vpn_users(environment: Environment, templates: Templates) -> Iterator[str]:
    """Write what a reviewer reads of the VPN: who its users are, from where, and what they reach."""
    names = ", ".join(environment.vpn.users) or "nobody"
    yield f"Users: {names}. They come from {', '.join(map(_network, environment.vpn.client_cidrs))}."
    yield ""
    yield "| stack | security group | port | which lets in |"
    yield "|---|---|---|---|"
    # Their traffic has the bastion's address and group: what lets in either lets them in.
    vpc = IPv4Network(environment.network.cidr)
    yield from sorted({str(way) for way in ways_in(templates) if BASTION in way.source or _holds(way.source, vpc)})


def _way_in(stack: str, group: str, rule: Mapping[str, Any]) -> WayIn:
    first, last = rule.get("FromPort"), rule.get("ToPort")
    ports = "all" if first is None else str(first) if first == last else f"{first}-{last}"
    source = rule.get("CidrIp") or rule.get("CidrIpv6") or _name(rule.get("SourceSecurityGroupId"))
    return WayIn(stack=stack, group=group, port=f"{rule['IpProtocol']} {ports}", source=str(source))


def _name(value: Any) -> str:
    """Name what a property refers to."""
    match value:
        case {"Fn::GetAtt": [resource, *_]}:
            return str(resource)
        case {"Fn::ImportValue": name}:
            return plain_text(name).rpartition(":")[2].removeprefix("ExportsOutputFnGetAtt")
        case {"Ref": name}:
            return str(name)
    return plain_text(value)


def _holds(source: str, network: IPv4Network) -> bool:
    """Tell whether a rule's source is a range with addresses of the network."""
    try:
        return IPv4Network(source).overlaps(network)
    except ValueError:
        return False


def _network(cidr: str) -> str:
    placeholder = any(IPv4Network(cidr).subnet_of(network) for network in FOR_DOCUMENTATION)
    return f"{cidr} (for documentation: nobody has it, name your own)" if placeholder else cidr
