"""Normalizes templates for comparison and reading: no asset hashes, no secrets, parsed texts.

JSON in a string (a custom resource's request, a dashboard's body) becomes `{"json": …}`, a multi-line text `{"lines":
[…]}`, a base64 file `{"file": […]}`; their references are written as `<resource.attribute>`. All else stays what
CloudFormation gets, so that template readers work on these, too. In a comparison's words, resources and values are
written as their authors named them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from contract.secret_names import is_secret
from plugins.releases.versions import MAVEN_CENTRAL
from stacks.gate.secrets import RESOLVED, may_be_a_secret
from stacks.gate.template import as_text, decoded, is_intrinsic

Template = Mapping[str, Any]
Templates = Mapping[str, Template]
NOTHING: Template = {"Resources": {}}
WIDTH = 120
ASSET = "<asset>"
SECRET = "<secret>"  # noqa: S105  what stands in a secret's place
# An asset's name is its content hash and an extension; the checksums in plugins/releases/versions.toml have none.
_ASSET = re.compile(r"\b[0-9a-f]{64}(?=\.[a-z]+\b)")
# Secret-looking settings by name whose values aren't secret.
_NO_SECRETS = frozenset({"EncryptionKeyProviderType", "HttpTokens", "SecretStringTemplate", "ServiceToken"})
# The registry gets a name: its host is only written where plugins are pinned.
_MAVEN_CENTRAL = (f"https://{MAVEN_CENTRAL}/", "<Maven Central>/")
OPENED = frozenset({"json", "lines", "file"})
# CDK appends a hash to its logical ids, and a content hash where a change is to replace the resource.
_HASH = re.compile(r"(?<=[a-z0-9])[0-9A-F]{8}(?:[0-9a-f]{16}|[0-9a-f]{32})?(?![0-9A-Za-z])")
# References are written `${Name.Attribute}` or `<Name.Attribute>`.
_REFERENCE = re.compile(r"\$\{([\w:.-]+?)\}|<([A-Za-z][\w:.-]*?)>|\{\"Fn::ImportValue\":\"([^\"]+)\"\}")
LONG = 100
AROUND = 24


def normal_form(template: Template) -> dict[str, Any]:
    """Return a template's normal form; it is its own normal form."""
    found: dict[str, Any] = _normal("", json.loads(json.dumps(template)))
    return found


def text_of(template: Template) -> str:
    """Write a normal form to a file's text: the same template gives the same text, short values on one line."""
    return "\n".join(_lines(template, "", "")) + "\n"


def _lines(value: Any, indent: str, name: str, end: str = "") -> Iterator[str]:
    short = f"{indent}{name}{json.dumps(value, sort_keys=True, ensure_ascii=False)}{end}"
    if not isinstance(value, dict | list) or (len(short) <= WIDTH and len(indent) > 1):
        yield short
        return
    first, last = "{}" if isinstance(value, dict) else "[]"
    inner = [(f"{json.dumps(key)}: ", value[key]) for key in sorted(value)] if isinstance(value, dict) else []
    inner = inner or [("", each) for each in value]
    yield f"{indent}{name}{first}"
    for number, (key, each) in enumerate(inner, start=1):
        yield from _lines(each, f"{indent} ", key, "," if number < len(inner) else "")
    yield f"{indent}{last}{end}"


def _normal(key: str, value: Any) -> Any:
    match value:
        case {"Fn::Join": ["", _]} if (opened := _opened(as_text(value))) is not None:
            return _normal(key, opened)
        case str() if (opened := _opened(value)) is not None and not _hidden(key, value):
            return _normal(key, opened)
        case str() | {"Fn::Base64": str()} if key == "PropertiesFileContent":
            return {"file": [_line(line) for line in (decoded(value) or "").splitlines()]}
        case str():
            return SECRET if _hidden(key, value) else _ASSET.sub(ASSET, value).replace(*_MAVEN_CENTRAL)
        case dict() if set(value) == {"file"}:
            return value
        case dict():
            is_opened = len(value) == 1 and not value.keys().isdisjoint(OPENED)
            return {name: _normal(key if is_opened else name, inner) for name, inner in value.items()}
        case list():
            inner = [_normal(key, each) for each in value]
            return _assets_sorted(inner) if key == "Resource" else inner
    return value


def _assets_sorted(resources: list[Any]) -> list[Any]:
    """Sort a statement's assets by what remains of their names: CDK sorts them by their hashes."""
    places = [place for place, each in enumerate(resources) if ASSET in json.dumps(each)]
    found = list(resources)
    for place, each in zip(places, sorted((resources[place] for place in places), key=json.dumps), strict=True):
        found[place] = each
    return found


def _opened(text: str) -> dict[str, Any] | None:
    if text.startswith("{") and not RESOLVED.match(text):
        try:
            found = json.loads(text, strict=False)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return {"json": found}
    return {"lines": text.split("\n")} if "\n" in text else None


def _hidden(key: str, text: str) -> bool:
    reference = RESOLVED.search(text) or re.fullmatch(r"<[^<>]+>|\d*", text)
    return is_secret(key) and key not in _NO_SECRETS and not reference and may_be_a_secret(key, text)


def _line(line: str) -> str:
    name, sign, value = line.partition("=")
    return f"{name}={SECRET}" if sign and may_be_a_secret(name, value) else line


def resource(name: str) -> str:
    """Write a logical id as its author named it: without CDK's hash."""
    return _HASH.sub("", name)


def name_of(stack: str, name: str, type_: str) -> str:
    """Name a resource for people: its stack, its name and its type, such as `RDS DBCluster`."""
    short_type = type_.removeprefix("AWS::").removeprefix("Custom::").replace("::", " ")
    return f"{stack}/{resource(name)} ({short_type})"


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
    match found:
        case None:
            return "nothing"
        case dict() if is_intrinsic(found):
            return readable(as_text(found))
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
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _part(text: str, start: int, end: int) -> str:
    first, last = max(0, start - AROUND), min(len(text), len(text) - end + AROUND)
    return f"{'…' if first else ''}{short(text[first:last])}{'…' if last < len(text) else ''}"


def short(text: str) -> str:
    """Cut the middle of a long text."""
    return text if len(text) <= LONG else f"{text[: LONG // 2]} … {text[-LONG // 2 :]}"
