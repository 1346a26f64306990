"""The fifty states of the USA and the District of Columbia, by the region of the Census Bureau."""

from db.sample.words import STATES
from db.tables import Row


def us_states() -> list[Row]:
    """Return the rows of us_states, numbered by name."""
    named = [(*entry.rsplit(" ", 1), region) for region, entries in STATES.items() for entry in entries]
    return [(number, *state) for number, state in enumerate(sorted(named), start=1)]
