"""Reads a TOML file of settings as a typed model; each problem is one line that names the file and the key."""

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from contract.errors import UserError

Model = TypeVar("Model", bound=BaseModel)
Problems = Iterable[tuple[str, str]]


class SettingsFileError(UserError, ValueError):
    """A file is missing or wrong; one line per problem, each naming the file and the key."""


def read(folder: Path, name: str, what: str) -> dict[str, Any]:
    """Return the content of `<folder>/<name>.toml`, with its name. `what` is the file's kind, in words: `environment`.

    Raises SettingsFileError if there is no such file, or it isn't TOML.
    """
    path = folder / f"{name}.toml"
    shown = f"{folder.name}/{path.name}"
    there = sorted(file.stem for file in folder.glob("*.toml") if file.is_file())
    if name not in there:
        folder_of_that_name = f" (it is a folder: {_a(what)} is a file)" if path.is_dir() else ""
        known = ", ".join(there) or "none"
        raise SettingsFileError(f"{shown}: no such {what}{folder_of_that_name}; there are {known}")
    values = parse(path)
    if "name" in values:
        raise SettingsFileError(f"{shown}: name: the {what}'s name is that of its file; take this key out")
    return {"name": name} | values


def parse(path: Path) -> dict[str, Any]:
    """Return a file's content. Raises SettingsFileError if it can't be read or isn't TOML."""
    shown = f"{path.parent.name}/{path.name}"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsFileError(f"{shown}: not TOML: {error}") from None
    except OSError as error:
        raise SettingsFileError(f"{shown}: can't be read: {error.strerror}") from None
    except RecursionError:
        raise SettingsFileError(f"{shown}: not TOML that can be read: it is nested too deep") from None


def check(model: type[Model], values: dict[str, Any], shown: str, rules: Callable[[Model], Problems]) -> Model:
    """Convert the values to their types. Raises SettingsFileError for what doesn't fit, or what `rules` yield."""
    try:
        settings = model.model_validate(values)
        problems = [f"{key}: {reason}" for key, reason in rules(settings)]
    except ValidationError as error:
        problems = [f"{_key(problem['loc'])}: {_reason(problem)}" for problem in error.errors()]
    if problems:
        raise SettingsFileError("\n".join(f"{shown}: {one_line(problem)}" for problem in problems))
    return settings


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def one_line(text: str) -> str:
    """Escape line ends and cursor movements as Python does."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def _key(location: tuple[int | str, ...]) -> str:
    return re.sub(r"\.(\d+)", r"[\1]", ".".join(str(part) for part in location))


def _reason(problem: object) -> str:
    assert isinstance(problem, dict)  # noqa: S101  pydantic's TypedDict, which it doesn't export as a class
    match problem["type"]:
        case "extra_forbidden":
            return "unknown key"
        case "missing":
            return "is missing"
    # The value isn't repeated: it may be a misplaced secret.
    return str(problem["msg"]).removeprefix("Value error, ")
