"""Where platforms keep everything, unless their user says otherwise."""

from pathlib import Path

from settings.environment_pipeline import FIRST

BUILD = Path(__file__).resolve().parents[1] / "build"
# The outbox's pipeline; another one's has its name behind a hyphen.
DEFAULT_FOLDER = BUILD / "platform"


def platform_folder(folder: Path | None, pipeline: str | None = None) -> Path:
    """Return where a platform is: the folder that is given, or the pipeline's own."""
    if folder is not None:
        return folder
    return DEFAULT_FOLDER if pipeline in (None, FIRST) else BUILD / f"platform-{pipeline}"
