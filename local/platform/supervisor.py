"""Restarts dead services: `./lake up` leaves one running, `./lake down` stops it first.

It acts under the platform's lock, so never while another command does. It gives up a service that keeps dying, but not
a connector, which mostly fails because of something else. `status` shows both.
"""

import argparse
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from contract.errors import one_line_errors
from local.errors import CancelledError, LockedError, PlatformError
from local.platform.platform import Platform
from local.platform.restarts import LIMIT, Ledger
from local.platform.steps import STOP_ORDER, SUPERVISOR
from local.services.connect_api import ConnectApi

LOOK_S = 1.0
# A worker that hangs must not block the other services.
ANSWER_S = 5.0


class Supervisor:
    """Supervises the platform until `stop` is set."""

    def __init__(self, platform: Platform, ledger: Ledger, stop: threading.Event, log: Callable[[str], None]) -> None:
        self._platform = platform
        self._ledger = ledger
        self._stop = stop
        self._log = log
        self._forgotten = False

    def run(self) -> None:
        while not self._stop.wait(LOOK_S):
            try:
                self.look()
            except CancelledError:
                return
            except LockedError:
                continue  # another command is at work: it starts dead services, or has stopped them

    def look(self) -> None:
        """Restart what is dead or failed and has waited long enough. Raises LockedError, CancelledError."""
        if self._platform.forgotten != self._forgotten:
            self._forgotten = self._platform.forgotten
            if self._forgotten:
                self._log("the record is unreadable, so nothing is restarted: see `./lake status`")
        if any(map(self._ledger.due, self._dead())):
            with self._platform.lock.held():
                self._revive(self._dead())
        elif failed := {name: why for name, why in self._failed().items() if self._ledger.due(name)}:
            with self._platform.lock.held():
                self._restart_connectors(failed)

    def _dead(self) -> list[str]:
        """Name the services that should run and don't."""
        return [name for name in self._platform.expected() - {SUPERVISOR} if self._platform.pid(name) is None]

    def _failed(self) -> dict[str, str]:
        """Return the failed connectors and why; nothing while no worker runs."""
        if self._platform.pid("connect") is None:
            return {}
        try:
            return self._api().failures()
        except PlatformError:
            return {}

    def _revive(self, dead: Iterable[str]) -> None:
        due = {name for name in dead if self._ledger.due(name) and self._counted(name)}
        if "moto" in due:
            due.discard("job")  # it is started with the catalog
        with ThreadPoolExecutor(max_workers=len(STOP_ORDER)) as pool:
            list(pool.map(lambda name: self._try(name, partial(self._platform.revive, name)), due))

    def _counted(self, name: str) -> bool:
        """Count a service's restart; False when it is given up."""
        last_line = self._platform.processes.tail(name).splitlines()[-1].strip()
        goes_on = self._ledger.begin(name, last_line, limit=LIMIT)
        self._log(
            f"{name} has ended: {'starting it again' if goes_on else 'given up'}; the end of its log: {last_line}"
        )
        return goes_on

    def _restart_connectors(self, failed: dict[str, str]) -> None:
        """Restart connectors by name; their failures' reasons are kept for `status`.

        A connector that fails at a table continues without that table.
        """
        for name, reason in failed.items():
            self._ledger.begin(name, reason)
            self._log(f"connector {name} has failed: starting it again; the reason: {reason}")
            self._try(name, partial(self._restart_connector, name))

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
            self._log(f"{name}: {error}")


def supervise(folder: Path, *, lenses: Path | None, job: bool) -> None:
    """Restart dead services until a signal comes; `lenses` and `job` as passed to `up`."""
    platform = Platform(folder, replace(Platform(folder).options, lenses=lenses, job=job))
    stop = threading.Event()

    def end(*_: object) -> None:
        stop.set()
        platform.processes.cancelled.set()

    with one_line_errors("supervise"):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, end)
        Supervisor(platform, Ledger(platform.restarts_file), stop, _log).run()


def _log(line: str) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {line}", flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--folder", type=Path, required=True)
    options.add_argument("--lenses", type=Path)
    options.add_argument("--no-job", dest="job", action="store_false")
    supervise(**vars(options.parse_args()))
