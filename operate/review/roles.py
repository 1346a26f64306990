"""What roles may do: in words, wildcards first, and CDK's own framework in a line."""

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


@dataclass(frozen=True, kw_only=True, order=True)
class Right:
    """What one statement allows, with why it was accepted, if it had to be.

    `wildcard`: whether a resource is left open, or only how its name ends.
    """

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    condition: str
    reason: str
    wildcard: Wildcard

    @property
    def words(self) -> tuple[str, ...]:
        """What it allows, by service."""
        return in_words(self.actions)

    @property
    def sentence(self) -> str:
        """What it allows, on what, and when."""
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
    alike: dict[tuple[object, ...], list[str]] = {}
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
        roles=tuple(_roles(alike)),
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
    """Yield rights with the same reason, grouped by holders with the same rights."""
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


def _roles(alike: dict[tuple[object, ...], list[str]]) -> Iterator[Role]:
    for (rights, managed, taken_by), names in sorted(alike.items(), key=lambda item: sorted(item[1])):
        if isinstance(rights, tuple) and isinstance(managed, tuple) and isinstance(taken_by, tuple):
            yield Role(names=siblings(names), taken_by=taken_by, rights=rights, managed=managed)


def _taken_by(subject: Subject) -> tuple[str, ...]:
    found = as_list(subject.get("AssumeRolePolicyDocument.Statement") or [])
    who = [principal.removeprefix("Service:") for statement in found for principal in principals(statement)]
    return unique(sorted(who))


def _policy(arn: object) -> str:
    """Name a managed policy; CDK writes its ARN with the partition."""
    text = written(arn["Fn::Sub"]) if isinstance(arn, dict) and "Fn::Sub" in arn else written(arn)
    return text.partition(":policy/")[2] or text


def role_of(subject: Subject) -> tuple[str, str] | None:
    """Find the role that a function runs as."""
    return next((target for value in references(subject.get("Role")) if (target := subject.target(value))), None)
