"""What roles and people may do: wildcards first, and CDK's own framework in a line. And whom resources let in.

Resource policies admit services, accounts and callers of functions. No IAM policy shows what QuickSight and Lake
Formation grant.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from operate.review.material import Material
from operate.review.rows import Cell, Section, Table, count, grouped, siblings
from operate.review.words import condition_in_words, in_words
from stacks.gate.grants import LAKE_FORMATION, PEOPLES, ROLE, Grant
from stacks.gate.rights import is_wide
from stacks.gate.template import Subject, written

# All that CDK's provider framework needs: to call our functions, and to wait for them.
FRAMEWORK = frozenset({"lambda:InvokeFunction", "lambda:GetFunction", "states:StartExecution"})
BASIC = "service-role/AWSLambdaBasicExecutionRole"
Wildcard = Literal["", "name", "everything"]
# By how bad it is.
WILDCARDS: Mapping[Wildcard, str] = {
    "everything": "on every resource of a kind",
    "name": "on names that end in one",
    "": "no",
}
# Their policies say who may assume a role, or what an endpoint is for: other sections cover that.
_OTHERS = frozenset({ROLE, "AWS::EC2::VPCEndpoint", "AWS::EKS::AccessEntry"})
# A user or group by its ARN: kind, namespace and name.
_OF_QUICKSIGHT = re.compile(r"arn:[^:]+:quicksight:[^:]*:[^:]*:(?P<kind>user|group)/(?P<namespace>[^/]+)/(?P<name>.+)")


class Right(NamedTuple):
    """What a statement allows and why; `wildcard`: whether a resource is left open, or only how its name ends."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    condition: str
    reason: str
    wildcard: Wildcard

    @property
    def row(self) -> tuple[Cell, ...]:
        reason = self.reason or ("nobody has accepted it" if self.wildcard else "-")
        where = WILDCARDS[self.wildcard]
        return in_words(self.actions), self.resources, self.condition or "-", reason, where, self.actions


# By the name of who has them.
Rights = Mapping[str, tuple[Right, ...]]


def rights_by_holder(material: Material) -> Rights:
    """Return the rights of each role, and of each policy for people.

    Those with the same reason and condition are one: by actions, then by resources.
    """
    stated = [each for subject in material.app.subjects for each in subject.grants if not each.principal]
    held = grouped((material.readable(each.stack, each.holder), each) for each in stated)
    return {name: tuple(sorted(_rights(material, several))) for name, several in held.items()}


def without_framework(material: Material, rights: Rights) -> Rights:
    """Leave out CDK's roles that may do only what its framework does: judged by rights, not by name."""
    roles = {material.name(role): role for role in material.app.resources(ROLE)}
    return {
        name: held
        for name, held in rights.items()
        if "/Framework/" not in f"{name}/"
        or any(set(right.actions) - FRAMEWORK or right.wildcard == "everything" for right in held)
        or (name in roles and set(_managed(roles[name])) - {BASIC})
    }


def _rights(material: Material, several: Iterable[Grant]) -> Iterator[Right]:
    why = material.synthesis.accepted
    actions = grouped(((each._replace(action=""), why.get(each, "")), each.action) for each in several)
    together = grouped(
        (
            (tuple(sorted(set(names))), _only(material, each), reason, _wildcard(each.resource, names)),
            "everything (*)" if each.resource == "*" else material.readable(each.stack, each.resource),
        )
        for (each, reason), names in actions.items()
    )
    for (names, only, reason, wildcard), resources in together.items():
        yield Right(names, tuple(sorted(set(resources))), only, reason, wildcard)


def _wildcard(resource: str, actions: Iterable[str]) -> Wildcard:
    if is_wide(resource):
        return "everything"
    return "name" if "*" in resource or any("*" in action for action in actions) else ""


def _taken_by(subject: Subject) -> tuple[str, ...]:
    who = {each.principal.removeprefix("Service:") for each in subject.grants if each.principal}
    return tuple(sorted(who)) or (("people",) if subject.type == PEOPLES else ("nobody",))


def _managed(role: Subject) -> list[str]:
    """Name a role's managed policies; CDK writes their ARNs with the partition, in two forms."""
    return [written(arn).rpartition(":policy/")[2].rstrip('"}') for arn in role.get("ManagedPolicyArns") or []]


