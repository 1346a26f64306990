"""Who reaches whom on which port, and what gets out: the templates' security groups, and their drawing.

The drawing is in Graphviz's language, as SVG from Graphviz in WebAssembly, and in Mermaid's.
"""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from pathlib import Path
from typing import Any

from operate.errors import OperateError
from operate.review.material import Material, port_of, references, unique
from settings.addresses import is_private, is_within
from stacks.gate.template import Subject, plain_text
from stacks.node import NODE

GROUP = "AWS::EC2::SecurityGroup"
IN, OUT = "AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"
INTERNET = "the internet"
EVERYTHING = "everything"
# Construct id of the bastion's group in stacks/network.py.
BASTION = "VpnAccess"
# RFC 5737: these addresses are unassigned.
FOR_DOCUMENTATION = tuple(IPv4Network(text) for text in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))
# CDK's rule for "nothing": a security group without any rule would allow all egress.
_NOTHING = "255.255.255.255/32"
_EVERYONE = frozenset({"0.0.0.0/0", "::/0"})
ROOT = Path(__file__).resolve().parents[2]
GRAPHVIZ = ROOT / "node_modules" / "@viz-js" / "viz" / "dist" / "viz.cjs"
# Above this many, a group's members are shown as a number: the table below the drawing lists them all.
MEMBERS = 3
_SCRIPT = """
const text = require("node:fs").readFileSync(0, "utf8");
require(process.argv[1]).instance().then((viz) => process.stdout.write(viz.renderString(text, {format: "svg"})));
"""
_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Way:
    """Source, target and ports, as the rules' descriptions explain; groups by name, addresses as ranges.

    `public`: one of its ends isn't private.
    """

    source: str
    target: str
    ports: tuple[str, ...]
    why: tuple[str, ...]
    public: bool


