"""A number that a property or an option takes: its default, its bounds, and the line that refuses another one."""

import re
from dataclasses import dataclass

from spark_jobs.errors import SettingsError

DAY_S = 24 * 3600
# Digits alone: Python would take `1_000`, too, and other scripts' digits.
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_ANY = re.compile(r"-?[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Number:
    """The value where none is given, if there is one; the lowest and the highest one, both allowed."""

    default: float | None
    low: float
    high: float
    whole: bool = True

    def __str__(self) -> str:
        """Return the bounds as messages and the README say them."""
        return f"{self.low:,} to {self.high:,}"

    def read(self, name: str, text: str) -> float:
        """Return the number in a property's or an option's text; raises SettingsError for any other text."""
        fits = (_WHOLE if self.whole else _ANY).fullmatch(text)
        if not fits or not self.low <= float(text) <= self.high:
            raise SettingsError(f"{name}={text}: say a {'whole ' if self.whole else ''}number from {self}")
        return int(text) if self.whole else float(text)
