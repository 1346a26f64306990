"""A platform's passwords, and the lock of the command that works on it."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local.errors import LockedError
from local.private_files import password

# The folder of the services' output in a platform's.
LOGS = "logs"


@dataclass(frozen=True, kw_only=True)
class Passwords:
    """The database's passwords: random, created once per platform."""

    superuser: str
    connector: str


def passwords(folder: Path) -> Passwords:
    """Return the passwords kept in `folder` (mode 0700), created the first time."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Passwords(superuser=password(folder / "superuser"), connector=password(connector_file(folder)))


def connector_file(folder: Path) -> Path:
    """Return the password file of the connector, or of the job of queried tables."""
    return folder / "connector"


class Lock:
    """Lets one command at a time change a platform. The kernel releases it when a command is killed.

    Reentrant for the same object: a demo holds it from its start to its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._depth = 0

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; LockedError when another command has it."""
        with contextlib.nullcontext() if self._depth else self._taken():
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    @contextlib.contextmanager
    def _taken(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip()
                raise LockedError(
                    f"another command (pid {holder or 'unknown'}) is at work on {self.path.parent}:"
                    " wait for it or stop it",
                    int(holder) if holder.isdecimal() else None,
                ) from None
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield
