"""What roles may do: in words, wildcards first, and CDK's own framework in a line. And whom resources let in.

Resource policies admit services, accounts and callers of functions. No IAM policy shows what QuickSight and Lake
Formation grant.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from operate.review.material import Material, references, siblings, unique
from operate.review.words import condition_in_words, in_words
from stacks.gate.rights import Grant, grants, holders, is_wide, principals, statements
from stacks.gate.template import Subject, as_list, written

# All that CDK's provider framework needs: to call our functions, and to wait for them.
FRAMEWORK = frozenset({"lambda:InvokeFunction", "lambda:GetFunction", "states:StartExecution"})
BASIC = "service-role/AWSLambdaBasicExecutionRole"
Wildcard = Literal["", "name", "everything"]
# Their policies say who may assume a role, or what an endpoint is for: other sections cover that.
_OTHERS = frozenset({"AWS::IAM::Role", "AWS::IAM::Policy", "AWS::EC2::VPCEndpoint"})
# A user or group by its ARN: kind, namespace and name.
_OF_QUICKSIGHT = re.compile(r"arn:[^:]+:quicksight:[^:]*:[^:]*:(?P<kind>user|group)/(?P<namespace>[^/]+)/(?P<name>.+)")


@dataclass(frozen=True, kw_only=True, order=True)
class Right:
    """What a statement allows and why; `wildcard`: whether a resource is left open, or only how its name ends."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    condition: str
    reason: str
    wildcard: Wildcard

    @property
    def words(self) -> tuple[str, ...]:
        return in_words(self.actions)

    @property
    def sentence(self) -> str:
        condition = f", only if {self.condition}" if self.condition else ""
        return f"{'; '.join(self.words)} — on {', '.join(self.resources)}{condition}"


@dataclass(frozen=True, kw_only=True)
class Role:
    """Roles with the same rights: who assumes them, what they may do, and their AWS-managed policies."""

    names: tuple[str, ...]
    taken_by: tuple[str, ...]
    rights: tuple[Right, ...]
    managed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Wide:
    """Rights with wildcards for one reason, of all who have the same."""

    who: tuple[str, ...]
    count: int
    rights: tuple[Right, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class Roles:
    """All roles; `framework`: the number of CDK's own, which only call and await our functions."""

    everything: tuple[Wide, ...]
    names: tuple[Wide, ...]
    roles: tuple[Role, ...]
    framework: int


def roles(material: Material) -> Roles:
    """Read every role and every resource's policy with a wildcard."""
    found = dict(holders_rights(material))
    alike: dict[tuple[tuple[Right, ...], tuple[str, ...], tuple[str, ...]], list[str]] = {}
    framework = 0
    for subject in material.app.resources("AWS::IAM::Role"):
        rights = found.get((subject.stack, subject.id), ())
        managed = tuple(_policy(policy) for policy in as_list(subject.get("ManagedPolicyArns") or []))
        if _is_framework(material, subject, rights, managed):
            framework += 1
            continue
        key = (rights, managed, _taken_by(subject))
        alike.setdefault(key, []).append(material.name(subject.stack, subject.id))
    return Roles(
        everything=tuple(_wide(material, found, "everything")),
        names=tuple(_wide(material, found, "name")),
        roles=tuple(
            Role(names=siblings(names), taken_by=taken_by, rights=rights, managed=managed)
            for (rights, managed, taken_by), names in sorted(alike.items(), key=lambda item: sorted(item[1]))
        ),
        framework=framework,
    )


def holders_rights(material: Material) -> Iterator[tuple[tuple[str, str], tuple[Right, ...]]]:
    """Yield the rights of each role, from its own and from separate policies."""
    found: dict[tuple[str, str], list[Right]] = {}
    for subject in material.app.resources("AWS::IAM::Role", "AWS::IAM::Policy"):
        for holder in holders(subject):
            for key, statement in statements(subject):
                if key != "AssumeRolePolicyDocument":
                    stated = _rights(material, subject.stack, holder, grants(statement))
                    found.setdefault((subject.stack, holder), []).extend(stated)
    for place, rights in found.items():
        yield place, tuple(sorted(set(rights)))


def _rights(material: Material, stack: str, holder: str, several: Iterable[Grant]) -> Iterator[Right]:
    """Write grants for people: those with the same reason and condition together, by actions, then by resources."""
    actions: dict[tuple[str, str, str], list[str]] = {}
    for grant in several:
        reason = material.reasons.get((stack, holder, grant), "")
        actions.setdefault((grant.resource, grant.condition, reason), []).append(grant.action)
    together: dict[tuple[tuple[str, ...], str, str, Wildcard], list[str]] = {}
    for (resource, condition, reason), names in actions.items():
        key = (unique(sorted(names)), condition, reason, _wildcard(resource, names))
        together.setdefault(key, []).append(resource)
    for (names_, condition, reason, wildcard), resources in together.items():
        yield Right(
            actions=names_,
            resources=unique(sorted(_resource(material.readable(stack, resource)) for resource in resources)),
            condition=material.readable(stack, condition_in_words(condition)),
            reason=reason,
            wildcard=wildcard,
        )


def _resource(text: str) -> str:
    return "everything (*)" if text == "*" else text


def _wildcard(resource: str, actions: Iterable[str]) -> Wildcard:
    if is_wide(resource):
        return "everything"
    return "name" if "*" in resource or any("*" in action for action in actions) else ""


def _wide(material: Material, found: dict[tuple[str, str], tuple[Right, ...]], wildcard: Wildcard) -> Iterator[Wide]:
    who: dict[tuple[Right, ...], list[str]] = {}
    for subject in material.app.resources("AWS::IAM::Role"):
        rights = found.get((subject.stack, subject.id), ())
        by_reason: dict[str, list[Right]] = {}
        for right in () if _is_framework(material, subject, rights, ()) else rights:
            if right.wildcard == wildcard:
                by_reason.setdefault(right.reason, []).append(right)
        for same in by_reason.values():
            who.setdefault(tuple(same), []).append(material.name(subject.stack, subject.id))
    for rights, names in sorted(who.items(), key=lambda item: (sorted(item[1]), item[0])):
        yield Wide(who=siblings(names), count=len(names), rights=rights, reason=rights[0].reason)


def _is_framework(material: Material, subject: Subject, rights: Iterable[Right], managed: Iterable[str]) -> bool:
    """Whether a role is CDK's and allows only what its framework does: judged by rights, not by name."""
    name = f"{material.name(subject.stack, subject.id)}/"
    if "/Framework/" not in name or any(policy != BASIC for policy in managed):
        return False
    return all(set(right.actions) <= FRAMEWORK and right.wildcard != "everything" for right in rights)


def _taken_by(subject: Subject) -> tuple[str, ...]:
    found = as_list(subject.get("AssumeRolePolicyDocument.Statement") or [])
    who = [principal.removeprefix("Service:") for statement in found for principal in principals(statement)]
    return unique(sorted(who))


def _policy(arn: object) -> str:
    """Name a managed policy; CDK writes its ARN with the partition."""
    text = written(arn["Fn::Sub"]) if isinstance(arn, dict) and "Fn::Sub" in arn else written(arn)
    return text.partition(":policy/")[2] or text


def role_of(subject: Subject) -> tuple[str, str] | None:
    return next((target for value in references(subject.get("Role")) if (target := subject.target(value))), None)


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
    found = [each for subject in material.app.subjects for each in _of(material, subject)]
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
