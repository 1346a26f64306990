"""Folders of platforms, their logs, files that only their owner may read, and the passwords that are kept in them."""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import tempfile
from pathlib import Path

from contract.errors import naming
from settings.environment_pipeline import FIRST

BUILD = Path(__file__).resolve().parents[1] / "build"
# For the outbox's pipeline; other pipelines append their name after a hyphen.
DEFAULT_FOLDER = BUILD / "platform"
# Below this, a start, a commit or a record of a restart may fail.
LEAST_FREE_BYTES = 64 * 1024 * 1024
# ECMA-48: control sequences, strings for the terminal such as its title, and two-byte codes.
_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-~])")


def platform_folder(folder: Path | None, pipeline: str | None = None) -> Path:
    """Return a platform's folder: the given one, or the pipeline's default."""
    if folder is not None:
        return folder
    return DEFAULT_FOLDER if pipeline in (None, FIRST) else BUILD / f"platform-{pipeline}"


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically, unless it has this text already; only the owner may read it."""
    with contextlib.suppress(OSError, ValueError):
        if path.read_text(encoding="utf-8") == text and not path.stat().st_mode & 0o077:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mkstemp's mode is 0600
    try:
        with naming(path), os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def tail(path: Path, size: int, *, start: int = 0) -> str:
    """Return the end of a log: its last `size` bytes, none of them before `start`; an empty text without a file.

    Without the codes that colour it in a terminal.
    """
    try:
        with path.open("rb") as log:
            log.seek(max(start, log.seek(0, os.SEEK_END) - size))
            return _CODES.sub("", log.read().decode(errors="replace"))
    except FileNotFoundError:
        return ""


def kept_password(path: Path) -> str:
    """Return the password kept in a file; empty when it is lost, or what is left isn't text."""
    try:
        return path.read_text(encoding="utf-8").rstrip("\n")
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def create_password(path: Path) -> None:
    """Keep a random password in a file, unless that has one; of two callers at once, one creates it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not kept_password(path):
            file.truncate()
            file.write(secrets.token_urlsafe(24) + "\n")
            file.flush()
            os.fsync(file.fileno())
