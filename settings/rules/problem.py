"""What a rule yields, and what a rule is."""

from collections.abc import Callable, Iterator

from settings.environment import Environment

# The key in the file, with dots, and one line that says what to do instead.
Problem = tuple[str, str]
Rule = Callable[[Environment], Iterator[Problem]]
