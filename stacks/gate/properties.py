"""Every property of every resource must be one that somebody has judged: the list is allowed.toml.

The list has one line per property: `path = value`. A path is the property's keys with `/` between them, `*` for an
element of a list, `<any>` for any name and `~1` for a `/` in a name (as in a JSON pointer, RFC 6901); `!` marks a
property that must be there, in each element of its list.
A value is one of these, or a list of them:

- `true`, `443`, `"TLS"`: this value. `{prefix}` and the like in a text are the settings' (settings/environment.py).
- `"= streaming.brokers"`: the setting's value, or one of a list's; also what follows from settings (facts.py here).
- `"-> AWS::EC2::VPC | AWS::S3::Bucket"`: a reference to a resource of this app, of one of these types. A type without
  `::` is a module with handlers: of a function, or of those that CDK's framework calls for it.
- `"reference"`: in a custom resource's request, any reference; a function with arguments isn't one.
- `">= 1 <= 6"`: a number within bounds. `"~ db[.].*"`: a text that matches the expression as a whole.
- `"text"`: any text or number without a condition, macro or mapping: nothing follows from it.
- `"judged"`: the same, and the other rules of this folder judge it.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from stacks.gate.secrets import REFERENCE, may_be_a_secret
from stacks.gate.template import (
    INTRINSICS,
    Subject,
    as_list,
    is_intrinsic,
    nodes,
    plain_text,
    resolves,
    written,
)

ALLOWED_FILE = "stacks/gate/allowed.toml"
ALLOWED: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("allowed.toml").read_text(encoding="utf-8"))
# Of each type: costs, rights and what empties a bucket go by tags.
_EVERYWHERE = {"Tags": "judged"}
# Macros that CloudFormation may apply: only AWS's own for nested applications.
TRANSFORMS = frozenset({"AWS::Serverless-2016-10-31"})
# Parameters that a deployment looks up: CDK's own, AWS's images, and those that this app writes.
IMAGES = "/aws/service/ami-amazon-linux-latest/"
_PARAMETERS = ("/cdk-bootstrap/hnb659fds/version", IMAGES, "/{prefix}/")
# Texts with a property per line.
_FILES = frozenset({"PropertiesFileContent", "ServerProperties"})
# What stands for a reference in a value that is planned.
REFERRED = "<>"
REFERENCE_IN_TEXT = re.compile(r"<[^<>\s]+>")
_LEAST, _MOST = re.compile(r">= (\d+)"), re.compile(r"<= (\d+)")
_MOST_SHOWN = 300


def known_properties(subject: Subject) -> Iterator[str]:
    """Refuse each type, property and value that the list doesn't have, and each missing one that must be there."""
    if "Condition" in subject.resource:
        yield "depends on a condition: what is deployed would be other than what was reviewed"
    for name in sorted(_FILES & subject.properties.keys()):
        if not is_plain(subject.properties[name]):
            yield f"{name} has a function that may write more lines: write it out"
    for path, value in nodes(subject.properties):
        if path[-1:] == ("Fn::ImportValue",) and plain_text(value) not in subject.app.exports:
            yield f"imports {plain_text(value)}, which no stack of this app exports"
        elif path[-1:] == ("Fn::Join",) and _writes_json(value):
            yield f"{path[0]} has a function with a quotation mark or backslash, which may make a key: write it out"
        elif path[:1] == ("Request",) and isinstance(value, str) and "<" in value:
            yield "Request has a text with <, which the rules take for a reference: write it without"
    yield from _problems(subject, subject.type, subject.opened)


def _writes_json(join: Any) -> bool:
    """Whether a function among a joined text's parts has JSON's marks in it."""
    return any(len(path) > 2 and isinstance(text, str) and {*'"\\'} & {*text} for path, text in nodes(join))


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
            yield f"{path} is {shown(path, next(_hidden(value), value))}: it must be {_shown(allowed)}"
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
    secret = last.lower() == "value" or any(may_be_a_secret(name, text) for name in (last, *assigned))
    return "what isn't shown, since it may be a secret" if secret and isinstance(value, str) else _line(text)