@dataclass(frozen=True, kw_only=True)
class Group:
    """A security group: its name, and what uses it."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Network:
    """Every rule in and out, and who is involved."""

    groups: tuple[Group, ...]
    ways_in: tuple[Way, ...]
    ways_out: tuple[Way, ...]

    @property
    def open_to_internet(self) -> tuple[Way, ...]:
        return tuple(way for way in self.ways_in if way.public)

    @property
    def out_to_internet(self) -> tuple[Way, ...]:
        return tuple(way for way in self.ways_out if way.public)


@dataclass(frozen=True, kw_only=True)
class VpnUsers:
    """The VPN's users: who they are, where they come from, what admits them, and where the bastion's traffic goes."""

    users: tuple[str, ...]
    come_from: tuple[str, ...]
    reach: tuple[Way, ...]
    out: tuple[Way, ...]


def network(material: Material) -> Network:
    reader = _Reader(material)
    into, out = _merged(reader.ways(IN)), _merged(reader.ways(OUT))
    matched = {(way.source, way.target) for way in into}
    return Network(
        groups=tuple(reader.groups()),
        ways_in=into,
        ways_out=tuple(way for way in out if (way.source, way.target) not in matched),
    )


def vpn_users(material: Material, found: Network) -> VpnUsers:
    """Read what the VPN's users can reach: their traffic has the bastion's address and group."""
    reader = _Reader(material)
    own = {reader.group(subject) for subject in material.app.resources(GROUP) if subject.id.startswith(BASTION)}
    vpc = IPv4Network(material.environment.network.cidr)
    settings = material.environment.vpn
    return VpnUsers(
        users=tuple(settings.users),
        come_from=tuple(_documented(cidr) for cidr in settings.client_cidrs),
        reach=tuple(way for way in found.ways_in if way.source in own or _holds(way.source, vpc)),
        out=tuple(way for way in found.ways_out if way.source in own),
    )


class _Reader:
    def __init__(self, material: Material) -> None:
        self._material = material
        self._vpc = ip_network(material.environment.network.cidr)

    def groups(self) -> Iterator[Group]:
        members: dict[tuple[str, str], list[str]] = {}
        for subject in self._material.app.subjects:
            if subject.type in (GROUP, IN, OUT):
                continue
            for place in {subject.target(value) for value in references(subject.properties)} - {None}:
                if place and self._material.subject(place).type == GROUP:
                    members.setdefault(place, []).append(self._material.name(subject.stack, subject.id))
        for subject in self._material.app.resources(GROUP):
            worn_by = unique(sorted(members.get((subject.stack, subject.id), [])))
            yield Group(name=self.group(subject), members=worn_by)

    def group(self, subject: Subject) -> str:
        """Name a group; two may have one description."""
        title = self._material.title(subject)
        same = [each for each in self._material.app.resources(GROUP) if self._material.title(each) == title]
        return title if len(same) == 1 else f"{title} ({self._material.name(subject.stack, subject.id)})"

    def ways(self, kind: str) -> Iterator[Way]:
        key = "SecurityGroupIngress" if kind == IN else "SecurityGroupEgress"
        of_their_own = {subject.target(subject.get("GroupId")) for subject in self._material.app.resources(kind)}
        for subject in self._material.app.resources(GROUP):
            rules = subject.get(key)
            for rule in rules or []:
                yield from self._way(kind, subject, self.group(subject), rule)
            if kind == OUT and not rules and (subject.stack, subject.id) not in of_their_own:
                yield from self._way(kind, subject, self.group(subject), {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"})
        for subject in self._material.app.resources(kind):
            yield from self._way(kind, subject, self._peer(subject, subject.get("GroupId")), subject.properties)

    def _way(self, kind: str, subject: Subject, group: str, rule: Mapping[str, Any]) -> Iterator[Way]:
        other = "Source" if kind == IN else "Destination"
        addresses = rule.get("CidrIp") or rule.get("CidrIpv6")
        if addresses == _NOTHING:
            return
        lists = rule.get(f"{other}PrefixListId")
        peer = addresses or lists or rule.get(f"{other}SecurityGroupId") or rule.get(f"{other}SecurityGroupName")
        name = self._range(plain_text(peer)) if addresses else self._peer(subject, peer)
        source, target = (name, group) if kind == IN else (group, name)
        why = str(rule.get("Description", ""))
        yield Way(
            source=source,
            target=target,
            ports=(_ports(subject, rule),),
            why=(why,) if why and "{IndirectPort}" not in why else (),
            public=bool(lists) or self._is_public(peer),
        )

    def _peer(self, subject: Subject, value: Any) -> str:
        place = subject.target(value)
        if place is None:
            return self._material.readable(subject.stack, plain_text(value))
        found = self._material.subject(place)
        return self.group(found) if found.type == GROUP else self._material.name(*place)

    def _range(self, cidr: str) -> str:
        if cidr in _EVERYONE:
            return INTERNET
        return f"the VPC ({cidr})" if cidr == str(self._vpc) else cidr

    def _is_public(self, peer: Any) -> bool:
        if not isinstance(peer, str):
            return False
        try:
            found = ip_network(peer, strict=False)
        except ValueError:
            return False
        return not is_private(found) and not is_within(found, self._vpc)


def _ports(subject: Subject, rule: Mapping[str, Any]) -> str:
    protocol = str(rule["IpProtocol"])
    if protocol == "-1":
        return EVERYTHING
    first, last = (port_of(subject, rule.get(key, -1)) for key in ("FromPort", "ToPort"))
    if (first, last) in (("0", "65535"), ("-1", "-1")):
        return f"{protocol.upper()}, all"
    return f"{protocol.upper()} {first if first == last else f'{first}-{last}'}"


def _merged(ways: Iterable[Way]) -> tuple[Way, ...]:
    found: dict[tuple[str, str], list[Way]] = {}
    for way in ways:
        found.setdefault((way.source, way.target), []).append(way)
    merged = [
        Way(
            source=source,
            target=target,
            ports=unique(sorted(port for way in same for port in way.ports)),
            why=unique(text for way in same for text in way.why),
            public=any(way.public for way in same),
        )
        for (source, target), same in found.items()
    ]
    return tuple(sorted(merged, key=lambda way: (not way.public, way.source, way.target)))


def _holds(source: str, vpc: IPv4Network) -> bool:
    if source == INTERNET:
        return True
    try:
        return IPv4Network(source.removeprefix("the VPC (").removesuffix(")")).overlaps(vpc)
    except ValueError:
        return False


def _documented(cidr: str) -> str:
    placeholder = any(IPv4Network(cidr).subnet_of(network) for network in FOR_DOCUMENTATION)
    return f"{cidr} (for documentation: nobody has it, name your own)" if placeholder else cidr


def graphviz(network: Network) -> str:
    """Write the drawing in Graphviz's language; the page sets the colors, by class."""
    lines = [
        'digraph "who reaches whom" {',
        'rankdir=LR; bgcolor=transparent; nodesep=0.25; ranksep=1.1; node [shape=box style=rounded fontname="Arial" '
        'fontsize=12 margin="0.28,0.08"]; edge [fontname="Arial" fontsize=11 arrowsize=0.7];',
    ]
    ids = _ids(network)
    for name, id_ in ids.items():
        lines.append(f'{id_} [label={_quoted(chr(10).join(_label(network, name)))} class="{_kind(network, name)}"];')
    for way, style in _drawn(network):
        ends, dashes = f"{ids[way.source]} -> {ids[way.target]}", " style=dashed" if style == "out" else ""
        lines.append(f'{ends} [label={_quoted(chr(10).join(way.ports))} class="{style}"{dashes}];')
    return "\n".join([*lines, "}"])


