"""The drawing of who reaches whom: in Graphviz's language, as SVG from Graphviz in WebAssembly, and in Mermaid's."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from operate.errors import OperateError
from operate.review.network import Network, Way
from stacks.node import NODE

ROOT = Path(__file__).resolve().parents[2]
GRAPHVIZ = ROOT / "node_modules" / "@viz-js" / "viz" / "dist" / "viz.cjs"
# Above this many, a group's members are shown as a number: the table below the drawing lists them all.
MEMBERS = 3
_SCRIPT = """
const text = require("node:fs").readFileSync(0, "utf8");
require(process.argv[1]).instance().then((viz) => process.stdout.write(viz.renderString(text, {format: "svg"})));
"""
_SECONDS = 60


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
        ends = f"{ids[way.source]} -> {ids[way.target]}"
        lines.append(f'{ends} [label={_quoted(chr(10).join(way.ports))} class="{style}"{_dashes(style)}];')
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


def _dashes(style: str) -> str:
    return " style=dashed" if style == "out" else ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _plain(text: str) -> str:
    """Remove characters that would end a Mermaid label."""
    return text.replace('"', "'").replace("{", "(").replace("}", ")")
