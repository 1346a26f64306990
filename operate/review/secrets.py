"""Secrets, and who reads them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from operate.review.material import Material, references, siblings
from stacks.gate.rights import grants, holders, statements
from stacks.gate.template import Subject, written

READING = "secretsmanager:getsecretvalue"
SECRET, ROTATION = "AWS::SecretsManager::Secret", "AWS::SecretsManager::RotationSchedule"
ATTACHMENT = "AWS::SecretsManager::SecretTargetAttachment"


@dataclass(frozen=True, kw_only=True)
class Secret:
    """A secret: its place, purpose, readers and rotation."""

    name: str
    what: str
    generated: bool
    rotation: str
    readers: tuple[str, ...]


def secrets(material: Material) -> tuple[Secret, ...]:
    return tuple(_secret(material, subject) for subject in material.app.resources(SECRET))


def _secret(material: Material, subject: Subject) -> Secret:
    place = (subject.stack, subject.id)
    schedules = [
        each for each in material.app.resources(ROTATION) if _of(material, each, each.get("SecretId")) == place
    ]
    rotation = next((_every(each) for each in schedules), "never by itself")
    readers = [*_roles(material, subject), *_resolvers(material, place)]
    if any(each.get("RotationLambdaARN") for each in schedules):
        readers += [f"{material.name(each.stack, each.id)}: its rotation" for each in schedules]
    title = material.title(subject)
    name = material.name(*place)
    return Secret(
        name=name,
        what=title if title != name else "; ".join(_attached(material, place)),
        generated=subject.get("GenerateSecretString") is not None,
        rotation=rotation,
        readers=siblings(readers),
    )


def _of(material: Material, subject: Subject, value: object) -> tuple[str, str] | None:
    """Find the secret that a value names: directly, or through its attachment to a database."""
    target = subject.target(value)
    if target is None:
        return None
    found = material.subject(target)
    return _of(material, found, found.get("SecretId")) if found.type == ATTACHMENT else target


def _attached(material: Material, place: tuple[str, str]) -> Iterator[str]:
    for each in material.app.resources(ATTACHMENT):
        target = each.target(each.get("TargetId"))
        if target and _of(material, each, each.get("SecretId")) == place:
            yield f"the login of {material.name(*target)}"


def _every(schedule: Subject) -> str:
    days = schedule.get("RotationRules.AutomaticallyAfterDays")
    rate = re.sub(
        r"^rate\((.*)\)$", r"every \1", str(schedule.get("RotationRules.ScheduleExpression") or "by a schedule")
    )
    return f"every {days} days" if days else rate


def _roles(material: Material, secret: Subject) -> Iterator[str]:
    place = (secret.stack, secret.id)
    for subject in material.app.resources("AWS::IAM::Role", "AWS::IAM::Policy"):
        for key, statement in statements(subject):
            if key == "AssumeRolePolicyDocument":
                continue
            for grant in grants(statement):
                if fnmatchcase(READING, grant.action.lower()) and _is_on(
                    material, subject, statement, grant.resource, place
                ):
                    yield from (material.name(subject.stack, holder) for holder in holders(subject))


def _is_on(material: Material, subject: Subject, statement: object, resource: str, place: tuple[str, str]) -> bool:
    named = [value for value in references(statement) if written(value) == resource or written(value) in resource]
    if any(_of(material, subject, value) == place for value in named):
        return True
    if "*" not in resource:
        return False
    name = material.subject(place).get("Name") or "\0"
    arn = f"arn:aws:secretsmanager:{subject.facts.region}:{subject.facts.account}:secret:{name}-??????"
    return resource == "*" or fnmatchcase(arn, resource) or resource.endswith(":secret:*")


def _resolvers(material: Material, place: tuple[str, str]) -> Iterator[str]:
    for subject in material.app.subjects:
        if "{{resolve:secretsmanager:" not in written(dict(subject.properties)):
            continue
        if any(_of(material, subject, value) == place for value in references(subject.properties)):
            yield f"{material.name(subject.stack, subject.id)}: by CloudFormation, when it is made"
