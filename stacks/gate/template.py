"""Reads templates in CloudFormation's form: values that may be functions, references between stacks."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

from settings.environment import Environment
from stacks.gate.facts import following

if TYPE_CHECKING:
    from stacks.gate.grants import Grant

Resource = Mapping[str, Any]
Templates = Mapping[str, Mapping[str, Any]]
# A resource: its stack and logical id.
Place = tuple[str, str]
# A stack, a logical id, and the line.
Problem = tuple[str, str, str]
Level = Literal["error", "warning"]
# Placeholder for a reference. A secret's value is one only as `{{resolve:…}}`.
LATER = "\0"
# Templates that are only compared need no settings: no rule judges them.
_NO_SETTINGS = cast("Environment", None)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A rule's finding: `stack` and logical id of the resource, and one line that states the problem."""

    rule: str
    level: Level
    stack: str
    resource: str
    message: str

    def __str__(self) -> str:
        return f"{self.level}: {self.rule}: {self.stack}/{self.resource}: {self.message}"


@dataclass(frozen=True, kw_only=True, eq=False)
class App:
    """All templates of an environment, by stack name, its settings, and which stacks are protected against deletion."""

    settings: Environment = _NO_SETTINGS
    templates: Templates
    protected: Mapping[str, bool] = field(default_factory=dict)

    @cached_property
    def following(self) -> Mapping[str, Any]:
        """What follows from the settings (facts.py)."""
        return following(self.settings)

    @cached_property
    def exports(self) -> Mapping[str, tuple[str, Any]]:
        """What stacks hand on to each other: stack and value, by name."""
        return {
            plain_text(output["Export"]["Name"]): (stack, output["Value"])
            for stack, template in self.templates.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    def target(self, stack: str, value: Any) -> Place | None:
        """Return the place of the resource that a property refers to, in this or another stack."""
        match value:
            case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
                return (stack, name) if name in self.templates[stack]["Resources"] else None
            case {"Fn::ImportValue": name} if plain_text(name) in self.exports:
                return self.target(*self.exports[plain_text(name)])
        return None

    def at(self, stack: str, logical_id: str) -> "Subject":
        return Subject(app=self, stack=stack, id=logical_id, resource=self.templates[stack]["Resources"][logical_id])

    @cached_property
    def _by_type(self) -> dict[str, list["Subject"]]:
        found: dict[str, list[Subject]] = {}
        for subject in self.subjects:
            found.setdefault(subject.type, []).append(subject)
        return found

    @cached_property
    def subjects(self) -> "tuple[Subject, ...]":
        """All resources, by stack and logical id."""
        return tuple(
            Subject(app=self, stack=stack, id=logical_id, resource=resource)
            for stack, template in self.templates.items()
            for logical_id, resource in sorted(template["Resources"].items())
        )

    def resources(self, *types: str) -> Iterator["Subject"]:
        for type_ in types:
            yield from self._by_type.get(type_, [])


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One resource, as rules see it."""

    app: App
    stack: str
    id: str
    resource: Resource

    @property
    def settings(self) -> Environment:
        return self.app.settings

    @property
    def place(self) -> Place:
        return self.stack, self.id

    @property
    def type(self) -> str:
        return str(self.resource["Type"])

    @property
    def properties(self) -> Mapping[str, Any]:
        properties: Mapping[str, Any] = self.resource.get("Properties", {})
        return properties

    @cached_property
    def opened(self) -> Mapping[str, Any]:
        """Its properties, with the JSON and files in them read: each text's keys can be judged.

        A configuration's file is `key=value` lines; references within a text are written as `<Name>`.
        """
        properties = dict(self.properties)
        for name, value in properties.items():
            match self.type, name:
                case (_, "Request") if isinstance(value, Mapping) and "json" in value:  # a normal form's
                    properties[name] = value["json"]
                case (type_, "Request") if type_.startswith("Custom::"):
                    properties[name] = json.loads(as_text(value), strict=False)
                case "AWS::StepFunctions::StateMachine", "DefinitionString":
                    properties[name] = json.loads(as_text(value))
                case "AWS::MSK::Configuration", "ServerProperties":
                    properties[name] = _settings_of(plain_text(value))
                case "AWS::KafkaConnect::WorkerConfiguration", "PropertiesFileContent":
                    properties[name] = _settings_of(decoded(value) or "")
        return properties

    @cached_property
    def grants(self) -> "tuple[Grant, ...]":
        """What it allows, and whom."""
        from stacks.gate.grants import grants  # isort: skip  reads templates with this module

        return tuple(each for each in grants(self.stack, self.id, self.resource) if each.effect == "Allow")

    @property
    def objects(self) -> list[Mapping[str, Any]]:
        """The Kubernetes objects in a custom resource's request."""
        request = self.opened.get("Request") if self.type.startswith("Custom::Kubernetes") else None
        found: list[Mapping[str, Any]] = (request or {}).get("objects", [])
        return found

    def get(self, path: str) -> Any:
        """Read a property by its dotted path; None if it is missing."""
        value: Any = self.properties
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def target(self, value: Any) -> Place | None:
        """Return the place of what a value of this resource refers to."""
        return self.app.target(self.stack, value)

    def referred(self, value: Any) -> "Subject | None":
        """Return the resource that a value of this one refers to."""
        target = self.target(value)
        return None if target is None else self.app.at(*target)


Rule = Callable[[Subject], Iterator[str]]
# The functions that show their value as it is read here; others hide it, as a mapping does.
INTRINSICS = frozenset({"Ref", *(f"Fn::{name}" for name in ("Base64", "GetAtt", "ImportValue", "Join"))})
# The properties that are policies.
DOCUMENTS = frozenset({"AssumeRolePolicyDocument", "KeyPolicy", "PolicyDocument", "ResourcePolicy"})
_EVERYTHING = {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


def is_intrinsic(value: Any) -> bool:
    """Whether a value is one of CloudFormation's functions."""
    return isinstance(value, dict) and len(value) == 1 and all(key == "Ref" or key.startswith("Fn::") for key in value)


def plain_text(value: Any) -> str:
    """Return a property as text; LATER stands for each part that is known only at deployment."""
    match value:
        case str():
            return value
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(plain_text(part) for part in parts)
        case _:
            return LATER


def decoded(value: Any) -> str | None:
    """Decode a property in base64, encoded here or by CloudFormation; None if it can't be read."""
    match value:
        case str():
            return base64.b64decode(value).decode()
        case {"Fn::Base64": text}:
            return plain_text(text)
        case _:
            return None


def written(value: Any) -> str:
    """Write a resolved value as cdk-nag's findings do (its flattenCfnReference, 3.0.2)."""
    match value:
        case str():
            return value
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Fn::ImportValue": name}:
            return written(name)
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(written(part) for part in parts)
        case _:
            return json.dumps(value, separators=(",", ":"), sort_keys=True)


def request_of(resource: Resource) -> dict[str, Any] | None:
    """Read the `Request` of a custom resource; None for any other resource."""
    if not str(resource["Type"]).startswith("Custom::") or "Request" not in resource.get("Properties", {}):
        return None
    request: dict[str, Any] = json.loads(plain_text(resource["Properties"]["Request"]), strict=False)
    return request


def documents(properties: Any) -> Iterator[Mapping[str, Any]]:
    """Yield each policy document in a resource's properties; some are JSON as text.

    An unreadable one counts as allowing everything.
    """
    for path, value in nodes(properties):
        if path and path[-1] in DOCUMENTS:
            yield _document(value)


def _document(value: Any) -> Mapping[str, Any]:
    found: Any = value["json"] if isinstance(value, Mapping) and set(value) == {"json"} else value  # a normal form's
    try:
        found = json.loads(written(found)) if isinstance(found, str) or is_intrinsic(found) else found
    except ValueError:
        found = None
    return found if isinstance(found, Mapping) and "Statement" in found else _EVERYTHING


def as_text(value: Any) -> str:
    """Write a text with functions in it: references as `<Resource.Attribute>`, others as `<Function arguments>`.

    What is joined to other texts has no quote, so surrounding JSON stays JSON.
    """
    match value:
        case str() | {"Ref": _} | {"Fn::GetAtt": _}:
            return written(value)
        case {"Fn::Join": [str(separator), [*parts]]}:
            return separator.join(part if isinstance(part, str) else as_text(part).replace('"', "'") for part in parts)
        case {"Fn::ImportValue": name}:
            return f"<{as_text(name)}>"
        case dict() if len(value) == 1:
            name, arguments = next(iter(value.items()))
            return f"<{name.removeprefix('Fn::')} {', '.join(map(as_text, as_list(arguments)))}>"
    return str(value)


def _settings_of(file: str) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in file.splitlines())}


