"""Where commands print."""

import contextlib
import sys

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Go on without output: the exit status is the answer, and rich's own, 1, would be one."""
        with contextlib.suppress(SystemExit):
            super().on_broken_pipe()


# In a pipe or a file nothing is wrapped or cut, so that two long names stay distinguishable.
console = _Console(width=None if sys.stdout.isatty() else 1_000)
BYTES_PER_MB = 1_000_000


def megabytes(size: int | None, *, digits: int = 1, unknown: str = "-") -> str:
    return unknown if size is None else f"{size / BYTES_PER_MB:,.{digits}f} MB"


def cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"


def say(line: str) -> None:
    """Print a completed action without markup."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)
