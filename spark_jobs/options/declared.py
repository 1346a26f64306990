"""Options and properties declared once, as fields of dataclasses: name, default and bounds.

`read` fills a dataclass from properties; the README's tables explain their meaning and take their defaults from here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from spark_jobs.errors import SettingsError

T = TypeVar("T")
DAY_S = 24 * 3600
# Digits only: Python would also accept `1_000` and other scripts' digits.
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_ANY = re.compile(r"-?[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Number:
    """The lowest and the highest value of a number, both allowed."""

    low: float
    high: float
    whole: bool = True

    def __str__(self) -> str:
        """Return the bounds as in messages and the README."""
        return f"{self.low:,} to {self.high:,}"

    def read(self, name: str, text: str) -> float:
        """Return the number in a property's or an option's text; raises SettingsError for any other text."""
        fits = (_WHOLE if self.whole else _ANY).fullmatch(text)
        if not fits or not self.low <= float(text) <= self.high:
            raise SettingsError(f"{name}={text}: say a {'whole ' if self.whole else ''}number from {self}")
        return int(text) if self.whole else float(text)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """An option or a property: names, default, and allowed values.

    `needed_by`: who can't do without it. `unused`: why it has no use, regardless of its value. `words`: the only
    allowed values, in any case. `help`: an option's meaning.
    """

    names: tuple[str, ...]
    help: str = ""
    default: Any = None
    number: Number | None = None
    words: tuple[str, ...] = ()
    needed_by: str = ""
    unused: str = ""

    @property
    def key(self) -> str:
        """Its name in messages."""
        return self.names[0]

    def read(self, properties: Mapping[str, str]) -> Any:
        """Return a property's value, or its default; raises SettingsError, naming the key."""
        text = properties.get(self.key)
        if self.needed_by and not text:
            raise SettingsError(f"{self.key} is missing: {self.needed_by} needs it")
        if text is None:
            return self.default
        if self.number:
            return self.number.read(self.key, text)
        if isinstance(self.default, bool):
            return self.word(text, ("true", "false")) == "true"
        if isinstance(self.default, tuple):
            return listed(text)
        return self.word(text, self.words) if self.words else text

    def word(self, text: str, words: tuple[str, ...]) -> str:
        """Return the matching word, ignoring case."""
        found = {word.lower(): word for word in words}.get(text.lower())
        if found is None:
            raise SettingsError(f"{self.key}={text}: say {' or '.join(words)}")
        return found


def listed(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def declare(*names: str, default: Any = None, hidden: bool = False, **what: Any) -> Any:
    """Return a dataclass's field for an option or a property; a `hidden` one is in no `repr`."""
    declared = Declared(names=names, default=default, **what)
    needed = {} if declared.needed_by else {"default": default}
    return field(metadata={"declared": declared}, repr=not hidden, **needed)


def number(key: str, default: float | None, low: float, high: float, *, whole: bool = True, **what: Any) -> Any:
    return declare(key, default=default, number=Number(low, high, whole), **what)


def declared_in(*classes: type) -> dict[str, Declared]:
    """Return the declarations in dataclasses' fields, by name, in their order."""
    found = [one.metadata["declared"] for cls in classes for one in fields(cls) if "declared" in one.metadata]
    return {declared.key: declared for declared in found}


def read(cls: type[T], properties: Mapping[str, str], /, **decided: Any) -> T:
    """Fill a dataclass from properties; `decided` fields don't follow from one property alone."""
    values = {
        one.name: one.metadata["declared"].read(properties)
        for one in fields(cls)  # type: ignore[arg-type]
        if "declared" in one.metadata and one.name not in decided
    }
    return cls(**values, **decided)
