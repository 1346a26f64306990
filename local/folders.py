"""Default folders of platforms."""

from pathlib import Path

from settings.environment_pipeline import FIRST

BUILD = Path(__file__).resolve().parents[1] / "build"
# For the outbox's pipeline; other pipelines append their name after a hyphen.
DEFAULT_FOLDER = BUILD / "platform"


def platform_folder(folder: Path | None, pipeline: str | None = None) -> Path:
    """Return a platform's folder: the given one, or the pipeline's default."""
    if folder is not None:
        return folder
    return DEFAULT_FOLDER if pipeline in (None, FIRST) else BUILD / f"platform-{pipeline}"
