"""Restarts dead services: `./lake up` leaves one running, `./lake down` stops it first.

It acts under the platform's lock, so never while another command does: at once, then after growing pauses. It gives up
a service that keeps dying, until a full disk has room, but not a connector, which mostly fails because of something
else. `status` shows both.
"""

import argparse
import contextlib
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from contract.errors import error_text, one_line_errors
from local.errors import CancelledError, LockedError, PlatformError
from local.files import LEAST_FREE_BYTES, free_bytes, write_private
from local.platform.platform import Platform
from local.platform.startup import STOP_ORDER, SUPERVISOR
from local.services.connect_api import ConnectApi
from settings.load import SettingsFileError, load_pipeline

FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 60.0
# After running this long, a service counts as healthy: its next death is the first again.
STABLE_S = 300.0
LIMIT = 8
LOOK_S = 1.0
# A worker that hangs must not block the other services.
ANSWER_S = 5.0
# Seconds since 1970 that a date can express.
LATEST = 2.0**37


@dataclass(frozen=True, kw_only=True)
class Restarts:
    """The restarts of one service or connector.

    `total` since the supervisor began, `tries` since it was last healthy, `last_at` in seconds since 1970.
    """

    total: Annotated[int, Field(ge=0)]
    tries: Annotated[int, Field(ge=0)]
    last_at: Annotated[float, Field(ge=0, lt=LATEST)]
    reason: str
    given_up: bool = False

    @property
    def pause_s(self) -> float:
        """Minimum seconds between the last try and the next."""
        return min(FIRST_PAUSE_S * 2.0 ** min(self.tries - 1, 10), LONGEST_PAUSE_S)

    def unproven(self, now: float) -> bool:
        """Tell whether it hasn't run yet for as long as the pause before it was started."""
        return 0 <= now - self.last_at < self.pause_s

    def describe(self, now: float) -> str:
        last = datetime.fromtimestamp(self.last_at, UTC).strftime("%H:%M:%S UTC")
        times = "once" if self.tries == 1 else f"{self.tries} times"
        if self.given_up:
            return f"restarted {times}, last at {last}, then given up: `./lake up` tries again"
        wait_s = self.last_at + self.pause_s - now
        then = f", the next try in {wait_s:.0f} s" if wait_s > 0 else ""
        return f"restarted {times}, last at {last}{then}"


_ENTRIES = TypeAdapter(dict[str, Restarts])


class Ledger:
    """Which services were restarted and when, kept in the file `path` for other processes to read."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._entries: dict[str, Restarts] = {}
        self._saved = False
        self._changed()

    def due(self, name: str) -> bool:
        entry = self._entries.get(name)
        if entry is None:
            return True
        # Setting the clock back must not cause a pause of hours.
        return not entry.given_up and not 0 <= self._clock() - entry.last_at < entry.pause_s

    def begin(self, name: str, reason: str, *, limit: int | None = None) -> bool:
        """Count a restart. False once `limit` of them were in vain: it is given up."""
        now = self._clock()
        before = self._entries.get(name) or Restarts(total=0, tries=0, last_at=now, reason=reason)
        tries = before.tries if before.given_up or now - before.last_at < STABLE_S else 0
        if limit is not None and tries >= limit:
            self._entries[name] = replace(before, given_up=True)
        else:
            self._entries[name] = Restarts(total=before.total + 1, tries=tries + 1, last_at=now, reason=reason)
        self._changed()
        return not self._entries[name].given_up

    def forget(self, name: str) -> None:
        """Forget the failures of a service whose cause is gone."""
        self._entries.pop(name, None)
        self._changed()

    def try_again(self) -> None:
        """Forget what was tried in vain, as its cause is gone."""
        self._entries = {name: replace(entry, tries=0, given_up=False) for name, entry in self._entries.items()}
        self._changed()

    def save(self) -> None:
        """Write changes that couldn't be written before. Raises OSError."""
        if not self._saved:
            write_private(self._path, _ENTRIES.dump_json(self._entries, indent=1).decode() + "\n")
            self._saved = True

    def _changed(self) -> None:
        self._saved = False
        # A full disk must not prevent restarts.
        with contextlib.suppress(OSError):
            self.save()


def read_restarts(path: Path) -> dict[str, Restarts]:
    """Return the supervisor's records; nothing when the file is missing or can't be read."""
    try:
        return _ENTRIES.validate_json(path.read_bytes(), strict=True)
    except (OSError, ValidationError):
        return {}


