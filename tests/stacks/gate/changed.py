"""Templates after synthesis, ways to change them, and what the gate says of that."""

import copy
import re
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

from stacks.gate import judged, review
from stacks.gate.template import App, Finding
from tests.stacks.conftest import Synthesized

Templates = dict[str, dict[str, Any]]
Mutation = Callable[["Changed"], object]


class Changed:
    """An environment's templates, to be changed: resources are found by their stack's role and by type.

    `stacks` has what may have changed: only that is copied.
    """

    def __init__(self, environment: Synthesized) -> None:
        self.templates: Templates = dict(environment.synthesis.templates)
        self.stacks: set[str] = set()
        self._prefix = environment.settings.prefix

    def stack(self, role: str) -> dict[str, Any]:
        name = f"{self._prefix}-{role}"
        if name not in self.stacks:
            self.templates[name] = copy.deepcopy(self.templates[name])
            self.stacks.add(name)
        return self.templates[name]

    def find(self, role: str, type_: str, beginning: str = "") -> dict[str, Any]:
        """The first resource of a type whose logical id starts with this."""
        return next(
            resource
            for logical_id, resource in self.stack(role)["Resources"].items()
            if resource["Type"] == type_ and logical_id.startswith(beginning)
        )

    def properties(self, role: str, type_: str, beginning: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.find(role, type_, beginning)["Properties"]
        return found

    def add(self, role: str, type_: str, **properties: object) -> None:
        self.stack(role)["Resources"]["Added"] = {"Type": type_, "Properties": properties}

    def allow(self, role: str, beginning: str, actions: object, resource: object = "*", **more: object) -> None:
        """Give a role of the stack more rights, in its own policy."""
        policy = self.properties(role, "AWS::IAM::Policy", beginning)
        statement = {"Effect": "Allow", "Action": actions, "Resource": resource} | more
        policy["PolicyDocument"]["Statement"].append(statement)

    def let_in(self, role: str, type_: str, key: str, principal: object, action: str, **more: object) -> None:
        """Grant access with a resource's policy."""
        statement = {"Effect": "Allow", "Principal": principal, "Action": action, "Resource": "*"} | more
        self.properties(role, type_)[key]["Statement"].append(statement)

    def trust(self, role: str, beginning: str, principal: object) -> None:
        """Let a principal assume a role."""
        document = self.properties(role, "AWS::IAM::Role", beginning)["AssumeRolePolicyDocument"]
        document["Statement"].append({"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal})

    def open(self, role: str, beginning: str, *rules: dict[str, object]) -> None:
        group = self.properties(role, "AWS::EC2::SecurityGroup", beginning)
        group.setdefault("SecurityGroupIngress", []).extend(rules)

    def rewrite(self, role: str, type_: str, change: Callable[[str], str], beginning: str = "") -> None:
        """Change parts of a custom resource's request; raises AssertionError if nothing has changed."""
        properties = self.properties(role, type_, beginning)
        before = properties["Request"]
        parts = [before] if isinstance(before, str) else before["Fn::Join"][1]
        after = [change(part) if isinstance(part, str) else part for part in parts]
        assert after != parts
        properties["Request"] = {"Fn::Join": ["", after]}

    def replace(self, type_: str, old: str, new: str, *, of: str = "", role: str = "connectors") -> None:
        self.rewrite(role, type_, lambda part: part.replace(old, new, 1), of)

    def configure(self, key: str, value: str, connector: str = "Source") -> None:
        """Set a property of a connector's configuration. A value with a reference in it becomes another property's."""
        name, written = f'"{key}":"', f'"{key}":"{value}"'
        kind = "Custom::Connector"

        def change(part: str) -> str:
            if whole := re.search(re.escape(name) + '[^"]*"', part):
                return part.replace(whole[0], written)
            if name in part:
                return part.replace(name, f'{written},"other":"')
            return part

        try:
            self.rewrite("connectors", kind, change, f"{connector}Connector")
        except AssertionError:
            start = '"connectorConfiguration":{'
            self.replace(kind, start, f"{start}{written},", of=f"{connector}Connector")

    def broker(self, name: str, value: str) -> None:
        """Set a property of the brokers' configuration."""
        properties = self.properties("streaming", "AWS::MSK::Configuration")
        lines = [line for line in properties["ServerProperties"].splitlines() if not line.startswith(f"{name}=")]
        properties["ServerProperties"] = "\n".join([*lines, f"{name}={value}"])

    def set(self, role: str, type_: str, path: str, value: object, beginning: str = "") -> None:
        """Set a property, by its keys with `/` between them; None removes it."""
        *way, last = path.split("/")
        place = self._at(role, type_, way, beginning)
        if value is None:
            del place[_key(place, last)]
        else:
            place[_key(place, last)] = value

    def append(self, role: str, type_: str, path: str, value: object, beginning: str = "") -> None:
        """Add an element to a list."""
        self._at(role, type_, path.split("/"), beginning).append(value)

    def attribute(self, role: str, type_: str, name: str, value: object, beginning: str = "") -> None:
        """Set what isn't a property of a resource, such as its DeletionPolicy."""
        self.find(role, type_, beginning)[name] = value

    def section(self, role: str, name: str, value: object) -> None:
        """Set a section of a template."""
        self.stack(role)[name] = value

    def take_out(self, role: str, type_: str) -> None:
        """Take out every resource of a type."""
        resources = self.stack(role)["Resources"]
        for name in [name for name, resource in resources.items() if resource["Type"] == type_]:
            del resources[name]

    def _at(self, role: str, type_: str, path: list[str], beginning: str) -> Any:
        place: Any = self.properties(role, type_, beginning)
        for key in path:
            place = place[_key(place, key)]
        return place


def errors(environment: Synthesized, mutate: Mutation) -> list[Finding]:
    """The gate's errors on the changed templates, with all acceptances unchanged."""
    changed = Changed(environment)
    mutate(changed)
    found = review(changed.templates, environment.settings, environment.synthesis.accepted)
    return [finding for finding in found if finding.level == "error"]


def refusing(environment: Synthesized, mutate: Mutation, line: str) -> list[str]:
    """The lines of the gate's errors where templates were changed, or of all if none there begins with `line`.

    Judging every stack takes five times as long, and only a subnet's errors are of what another stack puts into it.
    """
    changed = Changed(environment)
    mutate(changed)
    app, accepted = App(settings=environment.settings, templates=changed.templates), environment.synthesis.accepted
    for stacks in (changed.stacks, changed.templates):
        found = [finding.message for finding in judged(app, accepted, stacks) if finding.level == "error"]
        if any(message.startswith(line) for message in found):
            break
    return found


def port(number: int, **source: object) -> dict[str, object]:
    return {"IpProtocol": "tcp", "FromPort": number, "ToPort": number} | source


def _key(place: Any, key: str) -> Any:
    return int(key) if isinstance(place, list) else key


# Mutations that call the method of that name.
allow, open_, let_in, set_ = (partial(methodcaller, name) for name in ("allow", "open", "let_in", "set"))
