"""Reads and checks `environments/<name>.toml` before anything is synthesized."""

from collections.abc import Iterator
from pathlib import Path

from contract.lake import DATABASE
from plugins.versions import VersionsError
from settings import files, rules
from settings.environment import Environment

ENVIRONMENTS = Path(__file__).resolve().parents[1] / "environments"
# The name under which those who load an environment know it.
EnvironmentFileError = files.SettingsFileError


def load(name: str, folder: Path = ENVIRONMENTS) -> Environment:
    """Read and check `<folder>/<name>.toml`. Raises EnvironmentFileError, one line per problem."""

    def broken(environment: Environment) -> files.Problems:
        return (*rules.broken(environment), *_shared(environment, folder))

    values = files.read(folder, name, "environment")
    try:
        return files.check(Environment, values, f"{folder.name}/{name}.toml", broken)
    except VersionsError as error:
        raise EnvironmentFileError(str(error)) from None


def _shared(environment: Environment, folder: Path) -> Iterator[tuple[str, str]]:
    """Names that no two environments of an account and region may have, of those that don't begin with their own."""
    for path in sorted(folder.glob("*.toml")):
        if path.stem == environment.name or not path.is_file():
            continue
        try:
            other = files.parse(path)
        except files.SettingsFileError:
            # What is wrong with another file is said to who wants that one.
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
