"""Environments synthesized once for all tests, with cdk-nag, as templates by the stack's role.

CDK is imported only when a test needs it: this folder's unit tests don't.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from settings.environment import Environment
from settings.load import load
from stacks.gate.template import as_list, plain_text, request_of
from tests.stacks.environments import many_pipelines
from tests.synthesis import shared_synthesis

if TYPE_CHECKING:
    from aws_cdk.assertions import Template

    from operate.synth import Synthesis


@dataclass(frozen=True)
class Synthesized:
    """An environment's synthesis: `dev["network"]` is that stack's template for assertions."""

    settings: Environment
    synthesis: "Synthesis"
    by_role: Mapping[str, "Template"]

    @property
    def name(self) -> str:
        return self.settings.name

    def __getitem__(self, role: str) -> "Template":
        return self.by_role[role]

    def resources(self, role: str, type_: str) -> dict[str, Any]:
        """The stack's resources of a type, by logical id."""
        return dict(self.by_role[role].find_resources(type_))

    def properties(self, role: str, type_: str) -> list[dict[str, Any]]:
        return [resource["Properties"] for resource in self.resources(role, type_).values()]

    def requests(self, role: str, type_: str) -> dict[str, dict[str, Any]]:
        """The requests of the custom resources of a type, by logical id."""
        return {name: request_of(found) or {} for name, found in self.resources(role, type_).items()}

    def rights(self, role: str, beginning: str) -> Iterator[tuple[set[str], set[str]]]:
        """Actions and resources of the statements of the roles whose logical ids start with this."""
        for type_ in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            for policy in self.properties(role, type_):
                if any(each.get("Ref", "").startswith(beginning) for each in policy.get("Roles", [])):
                    for statement in policy["PolicyDocument"]["Statement"]:
                        resources = as_list(statement["Resource"])
                        yield {*as_list(statement["Action"])}, {plain_text(resource) for resource in resources}


def synthesized(environment: Environment, folder: Path, **options: Any) -> Synthesized:
    """Synthesize for tests; `options` as shared_synthesis's."""
    synthesis = shared_synthesis(environment, folder, **options)
    # Importing CDK starts Node.js, which the synthesis has chosen.
    from aws_cdk.assertions import Template

    by_role = {
        stack.removeprefix(f"{environment.prefix}-"): Template.from_string(json.dumps(template))
        for stack, template in synthesis.templates.items()
    }
    return Synthesized(environment, synthesis, by_role)


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
