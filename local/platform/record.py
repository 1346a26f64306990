"""A platform's record of its last start: its ports, its pipeline and the services that should run."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from local.errors import PlatformError
from local.platform.services import ORDERS, PORTS, PlatformOptions
from local.private_files import write_private
from local.services.outside_database import OutsideDatabase


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

    @property
    def password_file(self) -> Path:
        """A file with the superuser's password, in the format of libpq's PGPASSFILE."""
        return self._state_dir / "secrets" / "pgpass"

    def read(self) -> Record:
        """Return the record; an empty one before the first start or when it can't be read."""
        try:
            return Record.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return Record(ports={}, services=frozenset())
        except ValidationError:
            return Record(ports={}, services=frozenset(), unreadable=True)

    def write(self, options: PlatformOptions, ports: dict[str, int], services: frozenset[str]) -> None:
        record = Record(ports=ports, services=services, pipeline=options.pipeline, outside=options.outside)
        write_private(self._path, record.model_dump_json(indent=1) + "\n")

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
        record = self.read()
        if given is None:
            return PlatformOptions(pipeline=record.pipeline or ORDERS, outside=record.outside)
        there = record.pipeline or (ORDERS if record.ports else None)
        if there is not None and there != given.pipeline:
            raise PlatformError(f"{self._state_dir} is pipeline {there}'s, not {given.pipeline}'s: give another folder")
        return given
