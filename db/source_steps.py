"""A step of a plan."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Statements that belong together, and what they are for. `missing`: the right for it that the user lacks."""

    purpose: str
    statements: tuple[str, ...]
    missing: str | None = None


def lines(names: Iterable[str]) -> str:
    """Write names one below the other, as a list in SQL."""
    return ",\n    ".join(names)
