"""Where platforms keep everything, unless their user says otherwise."""

from pathlib import Path

BUILD = Path(__file__).resolve().parents[1] / "build"
# The outbox's pipeline; another one's has its name behind a hyphen.
DEFAULT_FOLDER = BUILD / "platform"
