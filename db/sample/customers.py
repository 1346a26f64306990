"""Ninety-one customers, three of them by names that are taken over (docs/decisions/0013)."""

import random
import unicodedata

from db.sample.places import PLACES, Place, digits, person
from db.sample.words import LAST_NAMES
from db.tables import Row

CUSTOMERS = 91
# Two customers have never ordered.
WITHOUT_ORDERS = 2
VINET, RATTC, RICSU = "VINET", "RATTC", "RICSU"

_NAMED = {
    VINET: ("Vins et alcools Chevalier", "Reims"),
    RATTC: ("Rattlesnake Canyon Grocery", "Albuquerque"),
    RICSU: ("Richter Supermarkt", "Genève"),
}
_KINDS = {
    "France": ("Épicerie {}", "Maison {}"),
    "Switzerland": ("{} Feinkost", "Comestibles {}"),
    "Germany": ("Gasthaus {}", "Markthalle {}"),
    "Austria": ("Gasthaus {}", "{} Delikatessen"),
    "Spain": ("Ultramarinos {}", "Casa {}"),
    "Mexico": ("Abarrotes {}", "Casa {}"),
    "Argentina": ("Almacén {}", "Casa {}"),
    "Venezuela": ("Bodega {}", "Casa {}"),
    "Portugal": ("Mercearia {}", "Casa {}"),
    "Brazil": ("Mercearia {}", "Empório {}"),
    "Italy": ("Drogheria {}", "Bottega {}"),
}
_OTHER_KINDS = ("{} Provisions", "{} & Daughters", "The {} Pantry")
_TITLES = ("Owner", "Head Buyer", "Purchasing Clerk", "Kitchen Manager", "Accounts Manager", "Store Manager")


def customers(source: random.Random) -> list[Row]:
    """Return the rows of customers, by their five-letter ids."""
    rows = {key: _row(source, key, name, _place(city)) for key, (name, city) in _NAMED.items()}
    surnames = [surname for surname in LAST_NAMES for _ in range(3)]
    source.shuffle(surnames)
    while len(rows) < CUSTOMERS:
        place = source.choice(PLACES)
        name = source.choice(_KINDS.get(place.country, _OTHER_KINDS)).format(surnames.pop())
        key = _key(name, place.city)
        if key not in rows and all(name != row[1] for row in rows.values()):
            rows[key] = _row(source, key, name, place)
    return [rows[key] for key in sorted(rows)]


def _place(city: str) -> Place:
    return next(place for place in PLACES if place.city == city)


def _row(source: random.Random, key: str, name: str, place: Place) -> Row:
    return (
        key,
        name,
        person(source),
        source.choice(_TITLES),
        digits(source, place.street),
        place.city,
        place.region,
        digits(source, place.postal_code),
        place.country,
        digits(source, place.phone),
        digits(source, place.phone) if source.random() < 0.7 else None,
    )


def _key(name: str, city: str) -> str:
    """Make an id the way the three named ones look: three letters of the name, two of the city."""
    plain = unicodedata.normalize("NFKD", name.replace("The ", "") + " ").encode("ascii", "ignore").decode()
    words = ["".join(filter(str.isalpha, word)) for word in plain.split()]
    city = unicodedata.normalize("NFKD", city).encode("ascii", "ignore").decode()
    return (words[0][:2] + words[-1][:1] + "".join(filter(str.isalpha, city))[:2]).upper()
