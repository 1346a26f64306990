"""What a platform remembers in its folder: its ports, its passwords, and who is at work on it."""

import contextlib
import fcntl
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from local.errors import LockedError

# The folder of the services' output in a platform's.
LOGS = "logs"


@dataclass(frozen=True, kw_only=True)
class Passwords:
    """The database's passwords: random, made once per platform."""

    superuser: str
    connector: str


@dataclass(frozen=True, kw_only=True)
class Record:
    """A start: the port of each service that listens, the services that are to run, and the pipeline.

    `outside`: where the pipeline's database is, if it isn't the embedded one.
    `unreadable`: there is a file, and it isn't such a record; then it says nothing of either.
    """

    ports: dict[str, int]
    services: frozenset[str]
    pipeline: str | None = None
    outside: Mapping[str, object] | None = None
    unreadable: bool = field(default=False, compare=False)


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step; only the owner may read it."""
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


def read_record(path: Path) -> Record:
    """Return the record of the last start; an empty one when there was no start or it can't be read."""
    try:
        content = json.loads(path.read_text())
        return Record(
            ports={str(name): _port(port) for name, port in content["ports"].items()},
            services=frozenset(map(str, content["services"])),
            # A platform of an earlier release has neither.
            pipeline=content.get("pipeline"),
            outside=content.get("outside"),
        )
    except FileNotFoundError:
        return Record(ports={}, services=frozenset())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Record(ports={}, services=frozenset(), unreadable=True)


def _port(value: object) -> int:
    if not isinstance(value, int) or not 0 < value < 1 << 16:
        raise ValueError(f"{value!r} isn't a port")
    return value


def write_record(path: Path, record: Record) -> None:
    """Record a start."""
    content: dict[str, object] = {"ports": record.ports, "services": sorted(record.services)}
    content |= {"pipeline": record.pipeline, "outside": record.outside}
    write_private(path, json.dumps(content, indent=1) + "\n")


def passwords(folder: Path) -> Passwords:
    """Return the passwords kept in `folder` (mode 0700), made up the first time."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Passwords(superuser=password(folder / "superuser"), connector=password(connector_file(folder)))


def connector_file(folder: Path) -> Path:
    """Return the file with the password of whom the connector, or the job of queried tables, logs in as."""
    return folder / "connector"


class Lock:
    """Lets one command at a time change a platform. The kernel takes it back from a command that is killed.

    The same object may take it again inside: a demo holds it from its start to its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._depth = 0

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; LockedError when another command has it."""
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
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
            self._depth = 1
            try:
                yield
            finally:
                self._depth = 0


def password(path: Path) -> str:
    """Return the password kept in a file (mode 0600), made up the first time."""
    with contextlib.suppress(FileNotFoundError):
        if kept := path.read_text().strip():
            return kept
    made = secrets.token_urlsafe(24)
    write_private(path, made + "\n")
    return made
