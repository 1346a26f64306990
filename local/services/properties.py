"""Java properties files: the configuration format of Kafka, Connect and S3Proxy."""

from collections.abc import Mapping
from pathlib import Path

from local.private_files import write_private

LATIN_1_PRINTABLE = range(0x20, 0x7F)


def render(properties: Mapping[str, str]) -> str:
    """Write properties, one a line, such that java.util.Properties reads the same values from Latin-1 bytes."""
    return "".join(f"{name}={_escape(value)}\n" for name, value in properties.items())


def write(path: Path, properties: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(properties), encoding="ascii")


def write_secret(path: Path, properties: Mapping[str, str]) -> None:
    """Write a properties file that only its owner may read."""
    write_private(path, render(properties))


def _escape(value: str) -> str:
    escaped = "".join(_escape_character(character) for character in value)
    # Properties drops blanks before a value.
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escape_character(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if ord(character) in LATIN_1_PRINTABLE:
        return character
    # Java's escapes are UTF-16 units.
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
