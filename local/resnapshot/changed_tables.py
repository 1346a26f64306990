"""Brings a source connector that runs to the tables that its pipeline's file has now: `./lake up` after an edit."""

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from db.connecting import connect
from local.errors import PlatformError
from local.platform.state import write_private
from local.resnapshot.added import capture_added, new_tables, removed_tables, slot_session
from local.resnapshot.connector import LocalConnector
from local.services.connect_api import ConnectApi
from plugins.connector_settings import SourceSettings
from plugins.source.captured import INCLUDED_TABLES, CapturedTable

TIMEOUT_S = 120
LOOK_S = 0.2


class ChangedTables:
    """The tables of the connector of `settings`, whose `configuration` is what it is to run as.

    `to_read` is a file that names the tables that were added and aren't read yet: whatever ends us in between, the next
    start reads them.
    """

    def __init__(
        self,
        api: ConnectApi,
        settings: SourceSettings,
        configuration: Mapping[str, str],
        reader: LocalConnector,
        to_read: Path,
    ) -> None:
        self._api = api
        self._settings = settings
        self._configuration = configuration
        self._reader = reader
        self._to_read = to_read

    def bring(self, parameters: Mapping[str, Any]) -> str | None:
        """Capture and read what is new, and no longer capture what has left the file; say so, None for no change.

        A connector that has never run reads all of its tables by itself: it is left to the caller. `parameters` are of
        somebody who may insert into the signal table. Raises PlatformError, LoadError, psycopg2.Error.
        """
        running = self._api.configuration(self._settings.name)
        if INCLUDED_TABLES not in running:
            self._to_read.unlink(missing_ok=True)
            return None
        added, removed = self._unread(running), removed_tables(running, self._settings)
        if not added and not removed:
            return None
        with contextlib.closing(connect(parameters)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                self._change(cursor, added)
        return _note(added, removed)

    def _unread(self, running: Mapping[str, str]) -> list[CapturedTable]:
        noted: list[str] = []
        with contextlib.suppress(FileNotFoundError, ValueError):
            noted = json.loads(self._to_read.read_text(encoding="utf-8"))
        new = new_tables(running, self._settings)
        return [table for table in self._settings.tables if table in new or table.name in noted]

    def _change(self, cursor: Cursor, added: Sequence[CapturedTable]) -> None:
        if not added:
            # Nothing is to be read: how the connector is now doesn't matter, and it may have failed at what leaves.
            self._configure(cursor)
            self._to_read.unlink(missing_ok=True)
            return
        # One that is only starting would meet its configuration's change with a task that nobody has seen.
        self._wait(lambda: slot_session(cursor, self._settings.slot_name) is not None or self._reader.failure())
        write_private(self._to_read, json.dumps([table.name for table in added]) + "\n")
        capture_added(
            cursor,
            self._settings,
            [table for table in added if _readable(table)],
            configure=lambda: self._configure(cursor),
            reader=self._reader,
            timeout_s=TIMEOUT_S,
            say=lambda _line: None,
        )
        self._to_read.unlink()

    def _configure(self, cursor: Cursor) -> None:
        """Start it anew: a task that still ran by the former tables would pass over the signal to read the others."""
        self._api.stop(self._settings.name)
        self._wait(lambda: slot_session(cursor, self._settings.slot_name) is None)
        self._api.put_connector(self._settings.name, self._configuration)
        self._api.resume(self._settings.name)

    def _wait(self, reached: Callable[[], object]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while not reached():
            if time.monotonic() > deadline:
                raise PlatformError(
                    f"connector {self._settings.name} doesn't come to other tables in {TIMEOUT_S} s:"
                    " see Connect's log, then run this again"
                )
            time.sleep(LOOK_S)


def _readable(table: CapturedTable) -> bool:
    # Where every event is a row, one without a position can't be (docs/decisions/0078).
    return not table.append_only


def _note(added: Sequence[CapturedTable], removed: Sequence[str]) -> str:
    """Say what became of the tables."""
    read = [table.name for table in added if _readable(table)]
    untold = [table.name for table in added if not _readable(table)]
    lines = [f"added and read: {', '.join(read)}"] if read else []
    if untold:
        lines.append(f"added, but their rows can't be read (docs/your-database/repair.md): {', '.join(untold)}")
    if removed:
        lines.append(f"no longer captured, topic and lake table stay: {', '.join(removed)}")
    return "; ".join(lines)