def svg(network: Network) -> str:
    """Draw it, without a size of its own or anything that a page would fetch. Raises OperateError without Graphviz."""
    if not GRAPHVIZ.is_file():
        raise OperateError("Graphviz isn't installed: `./lake aws review` and its like install it (node_modules)")
    argv = [str(NODE), "-e", _SCRIPT, str(GRAPHVIZ)]
    done = subprocess.run(argv, input=graphviz(network), capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode:
        raise OperateError(f"Graphviz has failed: {done.stderr.strip().rpartition(chr(10))[2]}")
    drawn = done.stdout[done.stdout.index("<svg") :]
    drawn = re.sub(r"<!--.*?-->\s*|<title>.*?</title>\s*", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r' xmlns(:xlink)?="[^"]*"| xml:space="[^"]*"', "", drawn)
    return drawn.replace("<svg ", '<svg role="img" aria-labelledby="drawing-caption" ', 1).strip()


def mermaid(network: Network) -> str:
    """Write the drawing in Mermaid's language, which GitHub and GitLab draw in Markdown."""
    lines = ["flowchart LR"]
    ids = _ids(network)
    for name, id_ in ids.items():
        lines.append(f'  {id_}["{_plain("<br>".join(_label(network, name)))}"]')
    for way, style in _drawn(network):
        arrow = "-.->" if style == "out" else "==>" if style == "open" else "-->"
        lines.append(f'  {ids[way.source]} {arrow}|"{_plain("<br>".join(way.ports))}"| {ids[way.target]}')
    return "\n".join(lines)


def _drawn(network: Network) -> Iterator[tuple[Way, str]]:
    for way in network.ways_in:
        yield way, "open" if way.public else "way"
    for way in network.ways_out:
        yield way, "out"


def _ids(network: Network) -> dict[str, str]:
    names: Iterable[str] = (name for way, _ in _drawn(network) for name in (way.source, way.target))
    return {name: f"n{number}" for number, name in enumerate(dict.fromkeys(names))}


def _kind(network: Network, name: str) -> str:
    return "group" if any(group.name == name for group in network.groups) else "outside"


def _label(network: Network, name: str) -> list[str]:
    members = next((group.members for group in network.groups if group.name == name), ())
    shown = [f"· {member}" for member in members[:MEMBERS]]
    more = [f"· and {len(members) - MEMBERS} more"] if len(members) > MEMBERS else []
    return [name, *shown, *more]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _plain(text: str) -> str:
    """Remove characters that would end a Mermaid label."""
    return text.replace('"', "'").replace("{", "(").replace("}", ")")
