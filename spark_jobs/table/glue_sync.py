"""Decides when the Glue catalog is synced, alongside the ingestion and without blocking it."""

import threading
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

from spark_jobs.errors import Log, first_line
from spark_jobs.options.table_settings import SyncSettings
from spark_jobs.table.hudi_table import Commit

_RETRY_SECONDS = 30.0


@dataclass(eq=False)
class GlueSync:
    """Decides when a sync is due and runs it in its own thread, so that a slow Glue delays nothing.

    A sync is pending from the start (the last run may have ended before its own), after each commit with a new schema
    or partition, and until one succeeds that began after the last such commit. `sync` runs one; it returns False when
    there is no table yet.
    """

    settings: SyncSettings
    _: KW_ONLY
    sync: Callable[[], bool]
    log: Log
    clock: Callable[[], float] = time.monotonic
    _pending: bool = field(default=True, init=False)
    _schema: str | None = field(default=None, init=False)
    _partitions: set[str] = field(default_factory=set, init=False)
    _not_before: float = field(default=float("-inf"), init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _outcome: bool | Exception = field(default=False, init=False)

    def committed(self, commit: Commit) -> None:
        """Note a commit, and sync when it changed the schema or the partitions; never two syncs at a time."""
        changed = commit.schema != self._schema or not commit.partitions <= self._partitions
        self._pending = self._pending or changed
        self._schema = commit.schema
        self._partitions |= commit.partitions
        self.run_if_due()

    def run_if_due(self) -> None:
        """Note a finished sync, and start one that is pending and due."""
        if not self._finished() or not self._pending or self.clock() < self._not_before:
            return
        self._pending = False
        self._thread = threading.Thread(target=self._run, name="glue-sync", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for a running sync and try a pending one once, each for the settings' time at most."""
        self._wait()
        if self._pending and self._thread is None:
            self._not_before = float("-inf")
            self.run_if_due()
            self._wait()

    def _run(self) -> None:
        try:
            self._outcome = self.sync()
        except Exception as error:  # noqa: BLE001  (whatever it is, ingestion goes on and the sync is tried again)
            self._outcome = error

    def _finished(self) -> bool:
        if self._thread is None:
            return True
        if self._thread.is_alive():
            return False
        self._thread = None
        if isinstance(self._outcome, Exception):
            self._pending = True
            self._not_before = self.clock() + _RETRY_SECONDS
            self.log(f"catalogue sync failed, is tried again: {first_line(self._outcome)}")
        elif self._outcome:
            self.log(f"catalogue sync done: {self.settings.database}.{self.settings.table}")
        return True

    def _wait(self) -> None:
        if self._thread is not None:
            self._thread.join(self.settings.timeout_seconds)
        if not self._finished():
            self.log("catalogue sync still runs: not waiting any longer, the next start syncs again")
