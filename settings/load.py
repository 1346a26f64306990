"""Reads and checks `pipelines/<name>.toml` and `environments/<name>.toml` before anything is captured or synthesized.

Each problem is one line that names the file and the key.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from contract.errors import UserError, printable
from contract.lake import DATABASE
from plugins.releases.versions import VersionsError
from settings import pipeline_rules, rules
from settings.environment import Environment
from settings.pipeline import Pipeline

Model = TypeVar("Model", bound=BaseModel)
Problems = Iterable[tuple[str, str]]
_PROJECT = Path(__file__).resolve().parents[1]
PIPELINES, ENVIRONMENTS = _PROJECT / "pipelines", _PROJECT / "environments"
# What pydantic's own words don't say so well, by its types of errors.
_SAID = {"extra_forbidden": "unknown key", "missing": "is missing"}


class SettingsFileError(UserError, ValueError):
    """A file is missing or wrong; one line per problem, each naming the file and the key."""


def read(folder: Path, name: str, what: str) -> dict[str, Any]:
    """Return the content of `<folder>/<name>.toml`, with its name. `what` is the file's kind, in words: `environment`.

    Raises SettingsFileError if there is no such file, or it isn't TOML.
    """
    path = folder / f"{name}.toml"
    shown = f"{folder.name}/{path.name}"
    if name not in (there := names(folder)):
        article = "an" if what == "environment" else "a"
        folder_of_that_name = f" (it is a folder: {article} {what} is a file)" if path.is_dir() else ""
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
        # The value isn't repeated: it may be a misplaced secret.
        said = [(_key(each["loc"]), _SAID.get(each["type"], each["msg"])) for each in error.errors()]
        problems = [f"{key}: {reason.removeprefix('Value error, ')}" for key, reason in said]
    if problems:
        raise SettingsFileError("\n".join(f"{shown}: {printable(problem)}" for problem in problems))
    return settings


def _key(location: tuple[int | str, ...]) -> str:
    return re.sub(r"\.(\d+)", r"[\1]", ".".join(str(part) for part in location))


def load_pipeline(name: str, folder: Path = PIPELINES) -> Pipeline:
    """Read and check `<folder>/<name>.toml`. Raises SettingsFileError, one line per problem."""
    values = read(folder, name, "pipeline")
    shown = f"{folder.name}/{name}.toml"
    _read_queries(values, shown)
    return check(Pipeline, values, shown, lambda pipeline: pipeline_rules.broken(pipeline, folder))


def _read_queries(values: dict[str, Any], shown: str) -> None:
    """Put the text of a derived table's `file`, by its path from the project's folder, into its `sql`.

    Raises SettingsFileError if it can't be read.
    """
    derived = values.get("derived")
    for number, table in enumerate(derived if isinstance(derived, list) else []):
        if not isinstance(table, dict) or not isinstance(file := table.get("file"), str):
            continue
        where = f"{shown}: derived[{number}].file"
        if "sql" in table:
            raise SettingsFileError(f"{where}: sql, or a file that has it: not both")
        del table["file"]
        try:
            table["sql"] = (_PROJECT / file).read_text(encoding="utf-8")
        except (OSError, ValueError):
            # ValueError: a NUL in its name, or not UTF-8.
            raise SettingsFileError(f"{where}: {printable(file)} can't be read, from the project's folder") from None


def names(folder: Path = ENVIRONMENTS) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml") if path.is_file())


def load(
    name: str, folder: Path = ENVIRONMENTS, pipelines: Path = PIPELINES, *, assigned: dict[str, Any] | None = None
) -> Environment:
    """Read and check `<folder>/<name>.toml`, and the pipelines that it names; `assigned`: values in place of its own.

    Raises SettingsFileError, one line per problem in any of the files.
    """

    def broken(environment: Environment) -> Problems:
        return (*rules.broken(environment), *_shared(environment, folder))

    values = {"name": name} | assigned if assigned else read(folder, name, "environment")
    shown = f"{folder.name}/{name}.toml{' with --set' if assigned else ''}"
    try:
        return check(Environment, _with_captured(values, shown, pipelines), shown, broken)
    except VersionsError as error:
        raise SettingsFileError(str(error)) from None


def _with_captured(values: dict[str, Any], shown: str, folder: Path) -> dict[str, Any]:
    """Add each named pipeline's own file. Raises SettingsFileError."""
    named = values.get("pipelines")
    if not isinstance(named, list):
        return values
    there, found = names(folder), []
    for number, entry in enumerate(named):
        if isinstance(entry, dict) and "captured" in entry:
            raise SettingsFileError(f"{shown}: pipelines[{number}].captured: unknown key")
        if isinstance(entry, dict) and isinstance(name := entry.get("name"), str):
            if name not in there:
                known = ", ".join(there) or "none"
                raise SettingsFileError(
                    f"{shown}: pipelines[{number}].name: there is no {folder.name}/{printable(name)}.toml; there "
                    f"are {known}, and `./lake source describe` makes another"
                )
            found.append(entry | {"captured": load_pipeline(name, folder)})
        else:
            found.append(entry)
    return values | {"pipelines": found}


def _shared(environment: Environment, folder: Path) -> Iterator[tuple[str, str]]:
    """Check names without the environment's prefix that must be unique in an account and region."""
    for path in sorted(folder.glob("*.toml")):
        if path.stem == environment.name or not path.is_file():
            continue
        try:
            other = parse(path)
        except SettingsFileError:
            # Another file's errors are reported to users of that one.
            continue
        lake = other.get("lake")
        theirs = lake.get("database", f"{path.stem}_{DATABASE}") if isinstance(lake, dict) else None
        same_place = (other.get("account"), other.get("region")) == (environment.account, environment.region)
        if same_place and theirs == environment.lake.database:
            yield (
                "lake.database",
                f"{theirs!r} is that of {path.name}, too, in the same account and region: choose another name, such as "
                f"{environment.name}_{DATABASE}",
            )
