"""The committed snapshots are real templates: a test changes one and checks the report."""

from dataclasses import dataclass
from typing import Any

import pytest

from operate.diff import snapshots
from operate.diff.comparison import Changes, compare
from settings.environment import Environment
from settings.load import load


@dataclass
class Templates:
    """An environment's templates before and after; a test may change `after`."""

    environment: Environment
    before: dict[str, dict[str, Any]]
    after: dict[str, dict[str, Any]]

    def resource(self, stack: str, type_: str, name: str = "") -> dict[str, Any]:
        """The first resource of a type in a stack whose logical id starts with this."""
        found = self.after[stack]["Resources"].items()
        return next(each for key, each in found if each["Type"] == type_ and key.startswith(name))

    def properties(self, stack: str, type_: str, name: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.resource(stack, type_, name)["Properties"]
        return found

    def request(self, stack: str, type_: str, name: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.properties(stack, type_, name)["Request"]["json"]
        return found

    def compared(self) -> Changes:
        return compare(self.environment.name, "the snapshot", self.before, self.after)


@pytest.fixture(params=["dev", "prod"])
def templates(request: pytest.FixtureRequest) -> Templates:
    """Both environments, one after the other."""
    return of_environment(request.param)


@pytest.fixture
def of_prod() -> Templates:
    """For tests that don't depend on the environment."""
    return of_environment("prod")


def of_environment(name: str) -> Templates:
    environment = load(name)
    return Templates(environment, snapshots.read(environment), snapshots.read(environment))


def lines(changes: Changes, title: str) -> list[str]:
    """The lines of a section, none if it doesn't exist."""
    return [line for section in changes.sections if section.title == title for line in section.lines]
