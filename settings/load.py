"""Reads and checks `environments/<name>.toml` before anything is synthesized."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from plugins.versions import VersionsError
from settings import rules
from settings.environment import Environment

ENVIRONMENTS = Path(__file__).resolve().parents[1] / "environments"


class EnvironmentFileError(ValueError):
    """An environment's file is missing or wrong; one line per problem, each naming the file and the key."""


def load(name: str, folder: Path = ENVIRONMENTS) -> Environment:
    """Read and check `<folder>/<name>.toml`. Raises EnvironmentFileError, one line per problem."""
    path = folder / f"{name}.toml"
    shown = f"{folder.name}/{path.name}"
    there = sorted(file.stem for file in folder.glob("*.toml") if file.is_file())
    if name not in there:
        folder_of_that_name = " (it is a folder: an environment is a file)" if path.is_dir() else ""
        known = ", ".join(there) or "none"
        raise EnvironmentFileError(f"{shown}: no such environment{folder_of_that_name}; there are {known}")
    values = _values(path, shown)
    if "name" in values:
        raise EnvironmentFileError(f"{shown}: name: the environment's name is that of its file; take this key out")
    try:
        environment = Environment.model_validate({"name": name} | values)
        problems = [f"{key}: {reason}" for key, reason in (*rules.broken(environment), *_shared(environment, folder))]
    except ValidationError as error:
        problems = [f"{_key(problem['loc'])}: {_reason(problem)}" for problem in error.errors()]
    except VersionsError as error:
        raise EnvironmentFileError(str(error)) from None
    if problems:
        raise EnvironmentFileError("\n".join(f"{shown}: {_one_line(problem)}" for problem in problems))
    return environment


def _values(path: Path, shown: str) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EnvironmentFileError(f"{shown}: not TOML: {error}") from None
    except OSError as error:
        raise EnvironmentFileError(f"{shown}: can't be read: {error.strerror}") from None
    except RecursionError:
        raise EnvironmentFileError(f"{shown}: not TOML that can be read: it is nested too deep") from None


def _shared(environment: Environment, folder: Path) -> Iterator[tuple[str, str]]:
    """Names that no two environments of an account and region may have, of those that don't begin with their own."""
    for path in sorted(folder.glob("*.toml")):
        if path.stem == environment.name or not path.is_file():
            continue
        try:
            other = _values(path, path.name)
        except EnvironmentFileError:
            # What is wrong with another file is said to who wants that one.
            continue
        lake = other.get("lake")
        theirs = lake.get("database", f"{path.stem}_datalake") if isinstance(lake, dict) else None
        same_place = (other.get("account"), other.get("region")) == (environment.account, environment.region)
        if same_place and theirs == environment.lake.database:
            yield (
                "lake.database",
                f"{theirs!r} is that of {path.name}, too, in the same account and region: choose another name, such as "
                f"{environment.name}_datalake",
            )


def _one_line(text: str) -> str:
    """Write what would end a line, or move the cursor, as Python does."""
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
    # The value isn't repeated: someone may have put a secret there.
    return str(problem["msg"]).removeprefix("Value error, ")
