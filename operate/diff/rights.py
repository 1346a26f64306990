"""Who may do more or less than before, and who reaches more or less.

From CDK's comparison of statements, split into single rights, and of security group rules.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from ipaddress import ip_network
from typing import Any, NamedTuple

from operate.diff.normal_form import NOTHING, Template, Templates, readable
from stacks.gate.rights import Grant, together
from stacks.gate.template import as_list, written

Compared = Mapping[str, Mapping[str, Any]]
_HOLDERS = ("Groups", "Roles", "Users")
ALL_BUT = "everything but "
EVERYBODY = frozenset({"0.0.0.0/0", "::/0"})
# CDK's rule for a group without egress.
NOBODY = "255.255.255.255/32"


def rights(compared: Compared, before: Templates, after: Templates) -> tuple[list[str], list[str]]:
    """Return what widens rights and what narrows them, a line per principal and resource."""
    wider, narrower = [], []
    for stack, found in compared.items():
        statements = {
            side: [*found["statements"][side], *_of_nobody(template.get(stack, NOTHING))]
            for side, template in (("added", after), ("removed", before))
        }
        allowed, denied = _changed(statements, "Allow"), _changed(statements, "Deny")
        wider += [f"{stack}: {line}" for line in _lines(allowed[0], "may now")]
        wider += [f"{stack}: {line}" for line in _lines(denied[1], "is no longer denied")]
        wider += [f"{stack}: {_policy(each)}" for each in found["policies"]["added"]]
        narrower += [f"{stack}: {line}" for line in _lines(allowed[1], "may no longer")]
        narrower += [f"{stack}: {line}" for line in _lines(denied[0], "is now denied")]
        narrower += [f"{stack}: {_policy(each)} no longer" for each in found["policies"]["removed"]]
    return wider, narrower


def _changed(statements: Mapping[str, Iterable[Mapping[str, Any]]], effect: str) -> tuple[set[Grant], set[Grant]]:
    """Return added and removed rights, without those that a wider pattern on the other side covers."""
    added, removed = (
        {grant for each in statements[side] if each["effect"] == effect for grant in _grants(each)}
        for side in ("added", "removed")
    )
    come, go = added - removed, removed - added
    return _uncovered(come, removed), _uncovered(go, added)


def _of_nobody(template: Template) -> Iterator[Mapping[str, Any]]:
    """Statements of managed policies attached to nothing in the template: CDK's comparison omits them."""
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        if resource["Type"] != "AWS::IAM::ManagedPolicy" or any(properties.get(key) for key in _HOLDERS):
            continue
        for statement in as_list(properties["PolicyDocument"]["Statement"]):
            yield {
                "effect": statement.get("Effect", "Allow"),
                "principals": {"not": False, "values": [f"any holder of {written({'Ref': name})}"]},
                "actions": _of(statement, "Action"),
                "resources": _of(statement, "Resource"),
                "condition": statement.get("Condition"),
            }


def _of(statement: Mapping[str, Any], key: str) -> dict[str, Any]:
    inverted = f"Not{key}" in statement
    values = as_list(statement.get(f"Not{key}" if inverted else key, []))
    return {"not": inverted, "values": [written(each) for each in values]}


def _grants(statement: Mapping[str, Any]) -> Iterator[Grant]:
    condition = json.dumps(statement["condition"], sort_keys=True) if statement["condition"] else ""
    for principal in _targets(statement["principals"]):
        for action in _targets(statement["actions"]):
            for resource in _targets(statement["resources"]):
                yield Grant(principal, action, resource, condition)


def _targets(targets: Mapping[str, Any]) -> list[str]:
    values = [each if isinstance(each, str) else json.dumps(each, sort_keys=True) for each in targets["values"]]
    return [f"{ALL_BUT}{', '.join(values)}"] if targets["not"] else values or [""]


def _uncovered(grants: set[Grant], others: set[Grant]) -> set[Grant]:
    wide = [other for other in others if "*" in other.action or "*" in other.resource or not other.condition]
    return {grant for grant in grants if not any(other != grant and _covers(other, grant) for other in wide)}


def _covers(wide: Grant, grant: Grant) -> bool:
    return (
        wide.principal == grant.principal
        and wide.condition in ("", grant.condition)
        and fnmatchcase(grant.action.lower(), wide.action.lower())
        and fnmatchcase(grant.resource, wide.resource)
    )


def _lines(grants: Iterable[Grant], verb: str) -> Iterator[str]:
    alike: dict[Grant, list[str]] = {}
    for grant in together(sorted(grants)):
        alike.setdefault(grant._replace(resource=""), []).append(readable(grant.resource))
    for (who, what, _, condition), resources in sorted(alike.items()):
        name = "everybody" if who in ("", "*", "AWS:*") else readable(who.removeprefix("AWS:"))
        where = f" on {', '.join(resources)}" if any(resources) else ""
        yield f"{name} {verb} {what}{where}{f' if {readable(condition)}' if condition else ''}"


def _policy(attachment: Mapping[str, Any]) -> str:
    who, what = (readable(str(attachment[name])) for name in ("identityArn", "managedPolicyArn"))
    return f"{who} has the managed policy {what}"


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
            wider += [f"{stack}/{_said(way)} {verb} {_peer(way)}" for way in _uncovered_ways(opened, removed)]
            narrower += [
                f"{stack}/{_said(way)} no longer {verb} {_peer(way)}" for way in _uncovered_ways(closed, added)
            ]
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


def _uncovered_ways(ways: set[Way], others: set[Way]) -> list[Way]:
    return sorted(way for way in ways if not any(other != way and _holds_way(other, way) for other in others))


def _holds_way(wide: Way, way: Way) -> bool:
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
