"""A connector's change of tables, without the services: what is recorded about tables added but not read yet."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from local.errors import PlatformError
from local.resnapshot import changed_tables
from local.resnapshot.changed_tables import ChangedTables
from plugins.connector_settings import SourceSettings
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import source_connector

EVENTS = CapturedTable(schema="public", table="events", append_only=True)
A, B, ODD = (CapturedTable(schema="public", table=name) for name in ("a", "b", "Order Items"))
SOURCE = SourceSettings(
    database_hostname="db",
    database_password="${file:/run/secret:password}",
    topic_prefix="shop",
    tables=(A, B),
    signal_table="cdc_shop.signal",
)


class FakeWorker:
    """Stands in for ConnectApi: a connector that runs as configured."""

    def __init__(self, running: Mapping[str, str]) -> None:
        self.running = dict(running)
        self.session: int | None = 1

    def stop(self, _name: str) -> None:
        self.session = None

    def resume(self, _name: str) -> None:
        self.session = 2

    def configuration(self, _name: str) -> dict[str, str]:
        return self.running

    def put_connector(self, _name: str, configuration: Mapping[str, str]) -> None:
        self.running = dict(configuration)


class Change:
    """A change of tables whose `capture_added` only records what it is asked to read, or fails."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.noted = folder / "to-read.json"
        self.read: list[str] = []
        self.failing = False
        monkeypatch.setattr(changed_tables, "committing", lambda _parameters: nullcontext())
        monkeypatch.setattr(changed_tables, "slot_session", lambda _cursor, _slot: self.worker.session)
        monkeypatch.setattr(changed_tables, "capture_added", self._capture)

    def _capture(self, _cursor: Any, settings: SourceSettings, added: list[CapturedTable], **_: Any) -> None:
        self.worker.put_connector("", source_connector(settings))
        if self.failing:
            raise PlatformError("the connector has failed during the snapshot")
        self.read += [table.name for table in added]

    def bring(self, running: Mapping[str, str], *tables: CapturedTable) -> str | None:
        self.worker = FakeWorker(running)
        wanted = replace(SOURCE, tables=tables)
        worker = cast(Any, self.worker)
        return ChangedTables(
            api=worker,
            settings=wanted,
            configuration=source_connector(wanted),
            reader=cast(Any, None),
            to_read=self.noted,
        ).bring({})


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Change:
    return Change(tmp_path, monkeypatch)


def test_the_first_start_and_the_same_tables_are_no_change(change: Change) -> None:
    assert change.bring({}, A, B) is None
    assert change.bring(source_connector(SOURCE), A, B) is None
    assert change.read == []


def test_a_table_is_read_by_the_next_start_when_this_one_ended_before(change: Change) -> None:
    change.failing = True
    with pytest.raises(PlatformError):
        change.bring(source_connector(replace(SOURCE, tables=(A,))), A, B)
    assert json.loads(change.noted.read_text()) == ["public.b"]
    change.failing = False
    assert change.bring(change.worker.running, A, B) == "added and read: public.b"
    assert change.read == ["public.b"]
    assert change.bring(change.worker.running, A, B) is None


def test_a_table_that_leaves_is_said(change: Change) -> None:
    """Even if the connector fails: the only wait is for the slot's release."""
    change.failing = True
    said = change.bring(source_connector(SOURCE), A)
    assert said == "no longer captured, topic and lake table stay: public.b"
    assert (change.read, change.worker.session) == ([], 2)
    assert B.pattern not in change.worker.running["table.include.list"]


@pytest.mark.parametrize(
    ("table", "said"),
    [(ODD, "added and read"), (EVENTS, "added, but their rows can't be read (docs/your-database/repair.md)")],
)
def test_any_table_is_captured_and_what_cant_be_read_is_said(table: CapturedTable, said: str, change: Change) -> None:
    """A name with any characters is read; where every event is a row, no row that was read can be one."""
    assert change.bring(source_connector(SOURCE), A, B, table) == f"{said}: {table.name}"
    assert change.read == ([table.name] if table is ODD else [])
    assert table.pattern in change.worker.running["table.include.list"]
