"""How the words of a comparison write resources and values."""

import json
import re
from typing import Any

# CDK appends a hash to its logical ids, and a content hash where a change is to replace the resource.
_HASH = re.compile(r"(?<=[a-z0-9])[0-9A-F]{8}(?:[0-9a-f]{16}|[0-9a-f]{32})?(?![0-9A-Za-z])")
# References are written `${Name.Attribute}` or `<Name.Attribute>`.
_REFERENCE = re.compile(r"\$\{([\w:.-]+?)\}|<([A-Z][\w:.-]*?)>|\{\"Fn::ImportValue\":\"([^\"]+)\"\}")
LONG = 100
AROUND = 24


def resource(name: str) -> str:
    """Write a logical id as its author named it: without CDK's hash."""
    return _HASH.sub("", name)


def readable(text: str) -> str:
    """Write references in a text by the resource's name; an ARN's attribute adds nothing."""
    return _REFERENCE.sub(lambda match: f"<{_reference(match[1] or match[2] or match[3])}>", text)


def _reference(name: str) -> str:
    if name.startswith("AWS::"):
        return name
    short = name.rpartition(":")[2].removeprefix("ExportsOutput").removeprefix("FnGetAtt").removeprefix("Ref")
    return re.sub(
        r"[0-9A-F]{8}(?=[A-Z.]|$)", "", re.sub(r"([0-9A-F]{8})?(Arn|GroupId)?[0-9A-F]{8}$", "", short)
    ).removesuffix(".Arn")


def value(found: Any) -> str:
    """Write a property's value in one line."""
    match found:
        case None:
            return "nothing"
        case bool():
            return str(found).lower()
        case str():
            return readable(found) or "an empty text"
    return readable(json.dumps(found, sort_keys=True, ensure_ascii=False))


def from_to(before: Any, after: Any) -> str:
    """Write an old and a new value; of long ones only the difference and its surroundings."""
    old, new = value(before), value(after)
    if len(old) + len(new) <= LONG or before is None or after is None:
        return f"{short(old)} → {short(new)}"
    start = _same(old, new)
    end = _same(old[start:][::-1], new[start:][::-1])
    return f"{_part(old, start, end)} → {_part(new, start, end)}"


def _same(one: str, other: str) -> int:
    """Length of the common prefix."""
    return next(
        (index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )


def _part(text: str, start: int, end: int) -> str:
    first, last = max(0, start - AROUND), min(len(text), len(text) - end + AROUND)
    return f"{'…' if first else ''}{short(text[first:last])}{'…' if last < len(text) else ''}"


def short(text: str) -> str:
    """Cut the middle of a long text."""
    return text if len(text) <= LONG else f"{text[: LONG // 2]} … {text[-LONG // 2 :]}"
