"""The types of a rule and of the problems that it yields."""

from collections.abc import Callable, Iterator

from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline

# The key in the file, with dots, and one line that says what to do instead.
Problem = tuple[str, str]
Rule = Callable[[Environment], Iterator[Problem]]


def streamed(environment: Environment) -> Iterator[tuple[int, EnvironmentPipeline]]:
    return ((number, one) for number, one in enumerate(environment.pipelines) if not one.is_queried)
