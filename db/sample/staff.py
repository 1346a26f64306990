"""Regions, territories and the nine employees who sell in them."""

import random

from db.sample.places import PLACES, digits
from db.sample.words import FIRST_NAMES, TERRITORIES
from db.tables import Row

# Nobody sells in the remaining territories yet.
ASSIGNED_TERRITORIES = 49
_HEAD, _MANAGER = 2, 5

_SURNAMES = ("Ashdown", "Okafor", "Lindqvist", "Moretti", "Buchanan", "Szabo", "Kimura", "Delacroix", "Hartwell")
_TITLES = {_HEAD: "Head of Sales", _MANAGER: "Sales Manager", 8: "Inside Sales Coordinator"}


def regions() -> list[Row]:
    """Return the rows of region."""
    return list(enumerate(TERRITORIES, start=1))


def territories(source: random.Random) -> list[Row]:
    """Return the rows of territories; ids look like postal codes, and are made up."""
    named = [(name, region) for region, names in enumerate(TERRITORIES.values(), start=1) for name in names]
    keys = sorted(source.sample(range(10_000, 99_999), len(named)))
    return [(str(key), name, region) for key, (name, region) in zip(keys, named, strict=True)]


def employees(source: random.Random) -> list[Row]:
    """Return the rows of employees: a head, a manager of three, and the others who report to the head."""
    homes = [place for place in PLACES if place.country in ("USA", "UK")]
    first_names = source.sample(FIRST_NAMES, len(_SURNAMES))
    rows: list[Row] = []
    for key, (first_name, surname) in enumerate(zip(first_names, _SURNAMES, strict=True), start=1):
        home = source.choice(homes)
        birth_year = source.randint(1938, 1968)
        rows.append(
            (
                key,
                surname,
                first_name,
                _TITLES.get(key, "Sales Representative"),
                source.choice(("Ms.", "Mr.", "Dr.")),
                _date(source, birth_year),
                _date(source, source.randint(1992, 1994)),
                digits(source, home.street),
                home.city,
                home.region,
                digits(source, home.postal_code),
                home.country,
                digits(source, home.phone),
                digits(source, "####"),
                None,
                f"{first_name} knows the shelves of most customers by heart and answers every letter within a day.",
                None if key == _HEAD else _MANAGER if key in (6, 7, 9) else _HEAD,
                f"staff/{surname.lower()}.png",
            )
        )
    return rows


def employee_territories(source: random.Random) -> list[Row]:
    """Return the rows of employee_territories; `source` must be in the state that `territories` got it in."""
    keys = [str(row[0]) for row in territories(source)]
    taken = sorted(source.sample(keys, ASSIGNED_TERRITORIES))
    employees_of = [1 + number % len(_SURNAMES) for number in range(ASSIGNED_TERRITORIES)]
    source.shuffle(employees_of)
    return sorted(zip(employees_of, taken, strict=True))


def _date(source: random.Random, year: int) -> str:
    return f"{year}-{source.randint(1, 12):02}-{source.randint(1, 28):02}"
