"""What roles and people may do: wildcards first, and CDK's own framework in a line. And whom resources let in.

Resource policies admit services, accounts and callers of functions. No IAM policy shows what QuickSight and Lake
Formation grant.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from operate.review.material import Material
from operate.review.rows import Cell, Section, Table, count, grouped, siblings, unique
from operate.review.words import condition_in_words, in_words
from stacks.gate.rights import Grant, grants, holders, is_wide, principals
from stacks.gate.template import Subject, as_list, references, written

# All that CDK's provider framework needs: to call our functions, and to wait for them.
FRAMEWORK = frozenset({"lambda:InvokeFunction", "lambda:GetFunction", "states:StartExecution"})
BASIC = "service-role/AWSLambdaBasicExecutionRole"
ROLE, PEOPLES = "AWS::IAM::Role", "AWS::IAM::ManagedPolicy"
Wildcard = Literal["", "name", "everything"]
# By how bad it is.
WILDCARDS: Mapping[Wildcard, str] = {
    "everything": "on every resource of a kind",
    "name": "on names that end in one",
    "": "no",
}
# Their policies say who may assume a role, or what an endpoint is for: other sections cover that.
_OTHERS = frozenset({ROLE, PEOPLES, "AWS::IAM::Policy", "AWS::EC2::VPCEndpoint"})
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


class Holder(NamedTuple):
    """A role, or a policy made for people: who takes it, its AWS-managed policies, and what it may do."""

    subject: Subject
    name: str
    taken_by: tuple[str, ...]
    managed: tuple[str, ...]
    rights: tuple[Right, ...]

    @property
    def is_framework(self) -> bool:
        """Whether a role is CDK's and allows only what its framework does: judged by rights, not by name."""
        known = all(set(right.actions) <= FRAMEWORK and right.wildcard != "everything" for right in self.rights)
        return "/Framework/" in f"{self.name}/" and known and set(self.managed) <= {BASIC}


Rights = Mapping[tuple[str, str], tuple[Right, ...]]


def rights_by_holder(material: Material) -> Rights:
    """Return the rights of each role and each policy for people, by stack and logical id."""
    found: dict[tuple[str, str], list[Right]] = {}
    for subject in material.app.resources(ROLE, "AWS::IAM::Policy", PEOPLES):
        for holder in holders(subject):
            for key, statement in subject.statements:
                if key != "AssumeRolePolicyDocument":
                    stated = _rights(material, subject.stack, holder, grants(statement))
                    found.setdefault((subject.stack, holder), []).extend(stated)
    return {place: tuple(sorted(set(rights))) for place, rights in found.items()}


def _rights(material: Material, stack: str, holder: str, several: Iterable[Grant]) -> Iterator[Right]:
    """Write grants for people: those with the same reason and condition together, by actions, then by resources."""
    actions = grouped(
        ((grant.resource, grant.condition, material.reasons.get((stack, holder, grant), "")), grant.action)
        for grant in several
    )
    together = grouped(
        ((unique(sorted(names)), condition, reason, _wildcard(resource, names)), resource)
        for (resource, condition, reason), names in actions.items()
    )
    for (names, condition, reason, wildcard), resources in together.items():
        shown = unique(sorted(_resource(material.readable(stack, resource)) for resource in resources))
        words = material.readable(stack, condition_in_words(condition))
        yield Right(names, shown, words, reason, wildcard)


def _resource(text: str) -> str:
    return "everything (*)" if text == "*" else text


def _wildcard(resource: str, actions: Iterable[str]) -> Wildcard:
    if is_wide(resource):
        return "everything"
    return "name" if "*" in resource or any("*" in action for action in actions) else ""


def all_holders(material: Material, rights: Rights) -> tuple[Holder, ...]:
    return tuple(
        Holder(
            subject,
            material.name(subject),
            _taken_by(subject),
            tuple(_policy(policy) for policy in as_list(subject.get("ManagedPolicyArns") or [])),
            rights.get((subject.stack, subject.id), ()),
        )
        for subject in material.app.resources(ROLE, PEOPLES)
    )


def _taken_by(subject: Subject) -> tuple[str, ...]:
    found = as_list(subject.get("AssumeRolePolicyDocument.Statement") or [])
    who = [principal.removeprefix("Service:") for statement in found for principal in principals(statement)]
    return unique(sorted(who)) or (("people",) if subject.type == PEOPLES else ("nobody",))


def _policy(arn: object) -> str:
    """Name a managed policy; CDK writes its ARN with the partition."""
    text = written(arn["Fn::Sub"]) if isinstance(arn, dict) and "Fn::Sub" in arn else written(arn)
    return text.partition(":policy/")[2] or text


def role_of(subject: Subject) -> tuple[str, str] | None:
    return next((target for value in references(subject.get("Role")) if (target := subject.target(value))), None)


def peoples(several: Iterable[Holder]) -> list[tuple[Cell, ...]]:
    """Return a row for each policy made for people: the policy, what it is for, and what it allows."""
    return [
        (each.name, written(each.subject.get("Description") or "-"), _may(each.rights))
        for each in several
        if each.subject.type == PEOPLES
    ]


