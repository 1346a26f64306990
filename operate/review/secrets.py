"""Secrets, and who reads them."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from operate.review.material import Material
from operate.review.roles import Right, Rights
from operate.review.rows import Cell, Section, Table, siblings
from stacks.gate.template import Subject, references, written

READING = "secretsmanager:getsecretvalue"
SECRET, ROTATION = "AWS::SecretsManager::Secret", "AWS::SecretsManager::RotationSchedule"
ATTACHMENT = "AWS::SecretsManager::SecretTargetAttachment"


def section(material: Material, rights: Rights) -> Section:
    rows = [_row(material, subject, rights) for subject in material.app.resources(SECRET)]
    heads = ("Secret", "What", "Made", "Changed", "Read by")
    return Section(
        title="Secrets, and who reads them", shown=(Table("Secrets: no value is in the templates", heads, rows),)
    )


def _row(material: Material, secret: Subject, rights: Rights) -> tuple[Cell, ...]:
    attachments = [each for each in material.app.resources(ATTACHMENT) if secret_of(each) == secret]
    schedules = [each for each in material.app.resources(ROTATION) if secret_of(each) == secret]
    names = {material.name(each) for each in (secret, *attachments)}
    names.add(f"secretsmanager secret:{written(secret.get('Name') or '-')}-??????")
    reading = [who for who, held in rights.items() if any(_reads(each, names) for each in held)]
    title, name = material.title(secret), material.name(secret)
    logins = (each.referred(each.get("TargetId")) for each in attachments)
    return (
        name,
        title if title != name else "; ".join(f"the login of {material.name(each)}" for each in logins if each) or "-",
        "on AWS, nobody sees it" if secret.get("GenerateSecretString") is not None else "elsewhere",
        next((_every(each) for each in schedules), "never by itself"),
        (*siblings(reading), *_others(material, secret, schedules)) or "nobody",
    )


def secret_of(subject: Subject) -> Subject | None:
    """Return the secret that a resource's `SecretId` names: directly, or through its attachment to a database."""
    found = subject.referred(subject.get("SecretId"))
    return secret_of(found) if found and found.type == ATTACHMENT else found


def _reads(right: Right, names: set[str]) -> bool:
    if not any(fnmatchcase(READING, action.lower()) for action in right.actions):
        return False
    return any(
        resource == "everything (*)" or any(fnmatchcase(name, resource) for name in names)
        for resource in right.resources
    )


def _others(material: Material, secret: Subject, schedules: list[Subject]) -> Iterator[str]:
    """Yield what reads a secret without a role of the templates: CloudFormation, and the function that changes it."""
    for each in material.app.subjects:
        if "{{resolve:secretsmanager:" in written(dict(each.properties)):
            places = (each.referred(value) for value in references(each.properties))
            if any(found and (secret_of(found) if found.type == ATTACHMENT else found) == secret for found in places):
                yield f"CloudFormation, when it makes {material.name(each)}"
    for schedule in schedules:
        if rotates := schedule.referred(schedule.get("RotationLambdaARN")):
            yield f"its rotation, {material.name(rotates)}"


def _every(schedule: Subject) -> str:
    days = schedule.get("RotationRules.AutomaticallyAfterDays")
    rate = str(schedule.get("RotationRules.ScheduleExpression") or "by a schedule")
    return f"every {days} days" if days else re.sub(r"^rate\((.*)\)$", r"every \1", rate)
