"""Who may do more or less than before: CDK's comparison of statements, split into single rights."""

import json
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from operate.diff.cloudformation import NOTHING
from operate.diff.names import readable
from operate.diff.normal_form import Template, Templates
from stacks.gate.rights import Grant, together
from stacks.gate.template import as_list, written

Compared = Mapping[str, Mapping[str, Any]]
_HOLDERS = ("Groups", "Roles", "Users")
ALL_BUT = "everything but "


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
                "principals": {"not": False, "values": [f"whoever has {written({'Ref': name})}"]},
                "actions": _of(statement, "Action"),
                "resources": _of(statement, "Resource"),
                "condition": statement.get("Condition"),
            }


def _of(statement: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Write actions or resources as CDK's comparison does."""
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
    """One line for equal principals and resources: the actions together, then the resources."""
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