def _may(rights: Iterable[Right]) -> tuple[str, ...]:
    return in_words(dict.fromkeys(action for right in rights for action in right.actions))


def wildcards(several: Iterable[Holder]) -> list[str]:
    """Count the rights with wildcards, and those of them that nobody has accepted."""
    rights = {right for each in several if not each.is_framework for right in each.rights}
    counts = [(where, [each for each in rights if each.wildcard == kind]) for kind, where in WILDCARDS.items() if kind]
    unaccepted = sum(not each.reason for _, found in counts for each in found)
    said = [f"nobody has accepted {unaccepted} of them"] if unaccepted else []
    return [f"{where}: {count(len(found), 'right')}" for where, found in counts] + said


def section(material: Material, several: tuple[Holder, ...]) -> Section:
    """List each right once, with all that have it: those with a wildcard first, and first what nobody has accepted."""
    shown, let_in_ = [each for each in several if not each.is_framework], let_in(material)
    order = list(WILDCARDS)
    found = grouped((right, each.name) for each in shown for right in each.rights)
    by_right = sorted(found.items(), key=lambda each: (order.index(each[0].wildcard), each[0].reason, each[1]))
    rows = [(siblings(names), *right.row) for right, names in by_right]
    taken = grouped(
        ((*each.taken_by, *(f"with AWS's {policy}" for policy in each.managed)), each.name) for each in shown
    )
    framework = len(several) - len(shown)
    return Section(
        title="What people and roles may do",
        shown=(Table("Policies made for people", ("Policy", "For what", "May"), peoples(shown)),),
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
    found = [row for subject in material.app.subjects for row in _let_in(material, subject)]
    return sorted(found, key=lambda row: (row[2], row[0]))


def _let_in(material: Material, subject: Subject) -> Iterator[tuple[Cell, ...]]:
    where = material.name(subject)
    if subject.type == "AWS::Lambda::Permission":
        source = subject.get("SourceArn") or subject.get("SourceAccount")
        only = f"for {material.readable(subject.stack, written(source))}" if source else "-"
        yield written(subject.get("Principal")), in_words([str(subject.get("Action"))]), where, only, "-"
    if subject.type.startswith("AWS::QuickSight::"):
        for permission in as_list(subject.get("Permissions") or []):
            actions = dict.fromkeys(map(written, as_list(permission.get("Actions") or [])))
            yield _of_quicksight(written(permission.get("Principal"))), in_words(actions), where, "-", "-"
    if subject.type == "AWS::LakeFormation::PrincipalPermissions":
        yield _by_lake_formation(material, subject)
    stated = [grant for _, each in subject.statements for grant in grants(each)] if subject.type not in _OTHERS else []
    actions_ = grouped(
        ((grant.principal, grant.condition, material.reasons.get((subject.stack, subject.id, grant), "")), grant.action)
        for grant in stated
        if grant.principal and not grant.principal.endswith(f":iam::{subject.facts.account}:root")
    )
    together = grouped(
        ((who, in_words(dict.fromkeys(names)), reason), material.readable(subject.stack, condition_in_words(only)))
        for (who, only, reason), names in actions_.items()
    )
    for (principal, may, reason), conditions in together.items():
        who = material.readable(subject.stack, principal.removeprefix("Service:").removeprefix("AWS:"))
        # One without a condition makes the others' conditions irrelevant.
        yield who, may, where, tuple(conditions) if all(conditions) else "-", reason or "-"


def _of_quicksight(who: str) -> str:
    if not (found := _OF_QUICKSIGHT.fullmatch(who)):
        return who
    namespace = "" if found["namespace"] == "default" else f" in {found['namespace']}"
    return f"QuickSight's {found['kind']} {found['name']}{namespace}"


def _by_lake_formation(material: Material, subject: Subject) -> tuple[Cell, ...]:
    permissions = [f"lakeformation:{written(name)}" for name in as_list(subject.get("Permissions") or [])]
    handed_on = [written(name).lower() for name in as_list(subject.get("PermissionsWithGrantOption") or [])]
    actions = (*in_words(permissions), *([f"may grant others: {', '.join(handed_on)}"] if handed_on else []))
    who = material.readable(subject.stack, written(subject.get("Principal.DataLakePrincipalIdentifier")))
    may = tuple(each.replace("_", " ").lower().replace("lake formation", "Lake Formation", 1) for each in actions)
    return who, may, material.readable(subject.stack, _granted_place(subject)), "-", "-"


def _granted_place(subject: Subject) -> str:
    if location := subject.get("Resource.DataLocation.ResourceArn"):
        return f"location {written(location)}"
    if table := subject.get("Resource.Table"):
        name = table.get("Name")
        return f"{f'table {written(name)}' if name else 'every table'} of {written(table.get('DatabaseName'))}"
    if database := subject.get("Resource.Database.Name"):
        return f"database {written(database)}"
    return f"{subject.type} {subject.id}"
