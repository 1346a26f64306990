"""Who may do what: each right that a template states, one by one, for the gate's rules, the diff and the review's page.

Stated are rights in policies (of roles, people and resources, and who may take a role), in Lambda's permissions, and
in what Lake Formation, QuickSight and EKS grant. CDK's merging of statements changes none of them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stacks.gate.template import Resource, as_list, documents, written

ROLE, PEOPLES = "AWS::IAM::Role", "AWS::IAM::ManagedPolicy"
LAKE_FORMATION, QUICKSIGHT = "AWS::LakeFormation::PrincipalPermissions", "AWS::QuickSight::"
ALL_BUT = "everything but "


class Grant(NamedTuple):
    """One right, in texts with references as `<Name>`; `condition` is JSON, or empty.

    `holder` has the right: a role, a user, a group, or a policy for people itself. If there is a `principal`, this has
    the right instead, and `holder` is the resource that lets it in.
    """

    stack: str
    holder: str
    principal: str
    action: str
    resource: str
    condition: str
    effect: str = "Allow"

    def __str__(self) -> str:
        only = f" if {self.condition}" if self.condition else ""
        return f"{self.principal or self.holder}: {self.action} on {self.resource}{only}"


def grants(stack: str, name: str, resource: Resource) -> Iterator[Grant]:
    """Yield each right that a resource allows or denies."""
    properties = resource.get("Properties", {})
    for document in documents(properties):
        for statement in as_list(document["Statement"]):
            for holder in _holders(name, resource):
                yield from of_statement(stack, holder, statement)
    for statement in _stated(resource["Type"], properties):
        yield from of_statement(stack, f"<{name}>", statement)


def of_statement(stack: str, holder: str, statement: Mapping[str, Any]) -> Iterator[Grant]:
    """Split a statement, one right per principal, action and resource, each with the statement's condition."""
    condition = json.dumps(statement["Condition"], sort_keys=True) if statement.get("Condition") else ""
    effect = "Deny" if statement.get("Effect") == "Deny" else "Allow"
    for principal in _principals(statement):
        for action in _named(statement, "Action"):
            for resource in _named(statement, "Resource"):
                # A resource's own policy is about that resource, whatever its pattern.
                own = principal and resource in ("", "*")
                yield Grant(stack, holder, principal, action, holder if own else resource, condition, effect)


def together(several: Iterable[Grant]) -> list[Grant]:
    """Merge grants that differ only in their actions, for people to read."""
    actions: dict[Grant, list[str]] = {}
    for grant in several:
        actions.setdefault(grant._replace(action=""), []).append(grant.action)
    return [grant._replace(action=", ".join(sorted(names))) for grant, names in actions.items()]


def _holders(name: str, resource: Resource) -> list[str]:
    """Return who has the rights of a resource's policy: templates don't show to whom a policy for people is given."""
    properties = resource.get("Properties", {})
    others = [written(each) for kind in ("Groups", "Roles", "Users") for each in as_list(properties.get(kind) or [])]
    return others if others and resource["Type"] != PEOPLES else [f"<{name}>", *others]


def _principals(statement: Mapping[str, Any]) -> list[str]:
    """Return a statement's principals: `Service:x`, `AWS:<arn>`, `*`; in a role's own policy ""."""
    if "NotPrincipal" in statement:
        return [f"{ALL_BUT}{', '.join(_principals({'Principal': statement['NotPrincipal']}))}"]
    match statement.get("Principal", ""):
        case str(name):
            return [name]
        case kinds:
            return [f"{kind}:{written(name)}" for kind, names in kinds.items() for name in as_list(names)]


def _named(statement: Mapping[str, Any], key: str) -> list[str]:
    if f"Not{key}" in statement:
        return [f"{ALL_BUT}{', '.join(written(each) for each in as_list(statement[f'Not{key}']))}"]
    return [written(each) for each in as_list(statement.get(key, ""))]


def _stated(type_: str, properties: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield as statements what a resource grants without a policy."""
    if type_ == "AWS::Lambda::Permission":
        who = written(properties.get("Principal"))
        sources = {"ArnLike": "SourceArn", "StringEquals": "SourceAccount"}
        only = {how: {f"aws:{key}": properties[key]} for how, key in sources.items() if key in properties}
        principal = {"Service": who} if who.endswith(".amazonaws.com") else who
        function = properties.get("FunctionName", "")
        yield {"Principal": principal, "Action": properties.get("Action"), "Resource": function, "Condition": only}
    if type_.startswith(QUICKSIGHT):
        for each in as_list(properties.get("Permissions") or []):
            yield {"Principal": written(each.get("Principal")), "Action": each.get("Actions", "")}
    if type_ == LAKE_FORMATION:
        names = [written(each) for each in as_list(properties.get("Permissions") or [])]
        names += [f"GRANT_{written(each)}" for each in as_list(properties.get("PermissionsWithGrantOption") or [])]
        yield {
            "Principal": written(properties.get("Principal", {}).get("DataLakePrincipalIdentifier")),
            "Action": [f"lakeformation:{name}" for name in names],
            "Resource": _place(properties.get("Resource")),
        }
    if type_ == "AWS::EKS::AccessEntry":
        names = [written(each.get("PolicyArn")) for each in properties.get("AccessPolicies") or []]
        names += properties.get("KubernetesGroups") or []
        yield {
            "Principal": written(properties.get("PrincipalArn")),
            "Action": [f"eks:{name.rpartition('/')[2]}" for name in names],
            "Resource": properties.get("ClusterName", ""),
        }


def _place(resource: Any) -> str:
    """Describe the resource of a grant of Lake Formation."""
    match resource:
        case {"DataLocation": {"ResourceArn": arn}}:
            return f"location {written(arn)}"
        case {"Table": {"DatabaseName": database, "Name": name}}:
            return f"table {written(name)} of {written(database)}"
        case {"Table": {"DatabaseName": database}}:
            return f"every table of {written(database)}"
        case {"Database": {"Name": name}}:
            return f"database {written(name)}"
    return written(resource)
