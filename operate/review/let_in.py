"""Access through resource policies (services, accounts, callers of functions), QuickSight and Lake Formation.

No IAM policy shows what the latter two grant.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from operate.review.material import Material
from operate.review.words import condition_in_words, in_words
from stacks.gate.rights import Grant, grants, statements
from stacks.gate.template import Subject, as_list, written

# Their policies say who may assume a role, or what an endpoint is for: other sections cover that.
_OTHERS = frozenset({"AWS::IAM::Role", "AWS::IAM::Policy", "AWS::EC2::VPCEndpoint"})
# A user or group by its ARN: kind, namespace and name.
_OF_QUICKSIGHT = re.compile(r"arn:[^:]+:quicksight:[^:]*:[^:]*:(?P<kind>user|group)/(?P<namespace>[^/]+)/(?P<name>.+)")


@dataclass(frozen=True, kw_only=True)
class LetIn:
    """Who may do what with a resource by its own policy, and why that was accepted, if it had to be."""

    who: str
    actions: tuple[str, ...]
    where: str
    conditions: tuple[str, ...]
    reason: str


def let_in(material: Material) -> tuple[LetIn, ...]:
    """Read all resources' policies, except key policies that delegate to their own account, AWS's default."""
    found = [each for subject in material.app.subjects() for each in _of(material, subject)]
    return tuple(sorted(found, key=lambda each: (each.where, each.who)))


def _of(material: Material, subject: Subject) -> Iterator[LetIn]:
    where = material.name(subject.stack, subject.id)
    if subject.type == "AWS::Lambda::Permission":
        source = subject.get("SourceArn") or subject.get("SourceAccount")
        conditions = (f"for {material.readable(subject.stack, written(source))}",) if source else ()
        calls = in_words([str(subject.get("Action"))])
        yield LetIn(who=written(subject.get("Principal")), actions=calls, where=where, conditions=conditions, reason="")
    if subject.type.startswith("AWS::QuickSight::"):
        yield from _granted_in_quicksight(subject, where)
    if subject.type == "AWS::LakeFormation::PrincipalPermissions":
        yield _granted_by_lake_formation(material, subject)
    if subject.type in _OTHERS:
        return
    by_who: dict[tuple[str, str, str], list[str]] = {}
    together: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for _, statement in statements(subject):
        for grant in grants(statement):
            if grant.principal and not _is_the_accounts_own(subject, grant):
                reason = material.reasons.get((subject.stack, subject.id, grant), "")
                by_who.setdefault((grant.principal, grant.condition, reason), []).append(grant.action)
    for (principal, condition, reason), actions in by_who.items():
        who = material.readable(subject.stack, principal.removeprefix("Service:").removeprefix("AWS:"))
        words = material.readable(subject.stack, condition_in_words(condition))
        together.setdefault((who, in_words(dict.fromkeys(actions)), reason), []).append(words)
    for (who, may, reason), conditions_ in together.items():
        # One without a condition makes the others' conditions irrelevant.
        shown = tuple(conditions_) if all(conditions_) else ()
        yield LetIn(who=who, actions=may, where=where, conditions=shown, reason=reason)


def _granted_in_quicksight(subject: Subject, where: str) -> Iterator[LetIn]:
    for permission in as_list(subject.get("Permissions") or []):
        who, actions = written(permission.get("Principal")), as_list(permission.get("Actions") or [])
        if found := _OF_QUICKSIGHT.fullmatch(who):
            namespace = "" if found["namespace"] == "default" else f" in {found['namespace']}"
            who = f"QuickSight's {found['kind']} {found['name']}{namespace}"
        words = in_words(dict.fromkeys(map(written, actions)))
        yield LetIn(who=who, actions=words, where=where, conditions=(), reason="")


def _granted_by_lake_formation(material: Material, subject: Subject) -> LetIn:
    """Describe a grant, including the right to pass it on."""
    permissions = [f"lakeformation:{written(name)}" for name in as_list(subject.get("Permissions") or [])]
    handed_on = [written(name).lower() for name in as_list(subject.get("PermissionsWithGrantOption") or [])]
    actions = (*in_words(permissions), *([f"may grant others: {', '.join(handed_on)}"] if handed_on else []))
    return LetIn(
        who=material.readable(subject.stack, written(subject.get("Principal.DataLakePrincipalIdentifier"))),
        actions=tuple(
            action.replace("_", " ").lower().replace("lake formation", "Lake Formation", 1) for action in actions
        ),
        where=material.readable(subject.stack, _granted_place(subject)),
        conditions=(),
        reason="",
    )


def _granted_place(subject: Subject) -> str:
    """What Lake Formation grants rights on, in words."""
    resource = "Resource"
    if location := subject.get(f"{resource}.DataLocation.ResourceArn"):
        return f"location {written(location)}"
    if table := subject.get(f"{resource}.Table"):
        name = table.get("Name")
        return f"{f'table {written(name)}' if name else 'every table'} of {written(table.get('DatabaseName'))}"
    if database := subject.get(f"{resource}.Database.Name"):
        return f"database {written(database)}"
    return f"{subject.type} {subject.id}"


def _is_the_accounts_own(subject: Subject, grant: Grant) -> bool:
    return grant.principal.endswith(f":iam::{subject.facts.account}:root")
