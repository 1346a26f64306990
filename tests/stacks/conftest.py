"""Both environments synthesized once for all tests, with cdk-nag, as templates by the stack's role.

CDK is imported when a test wants it: the unit tests of this folder don't.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from settings.load import load

if TYPE_CHECKING:
    from aws_cdk.assertions import Template

    from operate.synth import Synthesis


@dataclass(frozen=True)
class Synthesized:
    """An environment's synthesis: `dev["network"]` is that stack's template for assertions."""

    synthesis: "Synthesis"
    by_role: Mapping[str, "Template"]

    def __getitem__(self, role: str) -> "Template":
        return self.by_role[role]

    def resources(self, role: str, type_: str) -> dict[str, Any]:
        """The stack's resources of a type, by logical id."""
        return dict(self.by_role[role].find_resources(type_))


def synthesized(name: str, folder: Path) -> Synthesized:
    # Node.js, which the first one chooses, is started when CDK is imported.
    from operate.synth import synthesize  # isort: skip
    from aws_cdk.assertions import Template

    synthesis = synthesize(load(name), folder / name, nag=True)
    by_role = {
        stack.removeprefix(f"{name}-cdc-lake-"): Template.from_string(json.dumps(template))
        for stack, template in synthesis.templates.items()
    }
    return Synthesized(synthesis, by_role)


@pytest.fixture(scope="session")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return synthesized("dev", tmp_path_factory.mktemp("cdk.out"))


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return synthesized("prod", tmp_path_factory.mktemp("cdk.out"))