def references(value: Any) -> Iterator[Any]:
    """Every reference in a property, to its own stack or to another."""
    kinds = {"Ref", "Fn::GetAtt", "Fn::ImportValue"}
    return (inner for _, inner in nodes(value) if isinstance(inner, dict) and kinds & inner.keys())


def as_list(value: Any) -> list[Any]:
    """Wrap a single value: CloudFormation accepts one in place of a list."""
    return value if isinstance(value, list) else [value]


def nodes(value: Any, *, into_functions: bool = True) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a JSON value and each one within it, with the keys that lead there, `*` for an element of a list."""
    left: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while left:
        path, value = left.pop()
        yield path, value
        if isinstance(value, dict) and (into_functions or not is_intrinsic(value)):
            left += [((*path, key), inner) for key, inner in reversed(value.items())]
        elif isinstance(value, list):
            left += [((*path, "*"), inner) for inner in reversed(value)]


def strings(value: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each text in a JSON value with the keys that lead to it."""
    return ((path, inner) for path, inner in nodes(value) if path and isinstance(inner, str))


def texts(value: Any) -> Iterator[str]:
    """Yield each text in a JSON value, with what functions join to it."""
    return (written(inner) for _, inner in nodes(value) if isinstance(inner, str) or is_intrinsic(inner))


def resolves(value: Any) -> bool:
    """Whether a value has a reference that CloudFormation replaces, also one that functions join from parts."""
    return any("{{resolve:" in text for text in (str(value), *texts(value)))
