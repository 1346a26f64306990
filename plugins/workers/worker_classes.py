"""Our classes on a Connect worker: Java sources in java/, and what Janino makes of them, beside them.

`./lake dev generate worker-classes` compiles them, so nobody who deploys or starts a platform needs a compiler; a test
compiles each and compares.
"""

from collections.abc import Mapping
from pathlib import Path

PACKAGE = "cdclake"
# By which a worker finds a plugin's transformations without looking into every class (KIP-898).
TRANSFORMATION_SERVICE = "META-INF/services/org.apache.kafka.connect.transforms.Transformation"
_FOLDER = Path(__file__).parent / "java"


def source(name: str) -> Path:
    return _FOLDER / f"{name}.java"


def compiled(java: Path) -> Path:
    """Return the file with what a source was compiled to, in Base64: a plugin's files travel as text."""
    return java.with_suffix(".class.b64")


def resource(java: Path) -> dict[str, str]:
    return {f"{PACKAGE}/{java.stem}.class": compiled(java).read_text(encoding="ascii").strip()}


def together(*parts: Mapping[str, str]) -> dict[str, str]:
    """Return the files of several of our classes as one plugin's: a file that names services names those of all."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: "".join(part.get(name, "") for part in parts) for name in names}
