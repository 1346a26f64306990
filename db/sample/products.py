"""Categories, suppliers, products and shippers."""

import random

from db.sample.places import PLACES, digits, person
from db.sample.words import FOODS, LAST_NAMES, PRODUCT_MODIFIERS
from db.tables import Row

SUPPLIERS = 29
# The products whose names or prices are taken over (docs/decisions/0013): id → (name or None, category, price).
NAMED_PRODUCTS: dict[int, tuple[str | None, int, float]] = {
    2: (None, 1, 19.0),
    11: ("Queso Cabrales", 4, 21.0),
    42: ("Singaporean Hokkien Fried Mee", 5, 14.0),
    46: (None, 8, 12.0),
    72: ("Mozzarella di Giovanni", 4, 34.8),
    76: (None, 1, 18.0),
}
PRODUCTS = 77

_CATEGORIES = {
    "Beverages": "What is poured: coffee, tea, juice, beer and wine",
    "Condiments": "What makes plain food better: sauces, spreads and spices",
    "Confections": "Sweets, biscuits and whatever comes after dinner",
    "Dairy Products": "Cheese, butter and cultured milk",
    "Grains/Cereals": "Bread, noodles, rice and meal",
    "Meat/Poultry": "Cured, smoked and potted meat",
    "Produce": "Dried fruit, beans and vegetables in jars",
    "Seafood": "Fish and shellfish, smoked or in tins",
}
_PACKS = ("## boxes x ## pcs", "## - ### g jars", "## - # kg pkgs.", "## - ### ml bottles", "## tins")
_SHIPPERS = (
    "Greyhound Parcels",
    "United Overland",
    "Federal Shipping",
    "Tidewater Freight",
    "Alpine Couriers",
    "Lighthouse Mail",
)


def categories() -> list[Row]:
    """Return the rows of categories."""
    return [(key, name, text, None) for key, (name, text) in enumerate(_CATEGORIES.items(), start=1)]


def shippers(source: random.Random) -> list[Row]:
    """Return the rows of shippers; the third's name is taken over."""
    return [(key, name, digits(source, "(503) 555-####")) for key, name in enumerate(_SHIPPERS, start=1)]


def suppliers(source: random.Random) -> list[Row]:
    """Return the rows of suppliers."""
    kinds = ("{} Foods", "{} Cooperative", "{} & Sons", "{} Trading", "Brothers {}")
    names = source.sample(LAST_NAMES, SUPPLIERS)
    rows: list[Row] = []
    for key, name in enumerate(names, start=1):
        place = source.choice(PLACES)
        company = source.choice(kinds).format(name)
        rows.append(
            (
                key,
                company,
                person(source),
                source.choice(("Export Manager", "Sales Agent", "Order Desk", "Owner")),
                digits(source, place.street),
                place.city,
                place.region,
                digits(source, place.postal_code),
                place.country,
                digits(source, place.phone),
                digits(source, place.phone) if source.random() < 0.5 else None,
                f"https://{name.lower()}.example" if source.random() < 0.3 else None,
            )
        )
    return rows


def products(source: random.Random) -> list[Row]:
    """Return the rows of products; a few are discontinued."""
    names = [[f"{modifier} {food}" for modifier in PRODUCT_MODIFIERS for food in foods] for foods in FOODS.values()]
    for of_category in names:
        source.shuffle(of_category)
    rows: list[Row] = []
    for key in range(1, PRODUCTS + 1):
        category = source.randint(1, len(_CATEGORIES))
        price = round(source.lognormvariate(3.0, 0.75), 2)
        name, category, price = NAMED_PRODUCTS.get(key, (None, category, price))
        rows.append(
            (
                key,
                name or names[category - 1].pop(),
                source.randint(1, SUPPLIERS),
                category,
                digits(source, source.choice(_PACKS)),
                price,
                source.randint(0, 125),
                source.choice((0, 0, 0, 10, 30, 70)),
                source.choice((0, 5, 10, 15, 25, 30)),
                int(source.random() < 0.1),
            )
        )
    return rows
