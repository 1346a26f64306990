"""Files that only their owner may read, and the passwords that are kept in them."""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically; only the owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mkstemp's mode is 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def password(path: Path) -> str:
    """Return the password kept in a file, created the first time."""
    with contextlib.suppress(FileNotFoundError):
        if kept := path.read_text().strip():
            return kept
    made = secrets.token_urlsafe(24)
    write_private(path, made + "\n")
    return made
