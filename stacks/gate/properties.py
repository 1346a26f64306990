"""Every property of every resource must be one that somebody has judged: the list is allowed.toml.

The list has one line per property: `path = value`. A path is the property's keys with `/` between them, `*` for an
element of a list, `<any>` for any name and `~1` for a `/` in a name (as in a JSON pointer, RFC 6901); `!` marks a
property that must be there, in each element of its list.
A value is one of these, or a list of them:

- `true`, `443`, `"TLS"`: this value. `{prefix}` and the like in a text are the settings' (settings/environment.py).
- `"= streaming.brokers"`: the setting's value, or one of a list's; also what follows from settings (facts.py here).
- `"-> AWS::EC2::VPC | AWS::S3::Bucket"`: a reference to a resource of this app, of one of these types.
- `">= 1 <= 6"`: a number within bounds. `"~ db[.].*"`: a text that matches the expression as a whole.
- `"text"`: any text or number without a condition or macro: nothing follows from it.
- `"judged"`: the same, and the other rules of this folder judge it.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from stacks.gate.secrets import may_be_a_secret
from stacks.gate.template import INTRINSICS, Subject, as_list, is_intrinsic, nodes, plain_text, references, written

ALLOWED_FILE = "stacks/gate/allowed.toml"
ALLOWED: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("allowed.toml").read_text(encoding="utf-8"))
# Of each type: tags only name things, but for those that other rules read.
_EVERYWHERE = {"Tags": "text"}
# Macros that CloudFormation may apply: only AWS's own for nested applications.
TRANSFORMS = frozenset({"AWS::Serverless-2016-10-31"})
_LEAST, _MOST = re.compile(r">= (\d+)"), re.compile(r"<= (\d+)")


def known_properties(subject: Subject) -> Iterator[str]:
    """Refuse each type, property and value that the list doesn't have, and each missing one that must be there."""
    if "Condition" in subject.resource:
        yield "depends on a condition: what is deployed would be other than what was reviewed"
    for value in references(subject.properties):
        name = plain_text(value.get("Fn::ImportValue", ""))
        if "Fn::ImportValue" in value and name not in subject.app.exports:
            yield f"imports {name}, which no stack of this app exports"
    yield from _problems(subject, subject.type, subject.opened)


def known_objects(subject: Subject) -> Iterator[str]:
    """The same for the Kubernetes objects in a request."""
    for each in subject.objects:
        for line in _problems(subject, f"kubernetes/{each.get('kind')}", each):
            yield f"{each.get('kind')} {each.get('metadata', {}).get('name')}: {line}"


def _problems(subject: Subject, type_: str, properties: Mapping[str, Any]) -> Iterator[str]:
    if type_ not in ALLOWED:
        yield f"the review has no rules for {type_}: judge what it opens, and list it in {ALLOWED_FILE}"
        return
    for key, value in properties.items():
        yield from _judged(subject, type_, key, value)
    for path in _required(type_):
        if _lacks(properties, path.split("/")):
            yield f"{path} is missing: it must be {_shown(_allowed(type_, path))}"


def _judged(subject: Subject, type_: str, path: str, value: Any) -> Iterator[str]:
    allowed = _allowed(type_, path)
    if allowed is not None:
        if not any(_fits(subject, kind, value) for kind in as_list(allowed)):
            yield f"{path} is {shown(path, value)}: it must be {_shown(allowed)}"
    elif not value and any(line.startswith(f"{path}/") for line in lines(type_)):
        return
    elif value and isinstance(value, Mapping) and not is_intrinsic(value):
        for key, inner in value.items():
            yield from _judged(subject, type_, f"{path}/{step(key)}", inner)
    elif value and isinstance(value, list):
        for inner in value:
            yield from _judged(subject, type_, f"{path}/*", inner)
    else:
        yield f"{path} isn't in {ALLOWED_FILE}: judge what it opens, then list it there, with a reason"


def shown(path: str, value: Any) -> str:
    """Write a value for people, unless it may be a secret's, by its name or by what is in it."""
    text = written(value)
    assigned = re.findall(r"([\w.-]+)[\"']?\s*[:=]", re.sub(r"arn:\S+", "", text))
    last = path.rpartition("/")[2]
    secret = last == "value" or any(may_be_a_secret(name, text) for name in (last, *assigned))
    return "what isn't shown, since it may be a secret" if secret and isinstance(value, str) else text


def step(key: str) -> str:
    """Return a key as a step of a path."""
    return key.replace("/", "~1")


@cache
def lines(type_: str) -> Mapping[str, Any]:
    """Return a type's lines: what each property may be, by its path."""
    return _EVERYWHERE | {path.removesuffix("!"): allowed for path, allowed in ALLOWED[type_].items()}


