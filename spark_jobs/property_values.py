"""Reads single values of properties; each mistake is one line that names the key."""

from collections.abc import Mapping

from spark_jobs import keys
from spark_jobs.errors import SettingsError


def required(properties: Mapping[str, str], key: str, needed_by: str) -> str:
    """Return a value that must be there."""
    if not properties.get(key):
        raise SettingsError(f"{key} is missing: {needed_by} needs it")
    return properties[key]


def fields(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def flag(properties: Mapping[str, str], key: str) -> bool:
    """Return a value that says true or false; false where there is none."""
    text = properties.get(key, "false").lower()
    if text not in ("true", "false"):
        raise SettingsError(f"{key}={text}: say true or false")
    return text == "true"


def number(properties: Mapping[str, str], key: str, *, like: str | None = None) -> float:
    """Return a number within the bounds of its key, or of the one that it is `like`; without one the default."""
    known = keys.NUMBERS[like or key]
    if key in properties:
        return known.read(key, properties[key])
    if known.default is None:
        raise SettingsError(f"{key} is missing: say a number from {known}")
    return known.default
