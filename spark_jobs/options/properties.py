"""Reads Java .properties files the way HoodieStreamer's `--props` and `--hoodie-conf` are read."""

import posixpath
import re
from collections.abc import Callable, Iterable

from spark_jobs.errors import SettingsError

OLD_PREFIX = "hoodie.deltastreamer."
PREFIX = "hoodie.streamer."
# Renamed keys of this job.
_RENAMED = {"hoodie.streamer.tombstones.max.keys": "hoodie.streamer.deletes.max.keys"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_KEY_AND_VALUE = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)


def parse(text: str) -> list[tuple[str, str]]:
    """Return the (key, value) pairs of a .properties text in order, by java.util.Properties' rules.

    Comments start with `#` or `!`; `=`, `:` or white space separate; a backslash at a line's end continues it.
    """
    pairs = []
    for line in _logical_lines(text):
        found = _KEY_AND_VALUE.fullmatch(line)
        assert found is not None  # noqa: S101  (both groups may be empty, so every line matches)
        pairs.append((_unescape(found.group(1)), _unescape(found.group(2)).rstrip()))
    return pairs


def load(path: str, read_text: Callable[[str], str], _within: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return the pairs of a file and of the files in its `include=` lines, relative to its own folder.

    `read_text` returns a path's text. Raises SettingsError for a cycle of includes.
    """
    if path in _within:
        raise SettingsError(f"--props {path}: includes itself by way of {' -> '.join(_within)}")
    pairs: list[tuple[str, str]] = []
    for key, value in parse(read_text(path)):
        if key == "include":
            included = value if "://" in value else posixpath.join(posixpath.dirname(path), value)
            pairs += load(included, read_text, (*_within, path))
        else:
            pairs.append((key, value))
    return pairs


def parse_overrides(overrides: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of `--hoodie-conf key=value` arguments; SettingsError for one without `=`."""
    pairs = []
    for override in overrides:
        key, separator, value = override.partition("=")
        if not separator or not key.strip():
            raise SettingsError(f"--hoodie-conf {override}: write it as key=value")
        pairs.append((key.strip(), value.strip()))
    return pairs


def combine(file_pairs: Iterable[tuple[str, str]], override_pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Merge the pairs, later ones winning and overrides last; older names of keys become the newer ones.

    Raises SettingsError when one level gives a key under both of its names with different values.
    """
    merged = _by_newer_name(file_pairs)
    merged.update(_by_newer_name(override_pairs))
    return merged


def _by_newer_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    given = dict(pairs)
    renamed: dict[str, str] = {}
    for key, value in given.items():
        name = PREFIX + key.removeprefix(OLD_PREFIX) if key.startswith(OLD_PREFIX) else key
        name = _RENAMED.get(name, name)
        if renamed.get(name, value) != value:
            raise SettingsError(f"{name}: given twice, as {renamed[name]!r} and under its older name as {value!r}")
        renamed[name] = value
    return renamed


def _logical_lines(text: str) -> Iterable[str]:
    continued = ""
    for raw in text.splitlines():
        line = raw.lstrip(" \t\f")
        if not continued and (not line or line[0] in "#!"):
            continue
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            continued += line[:-1]
            continue
        yield continued + line
        continued = ""
    if continued:
        yield continued


def _unescape(text: str) -> str:
    def replace(found: re.Match[str]) -> str:
        escaped = found.group(1)
        return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _ESCAPES.get(escaped, escaped)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", replace, text)
