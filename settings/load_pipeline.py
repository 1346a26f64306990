"""Reads and checks `pipelines/<name>.toml` before anything is captured."""

from pathlib import Path
from typing import Any

from settings import files, pipeline_rules
from settings.files import SettingsFileError
from settings.pipeline import Pipeline

_PROJECT = Path(__file__).resolve().parents[1]
PIPELINES = _PROJECT / "pipelines"


def load_pipeline(name: str, folder: Path = PIPELINES) -> Pipeline:
    """Read and check `<folder>/<name>.toml`. Raises SettingsFileError, one line per problem."""
    values = files.read(folder, name, "pipeline")
    shown = f"{folder.name}/{name}.toml"
    _read_queries(values, shown)
    return files.check(Pipeline, values, shown, lambda pipeline: pipeline_rules.broken(pipeline, folder))


def pipeline_names(folder: Path = PIPELINES) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml") if path.is_file())


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
        except (OSError, UnicodeDecodeError):
            raise SettingsFileError(f"{where}: {file} can't be read, from the project's folder") from None
