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
from typing import Any, Literal, NamedTuple

from operate.errors import OperateError
from operate.review.material import Material, references
from operate.review.rows import Drawing, Section, Table, count, grouped, unique
from settings.addresses import is_private, is_within
from stacks.gate.template import Subject, plain_text
from stacks.node import NODE

GROUP = "AWS::EC2::SecurityGroup"
INTERNET = "the internet"
EVERYTHING = "everything"
# Construct id of the bastion's group in stacks/network.py.
BASTION = "VpnAccess"
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
Kind = Literal["Ingress", "Egress"]


class Way(NamedTuple):
    """Source, target and ports, as the rules' descriptions explain; groups by name, addresses as ranges.

    `public`: one of its ends isn't private.
    """

    source: str
    target: str
    ports: tuple[str, ...]
    why: tuple[str, ...]
    public: bool


@dataclass(frozen=True, kw_only=True)
class Network:
    """Every rule in, the rules out that none of them answers, and each group with what wears it."""

    groups: Mapping[str, tuple[str, ...]]
    ways_in: tuple[Way, ...]
    ways_out: tuple[Way, ...]


def network(material: Material) -> Network:
    into, out = (_merged(_ways(material, kind)) for kind in ("Ingress", "Egress"))
    answered = {way[:2] for way in into}
    return Network(
        groups=dict(_groups(material)), ways_in=into, ways_out=tuple(way for way in out if way[:2] not in answered)
    )


def _groups(material: Material) -> Iterator[tuple[str, tuple[str, ...]]]:
    worn = grouped(
        (place, material.name(subject))
        for subject in material.app.subjects
        if not subject.type.startswith(GROUP)
        for place in {subject.target(value) for value in references(subject.properties)}
    )
    for subject in material.app.resources(GROUP):
        yield _group(material, subject), unique(sorted(worn.get((subject.stack, subject.id), [])))


def _group(material: Material, subject: Subject) -> str:
    """Name a group; two may have one description."""
    title = material.title(subject)
    same = [each for each in material.app.resources(GROUP) if material.title(each) == title]
    return title if len(same) == 1 else f"{title} ({material.name(subject)})"


def _ways(material: Material, kind: Kind) -> Iterator[Way]:
    apart = list(material.app.resources(f"{GROUP}{kind}"))
    judged = {each.target(each.get("GroupId")) for each in apart}
    for subject in material.app.resources(GROUP):
        rules = subject.get(f"SecurityGroup{kind}") or []
        if kind == "Egress" and not rules and (subject.stack, subject.id) not in judged:
            rules = [{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}]
        for rule in rules:
            yield from _way(material, kind, subject, _group(material, subject), rule)
    for subject in apart:
        group, _ = _peer(material, subject, subject.get("GroupId"))
        yield from _way(material, kind, subject, group, subject.properties)


def _way(material: Material, kind: Kind, subject: Subject, group: str, rule: Mapping[str, Any]) -> Iterator[Way]:
    other = "Source" if kind == "Ingress" else "Destination"
    keys = ("CidrIp", "CidrIpv6", f"{other}PrefixListId", f"{other}SecurityGroupId", f"{other}SecurityGroupName")
    value = next((rule[key] for key in keys if rule.get(key)), None)
    if value == _NOTHING:
        return
    peer, public = _peer(material, subject, value)
    why = str(rule.get("Description", ""))
    said = (why,) if why and "{IndirectPort}" not in why else ()
    ends = (peer, group) if kind == "Ingress" else (group, peer)
    # Nobody sees what is in a prefix list, or who comes by a rule without a source.
    yield Way(*ends, (_ports(subject, rule),), said, public or value == rule.get(f"{other}PrefixListId"))


def _peer(material: Material, subject: Subject, value: Any) -> tuple[str, bool]:
    """Return the name of a rule's other end, and whether it is a range that isn't private."""
    if found := subject.referred(value):
        return (_group(material, found) if found.type == GROUP else material.name(found)), False
    text, vpc = plain_text(value), ip_network(material.environment.network.cidr)
    try:
        cidr = ip_network(text, strict=False)
    except ValueError:
        return material.readable(subject.stack, text), False
    name = f"the VPC ({cidr})" if cidr == vpc else INTERNET if text in _EVERYONE else text
    return name, not is_private(cidr) and not is_within(cidr, vpc)


def _ports(subject: Subject, rule: Mapping[str, Any]) -> str:
    protocol = str(rule["IpProtocol"])
    if protocol == "-1":
        return EVERYTHING
    first, last = (_port(subject, rule.get(key, -1)) for key in ("FromPort", "ToPort"))
    if (first, last) in (("0", "65535"), ("-1", "-1")):
        return f"{protocol.upper()}, all"
    return f"{protocol.upper()} {first if first == last else f'{first}-{last}'}"


def _port(subject: Subject, value: Any) -> str:
    """Read a port that may be another resource's attribute, such as a database's."""
    found = subject.referred(value)
    return str(value) if found is None else str(found.get("Port") or "its own")


def _merged(ways: Iterable[Way]) -> tuple[Way, ...]:
    found = grouped((way[:2], way) for way in ways)
    merged = [
        Way(
            *ends,
            ports=unique(sorted(port for way in same for port in way.ports)),
            why=unique(text for way in same for text in way.why),
            public=any(way.public for way in same),
        )
        for ends, same in found.items()
    ]
    return tuple(sorted(merged, key=lambda way: (not way.public, way.source, way.target)))