@cache
def _required(type_: str) -> tuple[str, ...]:
    return tuple(path.removesuffix("!") for path in ALLOWED[type_] if path.endswith("!"))


def _allowed(type_: str, path: str) -> Any:
    return next((lines(type_)[each] for each in candidates(path) if each in lines(type_)), None)


def candidates(path: str) -> tuple[str, str]:
    """Return the lines that a property may have: its own, or one for any name there."""
    return path, f"{path.rpartition('/')[0]}/<any>"


def is_judged(type_: str, path: Iterable[str]) -> bool:
    """Whether a property, one above it or one within it, is more than plain text to the gate, or isn't on its list."""
    if type_ not in ALLOWED:
        return True
    steps, known = [step(key) for key in path], lines(type_)
    paths = ["/".join(steps[:end]) for end in range(1, len(steps) + 1)]
    above = [known[line] for each in paths for line in candidates(each) if line in known]
    within = [kind for line, kind in known.items() if line.startswith("/".join(steps) + "/")]
    return any(kind != "text" for kind in above[:1] or within or ["not on the list"])


def _lacks(value: Any, steps: list[str]) -> bool:
    """Whether a path leads nowhere, in any of the lists on its way."""
    if not steps:
        return value in (None, [], {})
    if steps[0] == "*":
        return not value or any(_lacks(inner, steps[1:]) for inner in as_list(value))
    key = steps[0].replace("~1", "/")
    return not isinstance(value, Mapping) or key not in value or _lacks(value[key], steps[1:])


def _fits(subject: Subject, kind: Any, value: Any) -> bool:
    match kind:
        case "judged" | "text":
            return is_plain(value)
        case str() if kind.startswith("-> "):
            return _refers(subject, kind.removeprefix("-> ").split(" | "), value)
        case str() if kind.startswith("= "):
            return _is_set(subject, kind.removeprefix("= "), value)
        case str() if kind.startswith(">= "):
            return _is_within(kind, value)
        case str() if kind.startswith("~ "):
            pattern = _filled(subject, kind.removeprefix("~ "))
            return re.fullmatch(pattern, written(value)) is not None
        case str():
            return written(value) == _filled(subject, kind)
    return type(value) is type(kind) and value == kind


def is_plain(value: Any) -> bool:
    """Whether a value can be read: it depends on no condition, macro or parameter."""
    names = {key for _, each in nodes(value) if isinstance(each, Mapping) for key in each}
    return {name for name in names if name == "Ref" or name.startswith("Fn::")} <= INTRINSICS


def _refers(subject: Subject, types: list[str], value: Any) -> bool:
    """Whether a value is a reference to such a resource, or joins such references with commas."""
    if isinstance(value, Mapping) and "Fn::Join" in value:
        parts = [part for part in value["Fn::Join"][1] if part != ","]
        return bool(parts) and all(_refers(subject, types, part) for part in parts)
    found = subject.referred(value)
    return found is not None and found.type in types


def _is_set(subject: Subject, name: str, value: Any) -> bool:
    settings = subject.facts.settings
    if name in subject.facts.following:
        wanted = subject.facts.following[name]
    else:
        try:
            wanted = attrgetter(name)(settings)
        except AttributeError:  # A section that this environment doesn't have.
            return False
    return wanted is not None and any(
        str(value) == str(each) for each in (wanted if isinstance(wanted, tuple) else (wanted,))
    )


def _is_within(kind: str, value: Any) -> bool:
    least, most = _LEAST.search(kind), _MOST.search(kind)
    if not str(value).isdigit():
        return False
    return (not least or int(value) >= int(least[1])) and (not most or int(value) <= int(most[1]))


def _filled(subject: Subject, text: str) -> str:
    """Write the settings into a text, where it has `{name}`; other braces stay."""
    settings = subject.facts.settings
    return re.sub(r"(?<!\$)\{([a-z_.]+)\}", lambda found: str(attrgetter(found[1])(settings)), text)


def _shown(allowed: Any) -> str:
    if allowed in ("judged", "text"):
        return "written out, without a condition or macro"
    return " or ".join(repr(kind) if isinstance(kind, str) else str(kind).lower() for kind in as_list(allowed))


def template_sections(template: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Reject what changes a template after its review: macros, and values passed in."""
    transforms = template.get("Transform", [])
    for transform in transforms if isinstance(transforms, list) else [transforms]:
        if written(transform) not in TRANSFORMS:
            yield "Transform", f"{written(transform)} rewrites the template after its review"
    for name, parameter in template.get("Parameters", {}).items():
        if not str(parameter.get("Type")).startswith("AWS::SSM::Parameter::Value<") and name != "BootstrapVersion":
            yield name, "a parameter's value isn't there to be reviewed: write it into the template"
    for name, output in template.get("Outputs", {}).items():
        if "{{resolve:" in str(output.get("Value")):
            yield name, "an output shows a secret's value"
