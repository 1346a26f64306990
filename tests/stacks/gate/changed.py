"""Production's templates after synthesis, and ways to change them."""

import copy
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

Templates = dict[str, dict[str, Any]]
Mutation = Callable[["Changed"], None]


class Changed:
    """Production's templates, to be changed: resources are found by their stack's role and by type."""

    def __init__(self, templates: Templates) -> None:
        self.templates = copy.deepcopy(templates)

    def stack(self, role: str) -> dict[str, Any]:
        return self.templates[f"prod-cdc-lake-{role}"]

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


def port(number: int, **source: object) -> dict[str, object]:
    return {"IpProtocol": "tcp", "FromPort": number, "ToPort": number} | source


def imported(changed: Changed, beginning: str) -> dict[str, object]:
    """Refer to a resource of the network's stack, as other stacks do."""
    for output in changed.stack("network")["Outputs"].values():
        if beginning in str(output.get("Export", {}).get("Name")):
            return {"Fn::ImportValue": output["Export"]["Name"]}
    raise KeyError(beginning)


def set_(role: str, type_: str, path: str, value: object, beginning: str = "") -> Mutation:
    """A mutation that sets one property; None removes it."""

    def mutate(changed: Changed) -> None:
        *way, last = path.split("/")
        place = changed.properties(role, type_, beginning)
        for key in way:
            place = place[key]
        if value is None:
            del place[last]
        else:
            place[last] = value

    return mutate


def take_out(role: str, type_: str) -> Mutation:
    """A mutation that removes every resource of a type from a stack."""

    def mutate(changed: Changed) -> None:
        resources = changed.stack(role)["Resources"]
        for name in [name for name, resource in resources.items() if resource["Type"] == type_]:
            del resources[name]

    return mutate


def deletion(role: str, type_: str, beginning: str = "") -> Mutation:
    return lambda changed: changed.find(role, type_, beginning).update(DeletionPolicy="Delete")


# Mutations that call the method of that name.
allow, open_, add, let_in, trusting = (
    partial(methodcaller, name) for name in ("allow", "open", "add", "let_in", "trust")
)