def section(material: Material, found: Network) -> Section:
    """Draw it, say who the VPN's users are, and list what they reach: their traffic has the bastion's group."""
    bastion = {_group(material, each) for each in material.app.resources(GROUP) if each.id.startswith(BASTION)}
    vpc, vpn = IPv4Network(material.environment.network.cidr), material.environment.vpn
    users, homes = (", ".join(texts) or "nobody" for texts in (vpn.users, map(_documented, vpn.client_cidrs)))
    drawn = graphviz(found), mermaid(found)
    ways = [
        (*way[:4], "yes" if way.public else "no", "yes" if way.source in bastion or _holds(way.source, vpc) else "no")
        for way in (*found.ways_in, *found.ways_out)
    ]
    groups = [(name, members or "nothing by itself") for name, members in found.groups.items()]
    return Section(
        title="Who reaches whom",
        shown=(
            Drawing("Thick and marked: from outside of private networks. Dashed: what gets out.", *drawn),
            f"VPN users: {users}. They come from {homes}. The VPN gives an address, no login: databases and brokers "
            "ask for their own.",
        ),
        fold=f"{count(len(found.ways_in), 'way')} in, {len(found.ways_out)} out, which of them VPN users have, and "
        f"what wears the {len(groups)} security groups",
        folded=(
            Table(
                "Ways in, then ways out that none of these answers",
                ("From", "To", "Ports", "What for", "Outside of private networks", "VPN users have it"),
                ways,
            ),
            Table("Security groups", ("Group", "Worn by"), groups),
        ),
    )


def _holds(source: str, vpc: IPv4Network) -> bool:
    if source == INTERNET:
        return True
    try:
        return IPv4Network(source.removeprefix("the VPC (").removesuffix(")")).overlaps(vpc)
    except ValueError:
        return False


def _documented(cidr: str) -> str:
    # RFC 5737: Python counts as private what is reserved, too.
    nobodys = ip_network(cidr).is_private and not is_private(ip_network(cidr))
    return f"{cidr} (for documentation: nobody has it, name your own)" if nobodys else cidr


def graphviz(network: Network) -> str:
    """Write the drawing in Graphviz's language; the page sets the colors, by class."""
    lines = [
        'digraph "who reaches whom" {',
        'rankdir=LR; bgcolor=transparent; nodesep=0.25; ranksep=1.1; node [shape=box style=rounded fontname="Arial" '
        'fontsize=12 margin="0.28,0.08"]; edge [fontname="Arial" fontsize=11 arrowsize=0.7];',
    ]
    ids = _ids(network)
    for name, id_ in ids.items():
        kind = "group" if name in network.groups else "outside"
        lines.append(f'{id_} [label={_quoted(_label(network, name))} class="{kind}"];')
    for way, style in _drawn(network):
        ends, dashes = f"{ids[way.source]} -> {ids[way.target]}", " style=dashed" if style == "out" else ""
        lines.append(f'{ends} [label={_quoted(way.ports)} class="{style}"{dashes}];')
    return "\n".join([*lines, "}"])


def svg(dot: str) -> str:
    """Draw it, without a size of its own or anything that a page would fetch. Raises OperateError without Graphviz."""
    if not GRAPHVIZ.is_file():
        raise OperateError("Graphviz isn't installed: `./lake aws review` and its like install it (node_modules)")
    argv = [str(NODE), "-e", _SCRIPT, str(GRAPHVIZ)]
    done = subprocess.run(argv, input=dot, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode:
        raise OperateError(f"Graphviz has failed: {done.stderr.strip().rpartition(chr(10))[2]}")
    drawn = done.stdout[done.stdout.index("<svg") :]
    drawn = re.sub(r"<!--.*?-->\s*|<title>.*?</title>\s*", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r' xmlns(:xlink)?="[^"]*"| xml:space="[^"]*"', "", drawn)
    return drawn.replace("<svg ", '<svg role="img" aria-labelledby="drawing-caption" ', 1).strip()


def mermaid(network: Network) -> str:
    """Write the drawing in Mermaid's language, which GitHub and GitLab draw in Markdown."""
    ids = _ids(network)
    lines = [f'  {id_}["{_plain(_label(network, name))}"]' for name, id_ in ids.items()]
    for way, style in _drawn(network):
        arrow = {"out": "-.->", "open": "==>"}.get(style, "-->")
        lines.append(f'  {ids[way.source]} {arrow}|"{_plain(way.ports)}"| {ids[way.target]}')
    return "\n".join(["flowchart LR", *lines])


def _drawn(network: Network) -> Iterator[tuple[Way, str]]:
    yield from ((way, "open" if way.public else "way") for way in network.ways_in)
    yield from ((way, "out") for way in network.ways_out)


def _ids(network: Network) -> dict[str, str]:
    names = unique(name for way, _ in _drawn(network) for name in way[:2])
    return {name: f"n{number}" for number, name in enumerate(names)}


def _label(network: Network, name: str) -> list[str]:
    members = network.groups.get(name, ())
    more = [f"· and {len(members) - MEMBERS} more"] if len(members) > MEMBERS else []
    return [name, *(f"· {member}" for member in members[:MEMBERS]), *more]


def _quoted(lines: Iterable[str]) -> str:
    return json.dumps("\n".join(lines), ensure_ascii=False)


def _plain(lines: Iterable[str]) -> str:
    """Remove characters that would end a Mermaid label."""
    return "<br>".join(lines).replace('"', "'").replace("{", "(").replace("}", ")")
