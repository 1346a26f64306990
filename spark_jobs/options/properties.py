"""Reads .properties files as HoodieStreamer does; declares options and properties as dataclasses' fields."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from spark_jobs.errors import SettingsError
from spark_jobs.options.keys import refused

_OLD_PREFIX = "hoodie.deltastreamer."
_PREFIX = "hoodie.streamer."
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
    """Return the pairs of a file and of its `include=` files, relative to it; SettingsError for a cycle."""
    if path in _within:
        raise SettingsError(f"--props {path}: includes itself through {' -> '.join(_within)}")
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
    """Merge pairs under the keys' newer names, overrides last; SettingsError if a level gives both, differing."""
    merged = _by_newer_name(file_pairs)
    merged.update(_by_newer_name(override_pairs))
    return merged


def _by_newer_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    given = dict(pairs)
    renamed: dict[str, str] = {}
    for key, value in given.items():
        name = _PREFIX + key.removeprefix(_OLD_PREFIX) if key.startswith(_OLD_PREFIX) else key
        name = _RENAMED.get(name, name)
        if renamed.get(name, value) != value:
            raise SettingsError(f"{name}: given twice, as {renamed[name]!r} and under its older name as {value!r}")
        renamed[name] = value
    return renamed


def _logical_lines(text: str) -> Iterable[str]:
    continued = ""
    # Python's splitlines knows more ends of lines than Java.
    for raw in re.split(r"\r\n|[\r\n]", text):
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

    unescaped = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", replace, text)
    # Java writes a sign beyond 16 bits as the two halves of a pair.
    return unescaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


T = TypeVar("T")
DAY_S = 24 * 3600
# Digits only: Python would also accept `1_000` and other scripts' digits.
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_ANY = re.compile(r"-?[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Number:
    """The lowest and the highest value of a number, both allowed."""

    low: float
    high: float
    whole: bool = True

    def __str__(self) -> str:
        """Return the bounds as in messages and the README."""
        return f"{self.low:,} to {self.high:,}"

    def read(self, name: str, text: str) -> float:
        """Return the number in a property's or an option's text; raises SettingsError for any other text."""
        fits = (_WHOLE if self.whole else _ANY).fullmatch(text)
        if not fits or not self.low <= float(text) <= self.high:
            raise SettingsError(f"{name}={text}: say a {'whole ' if self.whole else ''}number from {self}")
        return int(text) if self.whole else float(text)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """An option or a property: names, of which the last given one counts, default, and allowed values.

    `needed_by`: who can't do without it. `words`: the only allowed values, in any case. `take`: returns another value
    of a text, given its name, too. `help`: an option's meaning.
    """

    names: tuple[str, ...]
    help: str = ""
    default: Any = None
    number: Number | None = None
    words: tuple[str, ...] = ()
    take: Callable[[str, str], Any] | None = None
    needed_by: str = ""

    @property
    def key(self) -> str:
        return self.names[0]

    def read(self, properties: Mapping[str, str]) -> Any:
        """Return a property's value, or its default; raises SettingsError, naming the key."""
        name = next((name for name in reversed(self.names) if name in properties), self.key)
        text = properties.get(name)
        if self.needed_by and not text:
            raise SettingsError(f"{self.key} is missing: {self.needed_by} needs it")
        return self.default if text is None else self.meant(name, text)

    def meant(self, name: str, text: str) -> Any:
        """Return the value that a text means; raises SettingsError with `name`, its own or an older one."""
        if self.number:
            return self.number.read(name, text)
        if isinstance(self.default, bool):
            return one_of(name, text, ("true", "false")) == "true"
        if isinstance(self.default, tuple):
            return listed(text)
        if self.take:
            return self.take(name, text)
        return one_of(name, text, self.words) if self.words else text


def one_of(name: str, text: str, words: Sequence[str]) -> str:
    """Return the matching word, ignoring case; raises SettingsError for any other text."""
    found = {word.lower(): word for word in words}.get(text.lower())
    if found is not None:
        return found
    if reason := refused("class").get(text.rpartition(".")[2]):
        raise SettingsError(f"{name}={text} isn't supported: {reason}")
    raise SettingsError(f"{name}={text}: say {' or '.join(words)}")


def listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def folder(name: str, text: str) -> str:
    """Return a folder's path without a slash at its end; raises SettingsError for an empty one."""
    if not text.strip(" /"):
        raise SettingsError(f"{name}={text}: say a value, or leave it out")
    return text.rstrip("/")


def declare(*names: str, default: Any = None, hidden: bool = False, **what: Any) -> Any:
    """Return a dataclass's field for an option or a property; a `hidden` one is in no `repr`."""
    declared = Declared(names=names, default=default, **what)
    needed = {} if declared.needed_by else {"default": default}
    return field(metadata={"declared": declared}, repr=not hidden, **needed)


def number(key: str, default: float | None, low: float, high: float, *, whole: bool = True, **what: Any) -> Any:
    return declare(key, default=default, number=Number(low, high, whole), **what)


def declared_in(*classes: type) -> dict[str, Declared]:
    """Return the declarations in dataclasses' fields, by name, in their order."""
    found = [one.metadata["declared"] for cls in classes for one in fields(cls) if "declared" in one.metadata]
    return {declared.key: declared for declared in found}


def read(cls: type[T], properties: Mapping[str, str], /, **decided: Any) -> T:
    """Fill a dataclass from properties; `decided` fields don't follow from one property alone."""
    values = {
        one.name: one.metadata["declared"].read(properties)
        for one in fields(cls)  # type: ignore[arg-type]
        if "declared" in one.metadata and one.name not in decided
    }
    return cls(**values, **decided)
