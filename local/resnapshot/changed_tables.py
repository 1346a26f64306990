"""Reconfigures a running source connector to the tables that its pipeline's file has now: `./lake up` after an edit.

The order matters: a table joins the publication before the connector requests its changes, and is captured before the
connector is asked to read it, so no change falls between (docs/decisions/0034).
"""

import contextlib
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from db.source.signals import Reading, check_readable
from local.errors import PlatformError
from local.files import write_private
from local.look.topic import Topic
from local.resnapshot.log_tables import committing, position_of, read_again, signal_table
from local.services.connect_api import ConnectApi
from plugins.connector_settings import SourceSettings
from plugins.source.captured import INCLUDED_TABLES, CapturedTable, shown
from plugins.source.source_connector import OFFSET_MISMATCH, following_slot

# The newest events also show deletes, which leave no row in the lake.
TAIL_EVENTS = 1_000
TIMEOUT_S = 120
LOOK_S = 0.2
RESTART_S = 10


@dataclass(frozen=True, kw_only=True)
class LocalConnector:
    """A connector on our own worker: it can be stopped, and its stored offsets can be read."""

    api: ConnectApi
    topics: Sequence[Topic]
    name: str
    slot: str
    configuration: Mapping[str, str]

    def newest_position(self) -> int:
        newest = 0
        for topic in self.topics:
            with contextlib.suppress(KafkaException, TimeoutError):
                first, end = topic.bounds()
                events = topic.raw_events(max(first, end - TAIL_EVENTS))
                newest = max([newest, *(position_of(event.value) for event in events)])
        return newest

    def failure(self) -> str | None:
        return self.api.failure(self.name)

    def release(self) -> None:
        self.api.stop(self.name)

    def follow_slot(self) -> None:
        self.api.put_connector(self.name, following_slot(self.configuration))
        self._start()

    def restart(self) -> None:
        if not self.api.configuration(self.name):
            # It is lost with Kafka's data, and `up` creates no other one before the repair.
            self.api.put_connector(self.name, self.configuration)
        self._start()

    def _start(self) -> None:
        self.api.resume(self.name)
        self.api.restart_failed(self.name)

    def settle(self) -> None:
        try:
            self.api.put_connector(self.name, self.configuration)
        finally:
            # Nothing else starts it again after `release`.
            self.api.resume(self.name)

    def end_following(self) -> None:
        if OFFSET_MISMATCH in self.api.configuration(self.name):
            self.settle()

    def offsets(self) -> list[dict[str, Any]]:
        return self.api.stored_offsets(self.name)


@dataclass(frozen=True, kw_only=True)
class ChangedTables:
    """The tables of a connector that is to run with the configuration of `connector` and with `settings`.

    `to_read` is a file naming the tables that were added and aren't read yet: after an interruption, the next start
    reads them. `loaded`: those that the job reads first itself, whose older rows the connector mustn't send.
    """

    connector: LocalConnector
    settings: SourceSettings
    to_read: Path
    loaded: Collection[str] = ()

    def bring(self, parameters: Mapping[str, Any]) -> str | None:
        """Capture and read new tables, and stop capturing removed ones; return a note, None for no change.

        A connector that has never run reads all its tables itself: the caller starts it. `parameters` log in as a role
        that may insert into the signal table. Raises PlatformError.
        """
        running = self.connector.api.configuration(self.connector.name)
        if INCLUDED_TABLES not in running:
            self.to_read.unlink(missing_ok=True)
            return None
        # A change that was killed after `release` has left it stopped: it neither streams nor fails.
        self.connector.api.resume(self.connector.name)
        new, removed = changes(running, self.settings)
        noted: list[str] = []
        with contextlib.suppress(FileNotFoundError, ValueError):
            noted = json.loads(self.to_read.read_text(encoding="utf-8"))
        added = [table for table in self.settings.tables if table in new or table.name in noted]
        if not added and not removed:
            return None
        with committing(parameters) as cursor:
            self._change(cursor, added)
        return self._note(added, removed)

    def _change(self, cursor: Cursor, added: Sequence[CapturedTable]) -> None:
        readable = [table for table in added if _readable(table) and table.name not in self.loaded]
        if added:
            signal_table(self.settings)
            # A connector that is still starting must not be reconfigured.
            self._wait(lambda: self._session(cursor) is not None or self.connector.failure())
            write_private(self.to_read, json.dumps([table.name for table in added]) + "\n")
        for table in readable:
            check_readable(cursor, self.settings.database_user, (table.schema, table.table), table.leave_out)
        # A task still running with the former tables would ignore the signal to read the others.
        try:
            self.connector.release()
            self._wait(lambda: self._session(cursor) is None)
        finally:
            self.connector.settle()
        if added:
            self._wait(lambda: self._session(cursor) is not None, failing_after_s=RESTART_S)
        if readable:
            readings = [Reading(table=(table.schema, table.table), pattern=table.pattern) for table in readable]
            read_again(cursor, self.settings, readings, self.connector, timeout_s=TIMEOUT_S)
        self.to_read.unlink(missing_ok=True)

    def _note(self, added: Sequence[CapturedTable], removed: Sequence[str]) -> str:
        read = [table.name for table in added if _readable(table)]
        done = {
            "added and read": [name for name in read if name not in self.loaded],
            "added, and the job reads them": [name for name in read if name in self.loaded],
            "added, but their rows can't be read (docs/your-database/repair.md)": [
                table.name for table in added if not _readable(table)
            ],
            "no longer captured, topic and lake table stay": removed,
        }
        return "; ".join(f"{what}: {', '.join(names)}" for what, names in done.items() if names)

    def _session(self, cursor: Cursor) -> object:
        """Return the process that reads the slot, None without one."""
        cursor.execute("SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s", (self.settings.slot_name,))
        return (cursor.fetchone() or (None,))[0]

    def _wait(self, reached: Callable[[], object], *, failing_after_s: float = TIMEOUT_S) -> None:
        """Wait; right after a start, the connector may still report its previous failure."""
        started = time.monotonic()
        while not reached():
            waited = time.monotonic() - started
            if waited > failing_after_s and (reason := self.connector.failure()):
                raise PlatformError(f"the connector has failed: {reason}")
            if waited > TIMEOUT_S:
                raise PlatformError(
                    f"connector {self.connector.name} didn't pick up the new tables within {TIMEOUT_S} s:"
                    " see Connect's log, then run this again"
                )
            time.sleep(LOOK_S)


def _readable(table: CapturedTable) -> bool:
    # Where every event is a row, a row read again can't be one: it has no position (docs/decisions/0078).
    return not table.append_only


def changes(running: Mapping[str, str], wanted: SourceSettings) -> tuple[list[CapturedTable], list[str]]:
    """Return the tables that a connector running as `running` doesn't capture yet, and the names of those it drops."""
    captured = running[INCLUDED_TABLES].split(",")
    new = [table for table in wanted.tables if table.pattern not in captured and table.name not in captured]
    kept = {name for table in wanted.tables for name in (table.pattern, table.name)}
    return new, [shown(pattern) for pattern in captured if pattern not in kept]