def peoples(material: Material, rights: Rights) -> list[tuple[Cell, ...]]:
    """Return a row for each policy made for people: the policy, what it is for, and what it allows."""
    found = [(material.name(each), written(each.get("Description") or "-")) for each in material.app.resources(PEOPLES)]
    return [
        (name, what, in_words(dict.fromkeys(action for right in rights.get(name, ()) for action in right.actions)))
        for name, what in found
    ]


def wildcards(rights: Rights) -> list[str]:
    """Count the rights with wildcards, and those of them that nobody has accepted."""
    all_ = {right for held in rights.values() for right in held}
    counts = [(where, [each for each in all_ if each.wildcard == kind]) for kind, where in WILDCARDS.items() if kind]
    unaccepted = sum(not each.reason for _, found in counts for each in found)
    said = [f"nobody has accepted {unaccepted} of them"] if unaccepted else []
    return [f"{where}: {count(len(found), 'right')}" for where, found in counts] + said


def section(material: Material, rights: Rights) -> Section:
    """List each right once, with all that have it: those with a wildcard first, and first what nobody has accepted."""
    shown, let_in_ = without_framework(material, rights), let_in(material)
    order = list(WILDCARDS)
    found = grouped((right, name) for name, held in shown.items() for right in held)
    by_right = sorted(found.items(), key=lambda each: (order.index(each[0].wildcard), each[0].reason, each[1]))
    rows = [(siblings(names), *right.row) for right, names in by_right]
    holders = [(material.name(each), each) for each in material.app.resources(ROLE, PEOPLES)]
    taken = grouped(
        ((*_taken_by(each), *(f"with AWS's {policy}" for policy in _managed(each))), name)
        for name, each in holders
        if name in shown or name not in rights
    )
    framework = len(rights) - len(shown)
    return Section(
        title="What people and roles may do",
        shown=(Table("Policies made for people", ("Policy", "For what", "May"), peoples(material, rights)),),
        fold=f"Every right with its reason, wildcards first, and {len(let_in_)} whom a resource's own policy lets in",
        folded=(
            Table("All rights", ("Who", "May", "On", "Only if", "Why", "Wildcard", "Actions"), rows),
            Table("Let in by a resource's own policy", ("Who", "May", "Where", "Only if", "Why"), let_in_),
            Table("Taken by", ("By", "Roles"), [(by, siblings(names)) for by, names in taken.items()]),
            f"CDK's own framework for custom resources: {framework} roles that may call the functions of section 6 and "
            "wait for them, and nothing else.",
        ),
    )


def let_in(material: Material) -> list[tuple[Cell, ...]]:
    """Return rows of who may what with a resource by its own policy, only if what, and why that was accepted.

    Key policies that delegate to their own account, AWS's default, are left out.
    """
    found = [(subject, each) for subject in material.app.subjects for each in subject.grants if each.principal]
    own, why = f":iam::{material.environment.account}:root", material.synthesis.accepted
    actions = grouped(
        ((_who(material, each), _where(material, subject, each), _only(material, each), why.get(each, "")), each.action)
        for subject, each in found
        if subject.type not in _OTHERS and not each.principal.endswith(own)
    )
    together = grouped(
        ((who, in_words(dict.fromkeys(names)), where, reason), only)
        for (who, where, only, reason), names in actions.items()
    )
    # One without a condition makes the others' conditions irrelevant.
    rows = [
        (who, may, where, tuple(conditions) if all(conditions) else "-", reason or "-")
        for (who, may, where, reason), conditions in together.items()
    ]
    return sorted(rows, key=lambda row: (row[2], row[0]))


def _who(material: Material, grant: Grant) -> str:
    if not (found := _OF_QUICKSIGHT.fullmatch(grant.principal)):
        return material.readable(grant.stack, grant.principal.removeprefix("Service:").removeprefix("AWS:"))
    namespace = "" if found["namespace"] == "default" else f" in {found['namespace']}"
    return f"QuickSight's {found['kind']} {found['name']}{namespace}"


def _where(material: Material, subject: Subject, grant: Grant) -> str:
    of_tables = subject.type == LAKE_FORMATION
    return material.readable(grant.stack, grant.resource) if of_tables else material.name(subject)


def _only(material: Material, grant: Grant) -> str:
    return material.readable(grant.stack, condition_in_words(grant.condition))
