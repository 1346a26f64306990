"""Whom a resource's own policy lets in: services, and accounts; and who calls functions."""

from collections.abc import Iterator
from dataclasses import dataclass

from operate.review.material import Material
from operate.review.words import condition_in_words, in_words
from stacks.gate.rights import Grant, grants, statements
from stacks.gate.template import Subject, written

# Whose policies say who takes a role, or what a way to AWS is for: those are other sections'.
_OTHERS = frozenset({"AWS::IAM::Role", "AWS::IAM::Policy", "AWS::EC2::VPCEndpoint"})


@dataclass(frozen=True, kw_only=True)
class LetIn:
    """Who may do what with a resource by its own policy, and why that was accepted, where somebody had to."""

    who: str
    actions: tuple[str, ...]
    where: str
    conditions: tuple[str, ...]
    reason: str


def let_in(material: Material) -> tuple[LetIn, ...]:
    """Read all resources' policies, but what keys let their own account decide, which is AWS's default."""
    found = [each for subject in material.app.subjects() for each in _of(material, subject)]
    return tuple(sorted(found, key=lambda each: (each.where, each.who)))


def _of(material: Material, subject: Subject) -> Iterator[LetIn]:
    where = material.name(subject.stack, subject.id)
    if subject.type == "AWS::Lambda::Permission":
        source = subject.get("SourceArn") or subject.get("SourceAccount")
        conditions = (f"for {material.readable(subject.stack, written(source))}",) if source else ()
        calls = in_words([str(subject.get("Action"))])
        yield LetIn(who=written(subject.get("Principal")), actions=calls, where=where, conditions=conditions, reason="")
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
        # One without a condition makes the others' say nothing.
        shown = tuple(conditions_) if all(conditions_) else ()
        yield LetIn(who=who, actions=may, where=where, conditions=shown, reason=reason)


def _is_the_accounts_own(subject: Subject, grant: Grant) -> bool:
    return grant.principal.endswith(f":iam::{subject.facts.account}:root")
