"""Subtracts two states of templates: the resources that differ, where they do, and what CloudFormation does to each."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from operate.diff.effects import EFFECTS, Effect, Path, effect_of, fixed_name, too_many
from operate.diff.normal_form import NOTHING, OPENED, Template, Templates, name_of, resource
from operate.diff.requests import keys
from stacks.gate.properties import is_judged
from stacks.gate.secrets import RESOLVED
from stacks.gate.template import LATER, Resource, is_intrinsic, nodes

# Attributes that change when the resource is updated in place; nothing else in their consumers shows it.
CHANGING = {"AWS::MSK::Configuration": "LatestRevision.Revision"}
# `./lake aws deploy` updates these stacks before the database's if that one only loses exports: a pipeline goes, say.
READERS = ("connectors", "processing")
NAME_TAKEN = "its name is taken by the one that it would replace"
# Of a resource: what changes nothing that is deployed, and its properties, which are compared one by one.
_APART = frozenset({"DependsOn", "Metadata", "Properties"})


class Change(NamedTuple):
    """A place where a resource differs: its path, empty if it is no property, and whether the gate judges it."""

    path: Path
    words: str
    old: Any
    new: Any
    judged: bool


class Changed(NamedTuple):
    """A resource or export that a deployment touches; `old` and `new` are empty where it isn't there."""

    stack: str
    type: str
    name: str
    effect: Effect
    why: str
    old: Resource
    new: Resource
    changes: tuple[Change, ...]

    @property
    def name_said(self) -> str:
        return name_of(self.stack, self.name, self.type)

    @property
    def is_custom(self) -> bool:
        return self.type.startswith("Custom::")


def changed(before: Templates, after: Templates) -> list[Changed]:
    """Return everything that deploying `after` over `before` touches, by stack and name; both are normal forms."""
    found: list[Changed] = []
    loses = only_loses(*(side.get("database", NOTHING) for side in (before, after)))
    readers = {stack: after[stack] for stack in READERS if loses and stack in after}
    imports = (each.get("Fn::ImportValue") for _, each in nodes({**before, **readers}) if isinstance(each, Mapping))
    imported = {name for name in imports if isinstance(name, str)}
    for stack in sorted({*before, *after}):
        old, new = before.get(stack, NOTHING), after.get(stack, NOTHING)
        resources = _resources(stack, old["Resources"], new["Resources"])
        found += resources
        found += _exports(stack, old, new, imported, {each.name for each in resources if each.effect == "replaced"})
    return found


def only_loses(before: Template, after: Template) -> bool:
    """Whether a stack's exports get fewer, and none is new."""
    return exports(after) < exports(before)


def exports(template: Template) -> set[str]:
    return {name for name, output in template.get("Outputs", {}).items() if "Export" in output}


def _resources(stack: str, before: Mapping[str, Resource], after: Mapping[str, Resource]) -> list[Changed]:
    """Check all resources until replacements touch no further one."""
    pairs, found = list(_pairs(stack, before, after)), dict[str, Changed]()
    while True:
        now = {each.name: touched for each in pairs if (touched := _touched(each, found))}
        if now == found:
            return list(now.values())
        found = now


def _pairs(stack: str, before: Mapping[str, Resource], after: Mapping[str, Resource]) -> Iterator[Changed]:
    """Compare each resource's states; where only CDK's hash in a name is another, as one that goes."""
    come = {(resource(name), after[name]["Type"]): name for name in after if name not in before}
    gone = {name: (resource(name), before[name]["Type"]) for name in sorted(before) if name not in after}
    followed = {name: come.pop(key) for name, key in gone.items() if key in come}
    for name in sorted({*before, *after} - set(followed.values())):
        old, new = before.get(name, {}), after.get(followed.get(name, name), {})
        effect: Effect = "in place" if old else "new"
        why: list[str] = []
        if name in gone:
            effect = "gone"
            why += ["kept, without a stack"] if old.get("DeletionPolicy", "Delete") != "Delete" else []
            why += ["another takes its place"] if new else []
        changes = tuple(_changes(old, new)) if old and new else ()
        yield Changed(stack, (new or old)["Type"], name, effect, ", and ".join(why), old, new, changes)


