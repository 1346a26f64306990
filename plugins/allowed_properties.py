"""The properties that an environment may add to a connector's configuration, and why others are refused.

A list of allowed properties (allowed_properties.toml), because Connect accepts any name: it silently ignores a misspelt
one, and many of the connector's own lose changes. tests/plugins/test_allowed_properties.py compares the list with the
connectors' own classes.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from contract.sizes import DERIVED_KEYS

_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_DIGITS = re.compile(r"[0-9]{1,10}")
UNKNOWN = "isn't a property that may be added here: take it out"
# For both connectors: prefixes of names, and the reason.
_SHARED = {
    **dict.fromkeys(DERIVED_KEYS, "follows from streaming.largest_event_mib and the workers' size"),
    "topic.creation.": "topics are made by the deployment; how long they keep events: streaming.topic_retention_hours",
}


@dataclass(frozen=True, kw_only=True)
class AllowedProperties:
    """The properties that may be added: numbers by their bounds, others by their values (and `why` no others).

    `refused`: why others may not, by their names' prefixes.
    """

    numbers: Mapping[str, Sequence[int]]
    words: Mapping[str, Sequence[str]]
    why: Mapping[str, str]
    refused: Mapping[str, str]

    @classmethod
    def of(cls, connector: str) -> "AllowedProperties":
        """Return the properties of the table's `source` or `sink`."""
        table = _TABLE[connector]
        begins = {begin: reason for reason, begins in table["refused"].items() for begin in begins.split()}
        return cls(numbers=table["numbers"], words=table["words"], why=table["why"], refused=begins)

    @property
    def names(self) -> frozenset[str]:
        return frozenset({*self.numbers, *self.words})

    def problem(self, name: str, value: str) -> str | None:
        """Return why a property can't be added with this value, None if it can; shows only allowed ones' values."""
        if name in self.numbers:
            low, high = self.numbers[name]
            fits = _DIGITS.fullmatch(value) is not None and low <= int(value) <= high
            return None if fits else f"must be a whole number from {low} to {high}, not {value!r}"
        if name in self.words:
            why = f": {self.why[name]}" if name in self.why else ""
            fits = value in self.words[name]
            return None if fits else f"must be {' or '.join(self.words[name])}, not {value!r}{why}"
        alike = get_close_matches(name, sorted(self.names), n=1, cutoff=0.85)
        meant = f" (is {alike[0]} meant?)" if alike else ""
        refused = {**_SHARED, **self.refused}
        begins = [begin for begin in refused if name.startswith(begin)]
        return f"{refused[max(begins, key=len)] if begins else UNKNOWN}{meant}"

    def problems(self, added: Mapping[str, str], made: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield `(property, reason)` for what can't be added to the configuration that we create.

        Repeating one of our values is fine.
        """
        for name, value in added.items():
            if value != made.get(name) and (reason := self.problem(name, value)):
                yield name, reason


OF_SOURCES, OF_SINKS = AllowedProperties.of("source"), AllowedProperties.of("sink")
