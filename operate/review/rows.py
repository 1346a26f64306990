"""What a page consists of: sections of sentences, tables and drawings, each shown or folded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
# A sentence, or several below each other.
Cell = str | tuple[str, ...]
# Longer lists are shown by their number.
FEW = 5


class Table(NamedTuple):
    """Rows of as many cells as there are heads; `narrow`: of figures, which need no whole width."""

    caption: str
    heads: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    narrow: bool = False


class Drawing(NamedTuple):
    """A drawing in Graphviz's language, and in Mermaid's."""

    caption: str
    dot: str
    mermaid: str


Part = str | Table | Drawing


@dataclass(frozen=True, kw_only=True)
class Section:
    """What one reads at once, and what is `folded` below a line that says what it is."""

    title: str
    shown: Sequence[Part] = ()
    fold: str = ""
    folded: Sequence[Part] = ()


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Collect the values of each key, in the order in which the keys come."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def several(names: Sequence[str], what: str) -> str:
    """Name a few, or say how many there are."""
    return ", ".join(names) if len(names) <= FEW else f"{len(names)} {what}, such as {names[0]}"


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def siblings(names: Iterable[str]) -> tuple[str, ...]:
    """Merge names of one place: `Handler/OnEvent` and `Handler/IsComplete` in one text."""
    found = grouped((name.rpartition("/")[0], name.rpartition("/")[2]) for name in sorted(set(names)))
    return tuple(f"{parent}/{' and '.join(lasts)}" if parent else ", ".join(lasts) for parent, lasts in found.items())
