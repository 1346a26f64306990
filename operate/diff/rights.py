"""Who may do more or less than before: the statements of both sides, split into single rights, and subtracted."""

import json
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from operate.diff.normal_form import Template, as_text, readable
from stacks.gate.rights import Grant, principals, together
from stacks.gate.template import as_list, documents

_HOLDERS = ("Groups", "Roles", "Users")
ALL_BUT = "everything but "


def rights(stack: str, before: Template, after: Template) -> tuple[list[str], list[str]]:
    """Return what widens rights and what narrows them, a line per principal and resource."""
    allowed, denied = _changed((before, after), "Allow"), _changed((before, after), "Deny")
    wider = [*_lines(allowed[0], "may now"), *_lines(denied[1], "is no longer denied")]
    narrower = [*_lines(allowed[1], "may no longer"), *_lines(denied[0], "is now denied")]
    return [f"{stack}: {line}" for line in wider], [f"{stack}: {line}" for line in narrower]


def _changed(sides: tuple[Template, Template], effect: str) -> tuple[set[Grant], set[Grant]]:
    """Return added and removed rights, without those that a wider pattern on the other side covers."""
    was, is_ = (set(_grants(side, effect)) for side in sides)
    return _uncovered(is_ - was, was), _uncovered(was - is_, is_)


def _grants(template: Template, effect: str) -> Iterator[Grant]:
    for name, resource in template["Resources"].items():
        for key, document in documents(resource.get("Properties", {})):
            for statement in as_list(document["Statement"]):
                if statement.get("Effect", "Allow") == effect:
                    yield from _single(_who(name, resource, key, statement), f"<{name}>", statement)


def _who(name: str, resource: Mapping[str, Any], key: str, statement: Mapping[str, Any]) -> list[str]:
    """Return who has a statement's rights: whom it names, or who has the policy."""
    properties = resource.get("Properties", {})
    if "NotPrincipal" in statement:
        return [f"{ALL_BUT}{', '.join(principals({'Principal': statement['NotPrincipal']}))}"]
    if "Principal" in statement or key == "AssumeRolePolicyDocument":
        return principals(statement)
    if resource["Type"] == "AWS::IAM::Role":
        return [f"<{name}>"]
    return [as_text(each) for kind in _HOLDERS for each in properties.get(kind) or []] or [f"any holder of <{name}>"]


def _single(who: Iterable[str], own: str, statement: Mapping[str, Any]) -> Iterator[Grant]:
    condition = json.dumps(statement["Condition"], sort_keys=True) if statement.get("Condition") else ""
    # A resource's own policy is about that resource, whatever its pattern.
    named = "Principal" in statement or "NotPrincipal" in statement
    for principal in who:
        for action in _targets(statement, "Action"):
            for resource in _targets(statement, "Resource"):
                yield Grant(principal, action, own if named and resource in ("", "*") else resource, condition)


def _targets(statement: Mapping[str, Any], key: str) -> list[str]:
    if f"Not{key}" in statement:
        return [f"{ALL_BUT}{', '.join(as_text(each) for each in as_list(statement[f'Not{key}']))}"]
    return [as_text(each) for each in as_list(statement.get(key, ""))]


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
