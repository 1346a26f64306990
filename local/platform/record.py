"""What a platform's folder keeps: options, ports, passwords, the lock of the command that works on it, and a mark."""

import contextlib
import fcntl
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from local.errors import LockedError, PlatformError
from local.files import kept_password, write_private
from local.services.kafka import ADMIN, BROKER, KafkaUsers
from local.services.kafka_rights import ROLES
from local.services.source_database import OutsideDatabase
from settings.environment_pipeline import FIRST

# The folder of the services' output in a platform's.
LOGS = "logs"
PORTS = ("postgres", "kafka", "kafka-controller", "connect", "s3", "moto")
ORDERS = FIRST


@dataclass(frozen=True, kw_only=True)
class Passwords:
    """A platform's passwords: the database's, and of Kafka's users; an empty one is lost."""

    superuser: str
    connector: str
    kafka: KafkaUsers


def passwords(folder: Path) -> Passwords:
    """Return the passwords kept in `folder`; only `up` creates them."""
    return Passwords(
        superuser=kept_password(folder / "superuser"),
        connector=kept_password(connector_file(folder)),
        kafka=KafkaUsers.kept(folder / "kafka", ROLES),
    )


def connector_file(folder: Path) -> Path:
    """Return the password file of the connector, or of the job of queried tables."""
    return folder / "connector"


def password_files(folder: Path, *, embedded: bool = True, captured: bool = True) -> list[Path]:
    """Return the files of the passwords that are ours: of the embedded database, and of the log's way through Kafka."""
    database = [folder / "superuser", connector_file(folder)] if embedded else []
    return database + [folder / "kafka" / user for user in (BROKER, ADMIN, *ROLES) if captured]


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
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = file.read().strip()
                raise LockedError(
                    f"another command (pid {holder or 'unknown'}) is at work on {self.path.parent}:"
                    " wait for it or stop it",
                    int(holder) if holder.isdecimal() else None,
                ) from None
            # In place: a full disk may have no room for another block.
            with contextlib.suppress(OSError):
                os.pwrite(file.fileno(), f"{os.getpid():<10}\n".encode(), 0)
            yield


@dataclass(frozen=True, kw_only=True)
class PlatformOptions:
    """Options that a user may choose.

    `pipeline` names the file in pipelines/; `outside` is its database where that isn't the embedded one, and `password`
    its role's, which a start keeps.
    `scale` and `dump` are the loader's and apply to the first start, while there is no source database; later, only the
    data loaded then may be requested.
    `lenses` is the release of the real S3 sink, an archive or a folder; `job` False leaves the streaming job out.
    `supervised` leaves a process behind that restarts dead services.
    """

    pipeline: str = ORDERS
    outside: OutsideDatabase | None = None
    password: str = field(default="", repr=False)
    scale: int | None = None
    dump: Path | None = None
    lenses: Path | None = None
    job: bool = True
    supervised: bool = False


class Record(BaseModel, frozen=True):
    """A start: the port of each listening service, the services that should run, and the pipeline.

    `outside`: the pipeline's database, where that isn't the embedded one.
    `unreadable`: the file isn't such a record, so its content is unknown.
    """

    ports: dict[str, Annotated[int, Field(gt=0, lt=1 << 16)]]
    services: frozenset[str]
    # A platform of an earlier release has neither.
    pipeline: str | None = None
    outside: OutsideDatabase | None = None
    unreadable: bool = Field(default=False, exclude=True)


class RecordFile:
    """The record of the platform whose state is in `state_dir`."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._path = state_dir / "state.json"
        # The superuser's password, in the format of libpq's PGPASSFILE.
        self.password_file = state_dir / "secrets" / "pgpass"

    def read(self) -> Record:
        """Return the record; an empty one before the first start or when it can't be read."""
        try:
            return Record.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return Record(ports={}, services=frozenset())
        except ValidationError:
            return Record(ports={}, services=frozenset(), unreadable=True)

    def write(self, options: PlatformOptions, ports: dict[str, int], services: frozenset[str]) -> None:
        self._write(Record(ports=ports, services=services, pipeline=options.pipeline, outside=options.outside))

    def stopped(self) -> None:
        """Record that no service should run; without a record there is none afterwards."""
        if self._path.exists():
            self._write(self.read().model_copy(update={"services": frozenset()}))

    def _write(self, record: Record) -> None:
        write_private(self._path, record.model_dump_json(indent=1) + "\n")

    @property
    def pipeline(self) -> str | None:
        """The pipeline whose folder it is; None when that isn't known, or there is no platform yet."""
        record = self.read()
        return record.pipeline or (ORDERS if record.ports else None)

    def ports(self) -> dict[str, int]:
        """Return the port of each service. Raises PlatformError when none are recorded."""
        record = self.read()
        if set(record.ports) == set(PORTS):
            return record.ports
        if record.unreadable:
            raise PlatformError(
                f"{self._path} is corrupt, so the platform's ports are unknown: `./lake up` rewrites it and starts"
                " everything at new ports; the data stays"
            )
        if self.password_file.exists():
            raise PlatformError(f"no ports are recorded for {self._state_dir}: `./lake up` gives it new ones")
        raise PlatformError(f"there is no platform in {self._state_dir}: `./lake up` starts one")

    def options(self, given: PlatformOptions | None) -> PlatformOptions:
        """Return the given options, or the pipeline and the database of the last start.

        Raises PlatformError when the folder belongs to another pipeline.
        """
        there = self.pipeline
        if given is None:
            return PlatformOptions(pipeline=there or ORDERS, outside=self.read().outside)
        if there not in (None, given.pipeline):
            raise PlatformError(f"{self._state_dir} is pipeline {there}'s, not {given.pipeline}'s: give another folder")
        return given


@dataclass(frozen=True)
class Unfinished:
    """The mark of an unfinished resnapshot: by then, other signs of lost changes, such as a lost slot, may be gone.

    The file is there until both sides are equal. It names the tables that may miss changes; empty: all.
    """

    path: Path

    def begin(self, tables: Collection[str] = ()) -> None:
        """Note that these tables, all for none, may miss changes."""
        before = self._tables()
        whole = not tables or before == set()
        self.path.write_text("" if whole else "\n".join(sorted({*tables, *(before or ())})), encoding="utf-8")

    def end(self, tables: Collection[str] = ()) -> None:
        """Note that these tables, all for none, are equal."""
        before = self._tables()
        if before is not None and (not tables or (before and before <= {*tables})):
            self.path.unlink()

    @property
    def problem(self) -> str | None:
        tables = self._tables()
        if tables is None:
            return None
        options = "".join(f" --table {each}" for each in sorted(tables))
        rows = ", ".join(sorted(tables)) or "all rows"
        return f"a resnapshot of {rows} hasn't ended: run `./lake resnapshot{options}`"

    def _tables(self) -> set[str] | None:
        return {*self.path.read_text(encoding="utf-8").splitlines()} if self.path.exists() else None
