"""The types of a rule and of the problems that it yields."""

from collections.abc import Callable, Iterable, Iterator

from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline

# The key in the file, with dots, and one line that says what to do instead.
Problem = tuple[str, str]
Rule = Callable[[Environment], Iterator[Problem]]


def in_lines(environment: Environment, problems: Iterable[Problem]) -> str:
    return "\n".join(f"environments/{environment.name}.toml: {key}: {reason}" for key, reason in problems)


def streamed(environment: Environment) -> Iterator[tuple[int, EnvironmentPipeline]]:
    return ((number, one) for number, one in enumerate(environment.pipelines) if not one.is_queried)
