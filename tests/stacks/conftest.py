"""Environments synthesized once for all tests, with cdk-nag, as templates by the stack's role.

CDK is imported only when a test needs it: this folder's unit tests don't.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from settings.load import load
from stacks.gate.template import as_list, plain_text, request_of
from tests.stacks.environments import many_pipelines, mixed
from tests.synthesis import shared_synthesis

if TYPE_CHECKING:
    from aws_cdk.assertions import Template

    from operate.synth import Synthesis
    from settings.environment import Environment


@dataclass(frozen=True)
class Synthesized:
    """An environment's synthesis: `dev["network"]` is that stack's template for assertions."""

    name: str
    synthesis: "Synthesis"
    by_role: Mapping[str, "Template"]

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


def synthesized(name: str, folder: Path, *, environment: "Environment | None" = None) -> Synthesized:
    synthesis = shared_synthesis(environment or load(name), folder)
    # Importing CDK starts Node.js, which the synthesis has chosen.
    from aws_cdk.assertions import Template

    by_role = {
        stack.removeprefix(f"{name}-cdc-lake-"): Template.from_string(json.dumps(template))
        for stack, template in synthesis.templates.items()
    }
    return Synthesized(name, synthesis, by_role)


@pytest.fixture(scope="session")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return synthesized("dev", tmp_path_factory.mktemp("cdk.out"))


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return synthesized("prod", tmp_path_factory.mktemp("cdk.out"))


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """For tests of its differences from dev: another synthesis takes seconds."""
    return synthesized("sandbox", tmp_path_factory.mktemp("cdk.out"))


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """dev with three people who may connect by the VPN and reach EMR."""
    dev = load("dev")
    vpn = dev.vpn.model_copy(update={"users": ("alice", "bob", "carol.smith"), "emr_access": True})
    return synthesized("dev", tmp_path_factory.mktemp("people"), environment=dev.model_copy(update={"vpn": vpn}))


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """dev with three pipelines: orders, one of twelve tables, and one whose two tables have separate steps."""
    folder = tmp_path_factory.mktemp("many")
    environment = many_pipelines(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stacks.processing.jobs.PIPELINES", folder / "pipelines")
        return synthesized("dev", folder / "cdk.out", environment=environment)


@pytest.fixture(scope="session")
def queried(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """dev with the outbox, a query-based pipeline on its own cluster, and one on another server."""
    folder = tmp_path_factory.mktemp("queried")
    environment = mixed(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stacks.processing.jobs.PIPELINES", folder / "pipelines")
        return synthesized("dev", folder / "cdk.out", environment=environment)