class Supervisor:
    """Supervises the platform until `stop` is set."""

    def __init__(self, platform: Platform, ledger: Ledger, stop: threading.Event, log: Callable[[str], None]) -> None:
        self._platform = platform
        self._ledger = ledger
        self._stop = stop
        self._log = log
        self._forgotten = False
        self._full = False
        self._said = ""

    def run(self) -> None:
        """Look until the stop, also after errors; a reason is logged once while it lasts."""
        while not self._stop.wait(LOOK_S):
            said = ""
            try:
                self.look()
                self._ledger.save()
            except CancelledError:
                return
            except LockedError:
                continue  # another command is at work: it starts dead services, or has stopped them
            except Exception as error:  # noqa: BLE001  (the platform still needs us)
                said = error_text(error).splitlines()[0]
                if said != self._said:
                    self._log(f"tries again: {said}")
            self._said = said

    def look(self) -> None:
        """Restart what is dead or failed and has waited long enough. Raises LockedError, CancelledError.

        The reasons of connectors' failures are kept for `status`. One that fails at a table continues without it.
        """
        if (forgotten := self._platform.record.read().unreadable) != self._forgotten:
            self._forgotten = forgotten
            if forgotten:
                self._log("the record is unreadable, so nothing is restarted: see `./lake status`")
        was_full, self._full = self._full, free_bytes(self._platform.state_dir) < LEAST_FREE_BYTES
        if was_full and not self._full:
            self._log("the disk has room again: all that has failed is tried again")
            self._ledger.try_again()
        if any(map(self._ledger.due, self._dead())):
            with self._platform.lock.held(), ThreadPoolExecutor(max_workers=len(STOP_ORDER)) as pool:
                due = {name for name in self._dead() if self._ledger.due(name) and self._counted(name)}
                if "moto" in due:
                    due.discard("job")  # it is started with the catalog
                list(pool.map(lambda name: self._try(name, partial(self._platform.revive, name)), due))
        elif failed := {name: why for name, why in self._failed().items() if self._ledger.due(name)}:
            with self._platform.lock.held():
                for name, reason in failed.items():
                    self._ledger.begin(name, reason)
                    self._log(f"connector {name} has failed: starting it again; the reason: {reason}")
                    self._try(name, partial(self._restart_connector, name))

    def _dead(self) -> list[str]:
        return [name for name in self._platform.expected() - {SUPERVISOR} if self._platform.pid(name) is None]

    def _failed(self) -> dict[str, str]:
        """Return the failed connectors and why; nothing while no worker runs."""
        if self._platform.pid("connect") is None:
            return {}
        try:
            return self._api().failures()
        except PlatformError:
            return {}

    def _counted(self, name: str) -> bool:
        """Count a service's restart; False when it is given up."""
        last_line = self._platform.processes.tail(name).splitlines()[-1].strip()
        goes_on = self._ledger.begin(name, last_line, limit=LIMIT)
        self._log(
            f"{name} has ended: {'starting it again' if goes_on else 'given up'}; the end of its log: {last_line}"
        )
        return goes_on

    def _restart_connector(self, name: str) -> None:
        pipeline = self._platform.pipeline
        if name == pipeline.connectors.source.name and (table := pipeline.connectors.set_aside()) is not None:
            self._ledger.forget(name)
            self._log(f"connector {name} goes on without table {table}, which is set aside")
            return
        self._api().restart_failed(name)

    def _api(self) -> ConnectApi:
        return replace(self._platform.services.connect.api, timeout_s=ANSWER_S)

    def _try(self, name: str, action: Callable[[], None]) -> None:
        try:
            action()
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  (the other services still need us)
            self._log(f"{name}: {error_text(error)}")


def supervise(folder: Path, *, lenses: Path | None, job: bool) -> None:
    """Restart dead services until a signal comes; `lenses` and `job` as passed to `up`."""
    stop = threading.Event()
    with one_line_errors("supervise"):
        options = replace(Platform(folder).options, lenses=lenses, job=job)
        applied = None
        # A file that somebody edits just now is read when it is needed.
        with contextlib.suppress(SettingsFileError):
            applied = load_pipeline(options.pipeline)
        platform = Platform(folder, options, applied)

        def end(*_: object) -> None:
            stop.set()
            platform.processes.cancelled.set()

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, end)
        Supervisor(platform, Ledger(platform.restarts_file), stop, _log).run()


def _log(line: str) -> None:
    # The log may be on the full disk that the line is about.
    with contextlib.suppress(OSError):
        print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {line}", flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--folder", type=Path, required=True)
    options.add_argument("--lenses", type=Path)
    options.add_argument("--no-job", dest="job", action="store_false")
    supervise(**vars(options.parse_args()))