def _changes(old: Resource, new: Resource) -> Iterator[Change]:
    for key in sorted({*old, *new} - _APART):
        if old.get(key) != new.get(key):
            yield Change((), key, old.get(key), new.get(key), judged=True)
    type_, before, after = new["Type"], old.get("Properties", {}), new.get("Properties", {})
    if not type_.startswith("Custom::"):
        for place, was, is_ in _differences(before, after, ()):
            path = tuple(key for key in place if key not in OPENED)
            judged = is_judged(type_, path) or bool(RESOLVED.search(str(is_)))
            yield Change(path, ".".join(key for key in path if key != "*"), was, is_, judged)
        return
    both = [keys(type_, side) for side in (before, after)]
    for words, asked in sorted((both[0] | both[1]).items()):
        was, is_ = (side[words].value if words in side else None for side in both)
        if was != is_:
            yield Change(asked.of_handler, words, was, is_, is_judged(asked.type, asked.path))


def _touched(each: Changed, found: Mapping[str, Changed]) -> Changed | None:
    """Return a resource with its effect, by its own changes and those of what it refers to; None without any."""
    if each.effect != "in place":
        return each
    places = [change[:1] + change[2:4] for change in each.changes if change.path]
    properties = each.new.get("Properties", {})
    if _refers(properties, found):
        places += [(path, value, value) for path, value in _leaves(each.type, properties) if _refers(value, found)]
    effects: list[tuple[Effect, str]] = [effect_of(each.type, *place) for place in places]
    effects += [("in place", "") for change in each.changes if not change.path]
    if many := too_many(each.type, [path for path, *_ in places]):
        effects.append(("refused", many))
    if not effects:
        return None
    effect, why = max(effects, key=lambda found: (EFFECTS.index(found[0]), bool(found[1])))
    was, is_ = (fixed_name(each.type, side.get("Properties", {})) for side in (each.old, each.new))
    if effect == "replaced" and is_ and was == is_:
        effect, why = "refused", NAME_TAKEN
    return each._replace(effect=effect, why=why)


def _refers(value: Any, found: Mapping[str, Changed]) -> bool:
    """Whether a value refers to something whose attribute changes with this deployment."""
    text = json.dumps(value)
    return any(
        any(reference in text for reference in (f'"{name}"', f"<{name}.", f"<{name}>"))
        and (each.effect == "replaced" or (each.effect == "in place" and CHANGING.get(each.type, LATER) in text))
        for name, each in found.items()
    )


def _differences(before: Any, after: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Every place where two values differ; lists of different lengths are compared as a whole."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and not is_intrinsic(before) and not is_intrinsic(after):
        for key in sorted({*before, *after}):
            yield from _differences(before.get(key), after.get(key), (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for old, new in zip(before, after, strict=True):
            yield from _differences(old, new, (*path, "*"))
    else:
        yield path, before, after


def _leaves(type_: str, properties: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    if type_.startswith("Custom::"):
        return ((key.of_handler, key.value) for key in keys(type_, properties).values())
    found = nodes(properties, into_functions=False)
    return ((path, value) for path, value in found if is_intrinsic(value) or not isinstance(value, dict | list))


def _exports(
    stack: str, before: Template, after: Template, imported: set[str], replaced: set[str]
) -> Iterator[Changed]:
    """Imported exports that would change or disappear, which CloudFormation refuses."""
    now = {
        output["Export"]["Name"]: output["Value"] for output in after.get("Outputs", {}).values() if "Export" in output
    }
    for output in before.get("Outputs", {}).values():
        name = output.get("Export", {}).get("Name")
        if name not in imported:
            continue
        differs = name not in now or now[name] != output["Value"]
        if differs or any(f'"{each}"' in json.dumps(output["Value"]) for each in replaced):
            short = name.rpartition(":")[2].removeprefix("ExportsOutput")
            yield Changed(stack, "export", short, "refused", "another stack imports it", {}, {}, ())
