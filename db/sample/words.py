"""The words that the sample data is made of, from words.toml."""

import tomllib
from pathlib import Path

_WORDS = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))

FIRST_NAMES: list[str] = _WORDS["first_names"]
LAST_NAMES: list[str] = _WORDS["last_names"]
PRODUCT_MODIFIERS: list[str] = _WORDS["product_modifiers"]
# Category → what is sold in it, region → its territories, census region → its states with their abbreviations.
FOODS: dict[str, list[str]] = _WORDS["foods"]
TERRITORIES: dict[str, list[str]] = _WORDS["territories"]
STATES: dict[str, list[str]] = _WORDS["states"]
