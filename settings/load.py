"""Reads and checks `environments/<name>.toml` before anything is synthesized."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract.lake import DATABASE
from plugins.releases.versions import VersionsError
from settings import files, rules
from settings.environment import Environment
from settings.load_pipeline import PIPELINES, load_pipeline, pipeline_names

ENVIRONMENTS = Path(__file__).resolve().parents[1] / "environments"
# The error's name for callers that load an environment.
EnvironmentFileError = files.SettingsFileError


def names(folder: Path = ENVIRONMENTS) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml") if path.is_file())


def load(name: str, folder: Path = ENVIRONMENTS, pipelines: Path = PIPELINES) -> Environment:
    """Read and check `<folder>/<name>.toml`, and the pipelines that it names.

    Raises EnvironmentFileError, one line per problem in any of the files.
    """

    def broken(environment: Environment) -> files.Problems:
        return (*rules.broken(environment), *_shared(environment, folder))

    values = files.read(folder, name, "environment")
    shown = f"{folder.name}/{name}.toml"
    try:
        return files.check(Environment, _with_captured(values, shown, pipelines), shown, broken)
    except VersionsError as error:
        raise EnvironmentFileError(str(error)) from None


def _with_captured(values: dict[str, Any], shown: str, folder: Path) -> dict[str, Any]:
    """Add each named pipeline's own file. Raises EnvironmentFileError."""
    named = values.get("pipelines")
    if not isinstance(named, list):
        return values
    there, found = pipeline_names(folder), []
    for number, entry in enumerate(named):
        if isinstance(entry, dict) and "captured" in entry:
            raise EnvironmentFileError(f"{shown}: pipelines[{number}].captured: unknown key")
        if isinstance(entry, dict) and isinstance(name := entry.get("name"), str):
            if name not in there:
                known = ", ".join(there) or "none"
                raise EnvironmentFileError(
                    f"{shown}: pipelines[{number}].name: there is no {folder.name}/{files.one_line(name)}.toml; there "
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
            other = files.parse(path)
        except files.SettingsFileError:
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
