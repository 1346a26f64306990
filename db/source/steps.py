"""A step of a plan."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Statements that belong together, and their purpose. `missing`: the right for it that the user lacks."""

    purpose: str
    statements: tuple[str, ...]
    missing: str | None = None

    @property
    def shown(self) -> tuple[str, ...]:
        """The statements for printing: without a password's verifier."""
        return tuple(re.sub(r" PASSWORD '[^']*'", " PASSWORD '…'", statement) for statement in self.statements)


def lines(names: Iterable[str]) -> str:
    """Write names one below the other, as a list in SQL."""
    return ",\n    ".join(names)