def _line(text: str) -> str:
    return " ".join(text[:_MOST_SHOWN].splitlines()) + ("…" if len(text) > _MOST_SHOWN else "")


def differing(path: str, planned: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Say where what is given, whose keys follow `path`, isn't what the settings make."""
    for key in sorted(planned.keys() | given.keys()):
        wanted, found = planned.get(key), given.get(key)
        text, made = ("nothing" if value is None else written(value) for value in (found, wanted))
        if found != wanted and not (
            wanted == REFERRED and (REFERENCE.fullmatch(text) or REFERENCE_IN_TEXT.fullmatch(text))
        ):
            yield f"{path}{key} is {shown(key, text)}: the settings make {_line(made)}"


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
        case "reference":
            return REFERENCE_IN_TEXT.fullmatch(written(value)) is not None
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
    """Whether a template shows a value: it depends on no condition, macro, mapping or parameter."""
    return next(_hidden(value), None) is None


def _hidden(value: Any) -> Iterator[Any]:
    """Yield the parts of a value that a template doesn't show."""
    for _, each in nodes(value):
        names = {key for key in each if key == "Ref" or key.startswith("Fn::")} if isinstance(each, Mapping) else set()
        if names - INTRINSICS or ((names or isinstance(each, str)) and "{{resolve:" in written(each)):
            yield each


def _refers(subject: Subject, types: list[str], value: Any) -> bool:
    """Whether a value is a reference to such a resource, or joins such references with commas."""
    if isinstance(value, Mapping) and "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        parts = [part for part in parts if part != ","]
        return separator in ("", ",") and bool(parts) and all(_refers(subject, types, part) for part in parts)
    found = subject.referred(value)
    return found is not None and (found.type in types or _module(found) in types)


def called(function: Subject) -> list[Subject]:
    """Return the functions that do a function's work: those that CDK's framework calls, or itself."""
    names = [f"Environment.Variables.USER_{name}_FUNCTION_ARN" for name in ("ON_EVENT", "IS_COMPLETE")]
    framework = function.get("Handler") == "framework.onEvent"
    return [found for name in names if framework and (found := function.referred(function.get(name)))] or [function]


def _module(function: Subject) -> str:
    """Name the module whose handlers do a function's work; empty if they aren't of one."""
    handlers = [str(each.get("Handler")) for each in called(function)]
    module = handlers[0].rpartition(".")[0]
    return module if handlers in ([f"{module}.handler"], [f"{module}.on_event", f"{module}.is_complete"]) else ""


def _is_set(subject: Subject, name: str, value: Any) -> bool:
    settings = subject.settings
    if name in subject.app.following:
        wanted = subject.app.following[name]
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
    settings = subject.settings
    return re.sub(r"(?<!\$)\{([a-z_.]+)\}", lambda found: str(attrgetter(found[1])(settings)), text)


def _shown(allowed: Any) -> str:
    if allowed in ("judged", "text"):
        return "written out, without a condition or macro"
    return " or ".join(repr(kind) if isinstance(kind, str) else str(kind).lower() for kind in as_list(allowed))


def template_sections(template: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    """Reject what changes a template after its review: macros, and values passed in."""
    transforms = template.get("Transform", [])
    for transform in transforms if isinstance(transforms, list) else [transforms]:
        if written(transform) not in TRANSFORMS:
            yield "Transform", f"{written(transform)} rewrites the template after its review"
    known = tuple(each.format(prefix=prefix) for each in _PARAMETERS)
    for name, parameter in template.get("Parameters", {}).items():
        looked_up = str(parameter.get("Type")).startswith("AWS::SSM::Parameter::Value<")
        if not looked_up or not written(parameter.get("Default")).startswith(known):
            yield name, "a parameter's value isn't there to be reviewed: write it into the template"
    for name, output in template.get("Outputs", {}).items():
        if resolves(output.get("Value")):
            yield name, "an output shows a secret's value"
