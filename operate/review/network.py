"""Who reaches whom on which port, and what gets out: the templates' security groups, and their drawing.

The drawing is in Graphviz's language, as SVG from Graphviz in WebAssembly, and in Mermaid's.
"""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import NamedTuple

from operate.errors import OperateError
from operate.review.material import Material
from operate.review.rows import Drawing, Section, Table, count, grouped
from settings.addresses import is_private, is_within
from stacks.gate.network import EVERYBODY, GROUP, Rule, rules, users
from stacks.gate.template import Place, Subject
from stacks.node import NODE

INTERNET = "the internet"
# Construct id of the bastion's group in stacks/network.py.
BASTION = "VpnAccess"
ROOT = Path(__file__).resolve().parents[2]
GRAPHVIZ = ROOT / "node_modules" / "@viz-js" / "viz" / "dist" / "viz.cjs"
# Above this many, a group's members are shown as a number: the table below the drawing lists them all.
MEMBERS = 3
_SCRIPT = """
const text = require("node:fs").readFileSync(0, "utf8");
require(process.argv[1]).instance().then((viz) => process.stdout.write(viz.renderString(text, {format: "svg"})));
"""
_SECONDS = 60
_GRAPH = """digraph "who reaches whom" {
rankdir=LR; bgcolor=transparent; nodesep=0.25; ranksep=1.1;
node [shape=box style=rounded fontname="Arial" fontsize=12 margin="0.28,0.08"];
edge [fontname="Arial" fontsize=11 arrowsize=0.7];"""
CAPTION = "Thick and marked: from outside of private networks. Dashed: what gets out."
_ARROWS = {"open": "==>", "way": "-->", "out": "-.->"}


class Way(NamedTuple):
    """Source, target and ports, as the rules' descriptions explain; groups by name, addresses as ranges.

    `public`: one of its ends isn't private. `vpn`: users of the VPN have it.
    """

    source: str
    target: str
    ports: tuple[str, ...]
    why: tuple[str, ...]
    public: bool
    vpn: bool


@dataclass(frozen=True, kw_only=True)
class Network:
    """Every rule in, the rules out that none of them answers, and each group with what wears it."""

    groups: Mapping[str, tuple[str, ...]]
    ways_in: tuple[Way, ...]
    ways_out: tuple[Way, ...]


def network(material: Material) -> Network:
    into, out = _ways(material, out=False), _ways(material, out=True)
    answered = {way[:2] for way in into}
    groups = {}
    for each in material.app.resources(GROUP):
        worn = [user for user in users(each) if not user.type.startswith(GROUP)]
        groups[_group(material, each)] = tuple(sorted({material.name(user) for user in worn}))
    return Network(groups=groups, ways_in=into, ways_out=tuple(way for way in out if way[:2] not in answered))


def _ways(material: Material, *, out: bool) -> tuple[Way, ...]:
    """Collect the rules of one direction by their ends, those from or to outside of private networks first."""
    vpc = IPv4Network(material.environment.network.cidr)
    # The VPN's users have its group, and addresses of the VPC.
    vpn = {each.place for each in material.app.resources(GROUP) if each.id.startswith(BASTION)}
    found = grouped((_ends(material, rule), rule) for rule in rules(material.app) if rule.out == out)
    ways = [
        Way(
            *ends,
            ports=tuple(sorted({rule.ports for rule in same})),
            # CDK writes a placeholder where a port is another resource's.
            why=tuple(dict.fromkeys(rule.why for rule in same if rule.why and "{IndirectPort}" not in rule.why)),
            public=any(_is_public(rule, vpc) for rule in same),
            vpn=any(
                rule.group in vpn if out else rule.peer in vpn or (rule.range and rule.range.overlaps(vpc))
                for rule in same
            ),
        )
        for ends, same in found.items()
    ]
    return tuple(sorted(ways, key=lambda way: (not way.public, way.source, way.target)))


