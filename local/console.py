"""Where commands print."""

import sys

from rich.console import Console

# In a pipe or a file nothing is wrapped or cut, so that two long names never look alike.
console = Console(width=None if sys.stdout.isatty() else 1_000)


def say(line: str) -> None:
    """Show what was done, as it is."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)
