"""Compares two syntheses: what CloudFormation would do to each resource that differs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from operate.changes.update_rules import EFFECTS, Effect, Path, effect_of, fixed_name, too_many
from stacks.gate.template import LATER, plain_text

Template = Mapping[str, Any]
Templates = Mapping[str, Template]
# Attributes that change when the resource is updated in place; nothing else in their consumers shows it.
CHANGING = {"AWS::MSK::Configuration": "LatestRevision.Revision"}
NAME_TAKEN = "its name is taken by the one that it would replace"


@dataclass(frozen=True, kw_only=True)
class Touched:
    """A resource or export that a change touches: its effect, and a note on it."""

    stack: str
    type: str
    name: str
    effect: Effect
    why: str = ""


def touched(before: Templates, after: Templates) -> list[Touched]:
    """Return everything that deploying `after` over `before` touches, by stack and name."""
    found: list[Touched] = []
    imported = {name for template in before.values() for name in _imports(template)}
    for stack in sorted({*before, *after}):
        old, new = before.get(stack, {"Resources": {}}), after.get(stack, {"Resources": {}})
        resources = _Stack(stack, old, new).touched()
        found += resources
        found += _exports(stack, old, new, imported, {each.name for each in resources if each.effect == "replaced"})
    return found


class _Stack:
    def __init__(self, stack: str, before: Template, after: Template) -> None:
        self._stack = stack
        self._before: Mapping[str, Any] = before["Resources"]
        self._after: Mapping[str, Any] = after["Resources"]
        self._found: dict[str, Touched] = {}

    def touched(self) -> list[Touched]:
        """Check all resources until replacements touch no further one."""
        while True:
            known = dict(self._found)
            for name in sorted({*self._before, *self._after}):
                if touched := self._resource(name):
                    self._found[name] = touched
            if known == self._found:
                return [self._found[name] for name in sorted(self._found)]

    def _resource(self, name: str) -> Touched | None:
        before, after = self._before.get(name), self._after.get(name)
        if before is None:
            return self._say(name, self._after[name]["Type"], "new", "")
        if after is None:
            kept = "kept, without a stack" if before.get("DeletionPolicy", "Delete") != "Delete" else ""
            return self._say(name, before["Type"], "gone", kept)
        differences = list(self._differences(before.get("Properties", {}), after.get("Properties", {})))
        effects = [effect_of(after["Type"], path, old, new) for path, old, new in differences]
        if why := too_many(after["Type"], [path for path, _, _ in differences]):
            effects.append(("refused", why))
        if any(before.get(policy) != after.get(policy) for policy in ("DeletionPolicy", "UpdateReplacePolicy")):
            effects.append(("in place", ""))
        if not effects:
            return None
        effect, why = max(effects, key=lambda found: EFFECTS.index(found[0]))
        if effect == "replaced" and (fixed := fixed_name(after["Type"], after.get("Properties", {}))):
            same = fixed_name(after["Type"], before.get("Properties", {})) == fixed
            effect, why = ("refused", NAME_TAKEN) if same else (effect, why)
        return self._say(name, after["Type"], effect, why)

    def _say(self, name: str, type_: str, effect: Effect, why: str) -> Touched:
        return Touched(stack=self._stack, type=type_, name=name, effect=effect, why=why)

    def _differences(self, before: Any, after: Any) -> Iterator[tuple[Path, Any, Any]]:
        yield from _differences(_readable(before), _readable(after), ())
        for path, value in _leaves(_readable(after), ()):
            if any(self._referred(value)):
                yield path, value, value

    def _referred(self, value: Any) -> Iterator[str]:
        """Name the resources in a value whose attributes change with this deployment."""
        text = json.dumps(value)
        for name, resource in self._found.items():
            if f'"{name}"' not in text and f"<{name}" not in text:
                continue
            changing = CHANGING.get(resource.type)
            if resource.effect == "replaced" or (resource.effect == "in place" and changing and changing in text):
                yield name


def short_type(type_: str) -> str:
    """Shorten a resource's type for people: `RDS DBCluster`, `Connector`."""
    return type_.removeprefix("AWS::").removeprefix("Custom::").replace("::", " ")


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    """Every place where the properties of two resources differ, with both values; requests are parsed."""
    yield from _differences(_readable(before), _readable(after), ())


def _readable(properties: Mapping[str, Any]) -> Any:
    match properties.get("Request"):
        case {"json": opened}:  # already parsed by operate/diff/normal_form.py
            return opened
    if set(properties) <= {"ServiceToken", "Request"} and "Request" in properties:
        return json.loads(plain_text(_named(properties["Request"])), strict=False)
    return properties


def _named(value: Any) -> Any:
    """Write references into a text as `<name.attribute>`; plain_text alone would make them equal."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return {"Fn::Join": [separator, [_named(part) for part in parts]]}
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::ImportValue": name}:
            return f"<{name}>"
        case str():
            return value
    return LATER


def _differences(before: Any, after: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Every place where two values differ; lists of different lengths are compared as a whole."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and not _is_function(before) and not _is_function(after):
        for key in sorted({*before, *after}):
            yield from _differences(before.get(key), after.get(key), (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for old, new in zip(before, after, strict=True):
            yield from _differences(old, new, (*path, "*"))
    else:
        yield path, before, after


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and not _is_function(value):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, (*path, "*"))
    else:
        yield path, value


def _is_function(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(("Fn::", "Ref"))


def _imports(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(name := value.get("Fn::ImportValue"), str):
            yield name
        for inner in value.values():
            yield from _imports(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _imports(inner)


def _exports(
    stack: str, before: Template, after: Template, imported: set[str], replaced: set[str]
) -> Iterator[Touched]:
    """Imported exports that would change or disappear, which CloudFormation refuses."""
    now = {
        output["Export"]["Name"]: output["Value"] for output in after.get("Outputs", {}).values() if "Export" in output
    }
    for output in before.get("Outputs", {}).values():
        name = output.get("Export", {}).get("Name")
        if name not in imported:
            continue
        changed = name not in now or now[name] != output["Value"]
        if changed or any(f'"{resource}"' in json.dumps(output["Value"]) for resource in replaced):
            short = name.rpartition(":")[2].removeprefix("ExportsOutput")
            yield Touched(stack=stack, type="export", name=short, effect="refused", why="another stack imports it")