def _ends(material: Material, rule: Rule) -> tuple[str, str]:
    group, peer = (_end(material, rule.group[0], end) for end in (rule.group, rule.peer))
    return (group, peer) if rule.out else (peer, group)


def _end(material: Material, stack: str, end: Place | str) -> str:
    """Name one end of a rule: a group, addresses, or what the template says."""
    if isinstance(end, tuple):
        return _group(material, material.app.at(*end))
    if end == material.environment.network.cidr:
        return f"the VPC ({end})"
    return INTERNET if end in EVERYBODY else material.readable(stack, end)


def _group(material: Material, subject: Subject) -> str:
    """Name a group; two may have one description."""
    title = material.title(subject) if subject.type == GROUP else material.name(subject)
    same = [each for each in material.app.resources(GROUP) if material.title(each) == title]
    return title if len(same) <= 1 else f"{title} ({material.name(subject)})"


def _is_public(rule: Rule, vpc: IPv4Network) -> bool:
    """Whether the peer is, or may be, outside of private networks: nobody sees what is in a prefix list."""
    if isinstance(rule.peer, tuple) or rule.peer.startswith("sg-"):
        return False
    return rule.range is None or not (is_private(rule.range) or is_within(rule.range, vpc))


def section(material: Material, found: Network) -> Section:
    """Draw it, say who the VPN's users are, and list what they reach."""
    vpn = material.environment.vpn
    people, homes = (", ".join(texts) or "nobody" for texts in (vpn.users, vpn.client_cidrs))
    ways = [(*way[:4], *("yes" if each else "no" for each in way[4:])) for way in (*found.ways_in, *found.ways_out)]
    groups = [(name, members or "nothing by itself") for name, members in found.groups.items()]
    return Section(
        title="Who reaches whom",
        shown=(
            Drawing(CAPTION, graphviz(found), mermaid(found)),
            f"VPN users: {people}. They come from {homes}. The VPN gives an address, no login: databases and brokers "
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


def _drawn(network: Network) -> tuple[list[tuple[str, list[str], str]], list[tuple[str, str, tuple[str, ...], str]]]:
    """Return what is drawn, with an id, lines and its kind; and the arrows: their ends' ids, lines and style."""
    ways = [(way, "open" if way.public else "way") for way in network.ways_in]
    ways += [(way, "out") for way in network.ways_out]
    ids = {name: f"n{number}" for number, name in enumerate(dict.fromkeys(name for way, _ in ways for name in way[:2]))}
    boxes = []
    for name, id_ in ids.items():
        members = network.groups.get(name, ())
        more = [f"· and {len(members) - MEMBERS} more"] if len(members) > MEMBERS else []
        lines = [name, *(f"· {member}" for member in members[:MEMBERS]), *more]
        boxes.append((id_, lines, "group" if name in network.groups else "outside"))
    return boxes, [(ids[way.source], ids[way.target], way.ports, style) for way, style in ways]


def graphviz(network: Network) -> str:
    """Write the drawing in Graphviz's language; the page sets the colors, by class."""
    boxes, arrows = _drawn(network)
    lines = [f'{id_} [label={_quoted(label)} class="{kind}"];' for id_, label, kind in boxes]
    for source, target, label, style in arrows:
        dashes = " style=dashed" if style == "out" else ""
        lines.append(f'{source} -> {target} [label={_quoted(label)} class="{style}"{dashes}];')
    return "\n".join([_GRAPH, *lines, "}"])


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
    boxes, arrows = _drawn(network)
    lines = [f'  {id_}["{_plain(label)}"]' for id_, label, _ in boxes]
    lines += [f'  {source} {_ARROWS[style]}|"{_plain(label)}"| {target}' for source, target, label, style in arrows]
    return "\n".join(["flowchart LR", *lines])


def _quoted(lines: Iterable[str]) -> str:
    return json.dumps("\n".join(lines), ensure_ascii=False)


def _plain(lines: Iterable[str]) -> str:
    """Remove characters that would end a Mermaid label."""
    return "<br>".join(lines).replace('"', "'").replace("{", "(").replace("}", ")")
