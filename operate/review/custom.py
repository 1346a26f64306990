"""Custom resources: what each requests, the functions behind it, and what those may do."""

import ast
import re
from collections.abc import Iterator

from operate.review.material import Material, unknown_shown
from operate.review.roles import Rights
from operate.review.rows import Cell, Section, Table, siblings
from operate.review.words import in_words
from stacks.gate.properties import called
from stacks.gate.template import Subject, plain_text, written

# Every function may do this, so it characterizes none.
_USUAL = {"logs:CreateLogStream", "logs:PutLogEvents", "logs:CreateLogGroup"}
# Longer texts in a request are files and scripts.
_LONG = 60


def section(material: Material, rights: Rights) -> Section:
    found: dict[str, list[Subject]] = {}
    for subject in material.app.subjects:
        if subject.type.startswith("Custom::") or subject.type == "AWS::CloudFormation::CustomResource":
            found.setdefault(subject.type.removeprefix("Custom::"), []).append(subject)
    rows = [_row(material, kind, subjects, rights) for kind, subjects in sorted(found.items())]
    asked = [(kind, material.name(each), tuple(_asked(each)) or "-") for kind in sorted(found) for each in found[kind]]
    return Section(
        title="Custom resources, and what their functions may do",
        fold=f"{len(rows)} kinds, the functions behind them, and what the {len(asked)} resources ask for",
        folded=(
            Table("Custom resources", ("Kind", "What for", "Resources", "Functions", "May", "Runs"), rows),
            Table("What they are asked for", ("Kind", "Resource", "Request"), asked),
        ),
    )


def _row(material: Material, kind: str, subjects: list[Subject], rights: Rights) -> tuple[Cell, ...]:
    entries = [entry for subject in subjects if (entry := subject.referred(subject.get("ServiceToken")))]
    functions = {material.name(each): each for entry in entries for each in called(entry)}
    roles = [role for each in functions.values() if (role := each.referred(each.get("Role")))]
    held = [right for role in roles for right in rights.get(material.name(role), ())]
    telling = sorted(right.actions for right in held if not {*right.actions} <= _USUAL)
    return (
        kind,
        next((text for each in functions.values() if (text := _about(material, each))), "-"),
        siblings(material.name(each) for each in subjects),
        siblings(functions),
        in_words(dict.fromkeys(action for actions in telling for action in actions)) or "nothing but its log",
        "in the VPC" if any(each.get("VpcConfig") for each in functions.values()) else "outside of the VPC",
    )


def _about(material: Material, function: Subject) -> str:
    """Read a function's purpose: its description, or the first line of its module, which is among the assets."""
    if text := function.get("Description"):
        return material.readable(function.stack, written(text))
    module = str(function.get("Handler")).rpartition(".")[0].replace(".", "/")
    asset = plain_text(function.get("Code.S3Key")).partition(".")[0]
    path = material.synthesis.folder / f"asset.{asset}" / f"{module}.py"
    if not path.is_file():
        return ""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.split(r"\n\n", text)[0].replace("\n", " ")


def _asked(subject: Subject) -> Iterator[str]:
    for key, value in sorted((subject.opened.get("Request") or {}).items()):
        text = unknown_shown(str(value))
        if isinstance(value, list):
            names = [each.get("name") or each.get("file") for each in value if isinstance(each, dict)]
            text = unknown_shown(", ".join(str(name) for name in names if name)) or str(len(value))
        elif isinstance(value, dict):
            text = f"{len(value)} {'entry' if len(value) == 1 else 'entries'}"
        elif len(text) > _LONG:
            text = f"{len(text)} characters"
        yield f"{key}: {text}"
