"""Changes in the requests of our custom resources, key by key: CDK's comparison doesn't see them.

Connectors' configurations, steps' arguments, topics, plugins and the source's preparation are strings to
CloudFormation.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from operate.changes.compare import short_type
from operate.diff.meanings import meaning
from operate.diff.names import from_to, resource, short, value
from operate.diff.normal_form import Template

NOT_THERE = object()
_VERSION = re.compile(r"[-_.]v?\d.*$")


def requests(stack: str, before: Template, after: Template) -> Iterator[str]:
    """Return a line for each changed key in the requests of the custom resources that a stack keeps."""
    for name, new in sorted(after["Resources"].items()):
        old = before["Resources"].get(name)
        if old is None or not new["Type"].startswith("Custom::") or old["Type"] != new["Type"]:
            continue
        was, is_ = (_readable(new["Type"], _request(each)) for each in (old, new))
        for key in sorted(was.keys() | is_.keys()):
            if was.get(key, NOT_THERE) != is_.get(key, NOT_THERE):
                said = f"{stack}/{resource(name)} ({short_type(new['Type'])})"
                yield f"{said}: {_change(new['Type'], key, was.get(key, NOT_THERE), is_.get(key, NOT_THERE))}"


def _change(type_: str, key: str, before: Any, after: Any) -> str:
    if before is NOT_THERE:
        said = f"{key}: new, {short(value(after))}" if after is not True else f"{key}: new"
    elif after is NOT_THERE:
        said = f"{key}: gone, was {short(value(before))}" if before is not True else f"{key}: gone"
    else:
        said = f"{key}: {from_to(before, after)}"
    means = meaning(type_, key)
    return f"{said}. {means[0].upper()}{means[1:]}" if means else said


def _request(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request in its normal form; other custom resources have the properties directly."""
    properties: Mapping[str, Any] = found.get("Properties", {})
    match properties.get("Request"):
        case {"json": dict() as opened}:
            return opened
    return {name: each for name, each in properties.items() if name != "ServiceToken"}


def _readable(type_: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Write a request as keys and values: lists of named items by name, a command by its options."""
    found: dict[str, Any] = {}
    for key, each in request.items():
        match type_, key:
            case "Custom::EmrStep", "arguments":
                found |= _under("arguments", _options(each))
            case "Custom::EmrStep", "further":
                for step in each:
                    found |= _under(f"step {step['name']}", _options(step["arguments"]))
            case "Custom::Topics", "topics":
                for topic in each:
                    settings = {name: topic[name] for name in topic if name not in ("name", "config")}
                    found |= _under(f"topic {topic['name']}", settings | dict(topic.get("config", {})))
            case "Custom::KubernetesConnector" | "Custom::KubernetesObjects", "objects":
                found |= _manifests(each)
            case "Custom::Plugin", "releases":
                for release in each:
                    found |= _under(f"release {_VERSION.sub('', release['file'])}", release)
            case _:
                found |= _under(key, each) if isinstance(each, Mapping) else {key: each}
    return found


def _manifests(objects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Write Kubernetes objects by kind and name; their labels add nothing."""
    found: dict[str, Any] = {}
    for each in objects:
        parts = {name: part for name, part in each.items() if name not in ("apiVersion", "kind", "metadata")}
        found |= _under(f"{each['kind']} {each['metadata']['name']}", parts or {"there": True})
    return found


def _under(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested keys, separated by a blank."""
    found: dict[str, Any] = {}
    for key, each in values.items():
        found |= _under(f"{name} {key}", each) if isinstance(each, Mapping) else {f"{name} {key}": each}
    return found


def _options(arguments: Sequence[str]) -> dict[str, Any]:
    """Parse a spark-submit command: options by name, `--conf` and the like by key, the rest by position."""
    found: dict[str, Any] = {}
    place, index = 0, 0
    while index < len(arguments):
        name, index = str(arguments[index]), index + 1
        if not name.startswith("--"):
            place += 1
            found[f"argument {place}"] = name
            continue
        given = str(arguments[index]) if index < len(arguments) and not str(arguments[index]).startswith("--") else None
        if name in ("--conf", "--hoodie-conf") and given is not None:
            setting, _, text = given.partition("=")
            found[f"{name} {setting}"], index = text, index + 1
        elif given is None or name in _FLAGS:
            found[name] = True
        else:
            found[name], index = given, index + 1
    return found


# Before the job's file: an option without a value would swallow it.
_FLAGS = frozenset({"--continuous", "--enable-sync", "--verbose"})
