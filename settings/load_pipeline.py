"""Reads and checks `pipelines/<name>.toml` before anything is captured."""

from pathlib import Path

from settings import files, pipeline_rules
from settings.pipeline import Pipeline

PIPELINES = Path(__file__).resolve().parents[1] / "pipelines"


def load_pipeline(name: str, folder: Path = PIPELINES) -> Pipeline:
    """Read and check `<folder>/<name>.toml`. Raises SettingsFileError, one line per problem."""
    values = files.read(folder, name, "pipeline")
    shown = f"{folder.name}/{name}.toml"
    return files.check(Pipeline, values, shown, lambda pipeline: pipeline_rules.broken(pipeline, folder))


def pipeline_names(folder: Path = PIPELINES) -> list[str]:
    """Return the names of all pipelines, by their alphabet."""
    return sorted(path.stem for path in folder.glob("*.toml") if path.is_file())
