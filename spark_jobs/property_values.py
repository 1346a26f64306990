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


def number(
    properties: Mapping[str, str], key: str, known: Mapping[str, keys.Property] = keys.STREAMER_PROPERTIES
) -> float:
    """Return a number that isn't negative, the key's default where there is none."""
    text = properties.get(key) or known[key].default or ""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 1e12:
        raise SettingsError(f"{key}={text}: say a number, 0 or more")
    return value
