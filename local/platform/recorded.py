"""What a platform's record says of its last start: its ports, what it is and what is to run."""

from pathlib import Path

from local.errors import PlatformError
from local.platform import state
from local.platform.outside import OutsideDatabase
from local.platform.services import ORDERS, PORTS, PlatformOptions


class Recorded:
    """The record of the platform whose state is in `state_dir`."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._path = state_dir / "state.json"

    @property
    def password_file(self) -> Path:
        """A file with the superuser's password, as libpq's PGPASSFILE wants it."""
        return self._state_dir / "secrets" / "pgpass"

    def read(self) -> state.Record:
        """Return the record as it is; an empty one when it can't be read."""
        return state.read_record(self._path)

    def write(self, options: PlatformOptions, ports: dict[str, int], services: frozenset[str]) -> None:
        """Record a start, or a stop."""
        outside = None if options.outside is None else options.outside.as_record()
        record = state.Record(ports=ports, services=services, pipeline=options.pipeline, outside=outside)
        state.write_record(self._path, record)

    def ports(self) -> dict[str, int]:
        """Return the port of each service. Raises PlatformError when there was no start, or nobody knows them."""
        record = self.read()
        if set(record.ports) == set(PORTS):
            return record.ports
        if record.unreadable:
            raise PlatformError(
                f"{self._path} is corrupt, so nobody knows the platform's ports: `./lake up` writes it anew and starts"
                " everything at new ports; the data stays"
            )
        if self.password_file.exists():
            raise PlatformError(
                f"the platform in {self._state_dir} has no ports any more: `./lake up` gives it new ones"
            )
        raise PlatformError(f"there is no platform in {self._state_dir}: `./lake up` starts one")

    def options(self, given: PlatformOptions | None) -> PlatformOptions:
        """Return the options, without any given those of the last start, as far as they tell what the pipeline is.

        Raises PlatformError for a folder that another pipeline has.
        """
        record = self.read()
        if given is None:
            outside = None if record.outside is None else OutsideDatabase.recorded(record.outside)
            return PlatformOptions(pipeline=record.pipeline or ORDERS, outside=outside)
        there = record.pipeline or (ORDERS if record.ports else None)
        if there is not None and there != given.pipeline:
            raise PlatformError(f"{self._state_dir} is pipeline {there}'s, not {given.pipeline}'s: give another folder")
        return given
