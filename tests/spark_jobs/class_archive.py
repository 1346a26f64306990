"""An archive of the classes that the job's JVM loads, for the many JVMs that tests start one after another.

Of the 8 s of CPU before a job's first commit Java spends 3 on finding 20,000 classes in jars. The archive (Java's class
data sharing) stores them in the JVM's own form; Java ignores it if a jar differs from the archived one.
"""

import hashlib
from pathlib import Path

from local.setup.jars import JARS_LOCK, jar_folder
from local.setup.java import java_home

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "classes"
# Java would warn on standard output, where the job's lines are.
_QUIET = "-Xlog:cds*=off"


def archive() -> Path:
    """Return the path of the archive for this machine's Java, jars and Python packages; it may not exist yet."""
    fitting = [java_home(), jar_folder("spark").resolve(), java_home().joinpath("release").read_text()]
    fitting += [path.read_text() for path in (JARS_LOCK, ROOT / "requirements.txt")]
    return FOLDER / f"{hashlib.sha256(repr(fitting).encode()).hexdigest()[:16]}.jsa"


def can_be_made() -> bool:
    """Check whether this Java has the archive of its own classes, which every other one builds on."""
    return java_home().joinpath("lib", "server", "classes.jsa").is_file()


def making_flags(path: Path) -> list[str]:
    """Return the flags of a JVM that writes an archive when it ends."""
    return [f"-XX:ArchiveClassesAtExit={path}", _QUIET]


def flags() -> list[str]:
    """Return the flags of a JVM that uses the archive; none without an archive."""
    return [f"-XX:SharedArchiveFile={archive()}", _QUIET] if archive().is_file() else []
