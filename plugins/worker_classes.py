"""Our classes on a Connect worker: Java sources in this folder, and what Janino makes of them, beside them.

`make worker-classes` compiles them, so nobody who deploys or starts a platform needs a compiler; a test compiles each
and compares.
"""

from pathlib import Path

PACKAGE = "cdclake"
_FOLDER = Path(__file__).parent


def source(name: str) -> Path:
    """Return the file with the source of a class."""
    return _FOLDER / f"{name}.java"


def compiled(java: Path) -> Path:
    """Return the file with what a source was compiled to, in Base64: a plugin's files travel as text."""
    return java.with_suffix(".class.b64")


def resource(java: Path) -> dict[str, str]:
    """Return a class as a plugin's file, by its name there (plugins/archive.py)."""
    return {f"{PACKAGE}/{java.stem}.class": compiled(java).read_text(encoding="ascii").strip()}
