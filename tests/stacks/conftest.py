"""Environments synthesized once for all tests, with cdk-nag; their templates are found by the stack's role.

CDK is imported only when a test needs it: this folder's unit tests don't.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from settings.environment import Environment
from settings.load import load
from stacks.gate.template import as_list, plain_text, request_of
from tests.stacks.environments import environment_on_eks, many_pipelines
from tests.synthesis import shared_synthesis

ADMINISTRATOR = 'administrators = ["arn:aws:iam::222222222222:role/platform"]'

if TYPE_CHECKING:
    from aws_cdk import App, Stack

    from operate.synth import Synthesis


@dataclass(frozen=True)
class Synthesized:
    """An environment's synthesis: `dev["network"]` is that stack's template."""

    settings: Environment
    synthesis: "Synthesis"

    @cached_property
    def by_role(self) -> dict[str, dict[str, Any]]:
        beginning = f"{self.settings.prefix}-"
        return {stack.removeprefix(beginning): template for stack, template in self.synthesis.templates.items()}

    @property
    def name(self) -> str:
        return self.settings.name

    def __getitem__(self, role: str) -> dict[str, Any]:
        return self.by_role[role]

    def resources(self, role: str, type_: str) -> dict[str, Any]:
        """The stack's resources of a type, by logical id."""
        return {name: each for name, each in self[role]["Resources"].items() if each["Type"] == type_}

    def properties(self, role: str, type_: str) -> list[dict[str, Any]]:
        return [resource["Properties"] for resource in self.resources(role, type_).values()]

    def everywhere(self, type_: str) -> list[dict[str, Any]]:
        """The properties of all stacks' resources of a type."""
        return [properties for role in self.by_role for properties in self.properties(role, type_)]

    def requests(self, role: str, type_: str) -> dict[str, dict[str, Any]]:
        """The requests of the custom resources of a type, by logical id."""
        return {name: request_of(found) or {} for name, found in self.resources(role, type_).items()}

    def connectors(self) -> dict[str, dict[str, Any]]:
        """The requests of MSK Connect's connectors, by name."""
        return {each["connectorName"]: each for each in self.requests("connectors", "Custom::Connector").values()}

    def steps(self) -> dict[str, list[str]]:
        """The commands of EMR's steps, by name without the environment's prefix."""
        [request] = self.requests("processing", "Custom::EmrStep").values()
        steps = (request, *request.get("further", []))
        return {each["name"].removeprefix(f"{self.settings.prefix}-"): each["arguments"] for each in steps}

    def asset(self, address: str) -> Path:
        """The file of an asset, by its future address."""
        return self.synthesis.folder / f"asset.{address.rpartition('/')[2]}"

    def rights(self, role: str, beginning: str) -> Iterator[tuple[set[str], set[str]]]:
        """Actions and resources of the statements of the roles whose logical ids start with this."""
        for type_ in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            for policy in self.properties(role, type_):
                if any(each.get("Ref", "").startswith(beginning) for each in policy.get("Roles", [])):
                    for statement in policy["PolicyDocument"]["Statement"]:
                        resources = as_list(statement["Resource"])
                        yield {*as_list(statement["Action"])}, {plain_text(resource) for resource in resources}

    def resources_of(self, role: str, beginning: str, action: str) -> list[set[str]]:
        """The resources of each statement that gives these roles an action."""
        return [resources for actions, resources in self.rights(role, beginning) if action in actions]


def stack_alone(environment: Environment, make: Callable[["App"], "Stack"]) -> dict[str, Any]:
    """The resources, by logical id, of a stack that `make` creates in an app, without a synthesis of the others."""
    from app import _context  # isort: skip  starts Node.js
    from aws_cdk import App, Tags
    from aws_cdk.assertions import Template

    app = App(context=_context(environment), analytics_reporting=False)
    for name, value in environment.tags.items():
        Tags.of(app).add(name, value)
    found: dict[str, Any] = Template.from_stack(make(app)).to_json()["Resources"]
    return found


def synthesized(environment: Environment, folder: Path, **options: Any) -> Synthesized:
    """Synthesize for tests; `options` as shared_synthesis's."""
    return Synthesized(environment, shared_synthesis(environment, folder, **options))


@pytest.fixture(scope="session")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return synthesized(load("dev"), tmp_path_factory.mktemp("cdk.out"))


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return synthesized(load("prod"), tmp_path_factory.mktemp("cdk.out"))


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """For tests of its differences from dev: another synthesis takes seconds."""
    return synthesized(load("sandbox"), tmp_path_factory.mktemp("cdk.out"))


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """dev with all that an environment may have."""
    folder = tmp_path_factory.mktemp("many")
    return synthesized(many_pipelines(folder), folder / "cdk.out", pipelines=folder / "pipelines")


@pytest.fixture(scope="session")
def dev_on_eks(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """The environment whose pauses tests/operate/pausing tries, so that they share its synthesis."""
    folder = tmp_path_factory.mktemp("dev")
    return synthesized(environment_on_eks(folder, "dev"), folder / "cdk.out")


@pytest.fixture(scope="session")
def prod_on_eks(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """prod, with allowed addresses and an administrator of the API."""
    folder = tmp_path_factory.mktemp("prod")
    settings = environment_on_eks(folder, "prod", 'endpoint_cidrs = ["203.0.113.0/24"]', ADMINISTRATOR)
    return synthesized(settings, folder / "cdk.out", nag=False)
