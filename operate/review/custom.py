"""Custom resources: what each requests, the functions behind it, and their rights."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from operate.review.material import Material, siblings
from operate.review.roles import Right, holders_rights, role_of
from operate.review.words import in_words
from stacks.gate.template import Subject, plain_text, request_of, written

# Every function may do this, so it characterizes none.
_EVERY = frozenset({"logs:CreateLogStream", "logs:PutLogEvents", "logs:CreateLogGroup"})
# Longer texts in a request are files and scripts.
_LONG = 60
_IN_NETWORK = frozenset({"ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces"})


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Custom resources of one kind: their names, their handler's description, and its rights.

    `asked`: the contents of each request. `network`: whether the functions run in the VPC.
    """

    type: str
    names: tuple[str, ...]
    about: str
    asked: tuple[tuple[str, tuple[str, ...]], ...]
    functions: tuple[str, ...]
    rights: tuple[Right, ...]
    network: bool

    @property
    def may(self) -> tuple[str, ...]:
        return in_words(dict.fromkeys(action for right in self.rights for action in right.actions))


def custom_resources(material: Material) -> tuple[Kind, ...]:
    found: dict[str, list[Subject]] = {}
    for subject in material.app.subjects:
        if subject.type.startswith("Custom::") or subject.type == "AWS::CloudFormation::CustomResource":
            found.setdefault(subject.type, []).append(subject)
    rights = dict(holders_rights(material))
    return tuple(_kind(material, type_, subjects, rights) for type_, subjects in sorted(found.items()))


def _kind(
    material: Material, type_: str, subjects: list[Subject], rights: Mapping[tuple[str, str], tuple[Right, ...]]
) -> Kind:
    functions = {
        (function.stack, function.id): function for subject in subjects for function in _functions(material, subject)
    }
    roles = [role for function in functions.values() if (role := role_of(function))]
    may = {right for role in roles for right in rights.get(role, ()) if not set(right.actions) <= _EVERY}
    return Kind(
        type=type_.removeprefix("Custom::"),
        names=siblings(material.name(subject.stack, subject.id) for subject in subjects),
        about=next((text for function in functions.values() if (text := _about(material, function))), ""),
        asked=tuple((material.name(each.stack, each.id), tuple(_asked(each))) for each in subjects),
        functions=siblings(material.name(*place) for place in functions),
        rights=tuple(sorted(right for right in may if not set(right.actions) <= _IN_NETWORK)),
        network=any(function.get("VpcConfig") for function in functions.values()),
    )


def _functions(material: Material, subject: Subject) -> Iterator[Subject]:
    """Find the functions that do the work: those that the framework's function calls, or the named one itself."""
    target = subject.target(subject.get("ServiceToken"))
    if target is None:
        return
    entry = material.subject(target)
    variables = entry.get("Environment.Variables") or {}
    called = [variables.get(f"USER_{name}_FUNCTION_ARN") for name in ("ON_EVENT", "IS_COMPLETE")]
    places = [place for value in called if value and (place := entry.target(value))]
    yield from (material.subject(place) for place in places or [target])


def _about(material: Material, function: Subject) -> str:
    """Read a function's purpose: its description, or the first line of its module, which is among the assets."""
    if text := function.get("Description"):
        return material.readable(function.stack, written(text))
    module = str(function.get("Handler")).rpartition(".")[0].replace(".", "/")
    asset = plain_text(function.get("Code.S3Key")).partition(".")[0]
    path = material.folder / f"asset.{asset}" / f"{module}.py"
    if not path.is_file():
        return ""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.split(r"\n\n", text)[0].replace("\n", " ")


def _asked(subject: Subject) -> Iterator[str]:
    request = request_of(subject.resource)
    if request is None:
        return
    for key, value in sorted(request.items()):
        match value:
            case list():
                names = [each.get("name") or each.get("file") for each in value if isinstance(each, dict)]
                shown = ", ".join(str(name) for name in names if name)
                yield f"{key}: {_known(shown) if shown else len(value)}"
            case dict():
                yield f"{key}: {len(value)} {'entry' if len(value) == 1 else 'entries'}"
            case _:
                text = str(value)
                yield f"{key}: {_known(text) if len(text) <= _LONG else f'{len(text)} characters'}"


def _known(text: str) -> str:
    return text.replace("\0", "(known at deployment)")
