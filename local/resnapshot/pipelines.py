"""Reads a pipeline's ordinary tables again, as its connector's settings and its Avro schemas describe them."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from db.source import deletes, signals
from db.source.replication import Expected
from db.source.signals import ODD_NAME, Reading, can_name
from local.comparison.compare import Repair
from local.comparison.describe import Compared, avro_fields
from local.comparison.repair import Key, repair_by_key
from local.comparison.run import APPEND_ONLY
from local.errors import PlatformError
from local.look.lake import Lake
from local.resnapshot import run
from local.resnapshot.log_tables import (
    Connector,
    Say,
    as_event,
    committing,
    delete_event,
    read_again,
    settled_event,
    write_events,
)
from local.resnapshot.run import Losing, Wanted
from plugins.connector_settings import SourceSettings
from plugins.source.captured import CapturedTable
from settings.pipeline import CapturedTableSettings

SETTLE_S = 60


@dataclass(frozen=True, kw_only=True)
class Channel:
    """How to ask a pipeline's connector for rows, and how to write events alongside its own.

    `parameters` log in as a role that may insert into the signal table, `kafka` as one that may write to the topics.
    `timeout_s`: how long nothing may move. `losing` is called before what tells of lost changes is repaired.
    """

    pipeline: str
    settings: SourceSettings
    parameters: Mapping[str, Any] = field(repr=False)
    connector: Connector
    kafka: Mapping[str, Any] = field(repr=False)
    timeout_s: float
    say: Say
    losing: Losing = lambda: None

    @contextlib.contextmanager
    def flowing(self, lakes: Iterable[Lake], wanted: Wanted, *, named: bool) -> Iterator[None]:
        """Ensure that changes leave the database; the tables are read again in the block.

        `lakes`: the lake's tables of the whole pipeline. `named`: only some of them are read again. A lost slot is
        recreated, as is one that `wanted.skip` passes over; a restored server's log is advanced. Raises PlatformError.
        """
        published = Expected(
            publication=self.settings.publication_name,
            tables=frozenset(),
            role=self.settings.database_user,
            pipeline=self.pipeline,
        )
        with (
            committing(self.parameters) as cursor,
            run.flowing(
                *(cursor, lakes, self.connector, wanted, self.say),
                published=published,
                named=named,
                losing=self.losing,
            ),
        ):
            yield

    def read_again(
        self, entries: Sequence[CapturedTableSettings], where: str | None = None, *, alone: bool = True
    ) -> None:
        """Have the tables' rows, or those that match `where` in each, read again while changes continue.

        Returns when all rows are in their topics. Prints which tables are skipped because no snapshot of them can
        arrive. Raises PlatformError, also when all are skipped and they are `alone`: nothing else is read.
        """
        passed_over = {entry.name: reason for entry in entries if (reason := _why_not(entry, where))}
        readings = [
            Reading(table=(entry.schema_name, entry.table_name), where=where, pattern=entry.captured.pattern)
            for entry in entries
            if entry.name not in passed_over
        ]
        for name, reason in passed_over.items():
            if alone and not readings:
                raise PlatformError(f"{name} can't be read again: {reason}")
            self.say(f"not read again: {name}, {reason}")
        if readings:
            with committing(self.parameters) as cursor:
                read_again(cursor, self.settings, readings, self.connector, timeout_s=self.timeout_s, say=self.say)

    def settlement(self, entries: Sequence[CapturedTableSettings], where: str | None) -> Callable[[], None]:
        """Return a function that reports to the job that no rows are left of these tables' earlier TRUNCATEs.

        Call this before the tables are read again, and the result once they compare equal. It only covers tables whose
        TRUNCATEs the job handles, and none that was read by a condition alone. Raises PlatformError, LoadError.
        """
        handling = [entry for entry in entries if entry.handles_truncate and where is None]
        if not handling:
            return lambda: None
        with committing(self.parameters) as cursor:
            position = deletes.horizon_lsn(cursor, timeout_s=SETTLE_S)

        def settle() -> None:
            for entry in handling:
                event = settled_event((entry.schema_name, entry.table_name), self.settings.database_name, position)
                write_events(self.kafka, entry.captured.topic(self.settings.topic_prefix), [(None, event)])

        return settle

    def repair(self, wanted: Compared) -> Repair:
        """Return the repair of exactly the differing keys of a table. Raises PlatformError for its Avro schema."""
        table, types = wanted.entry.captured, key_types(wanted.entry, wanted.schema_file)
        read, delete = partial(self.read_keys_again, table), partial(self.delete_keys, table, types)
        return repair_by_key(self.parameters, read, delete, self.say)

    def read_keys_again(self, table: CapturedTable, keys: Sequence[Key]) -> None:
        """Have the rows of exactly these keys read again, a key being its columns' values as text.

        For a table whose name no signal can spell, all rows are read. Raises PlatformError.
        """
        name = (table.schema, table.table)
        whole = Reading(table=name, pattern=table.pattern)
        with committing(self.parameters) as cursor:
            for reading in [whole] if whole.blocks else signals.of_keys(cursor, name, table.key, keys):
                read_again(cursor, self.settings, [reading], self.connector, timeout_s=self.timeout_s)

    def delete_keys(
        self, table: CapturedTable, types: Mapping[str, Any], rows: Mapping[Key, Mapping[str, Any]]
    ) -> list[Key]:
        """Delete the `rows` that the source doesn't have from the lake; return their keys. Raises PlatformError.

        `rows` has the lake's values of the key's columns, by these values as text; `types` their Avro types. A key
        inserted meanwhile is newer than the delete, and a row changed since `rows` was read is left alone.
        """
        name = (table.schema, table.table)
        with committing(self.parameters) as cursor:
            position = deletes.horizon_lsn(cursor, timeout_s=SETTLE_S)
            gone = deletes.deleted_keys(cursor, name, table.key, rows)
        keyed = []
        for key in gone:
            values = {column: as_event(rows[key][column], types[column]) for column in table.key}
            keyed.append((values, delete_event(name, self.settings.database_name, values, position)))
        if keyed:
            write_events(self.kafka, table.topic(self.settings.topic_prefix), keyed)
        return gone


def _why_not(entry: CapturedTableSettings, where: str | None) -> str | None:
    if entry.append_only:
        return APPEND_ONLY
    return ODD_NAME if where is not None and not can_name((entry.schema_name, entry.table_name)) else None


def key_types(entry: CapturedTableSettings, schema_file: Path) -> dict[str, Any]:
    """Return the Avro types of the key's columns, by their names at the source. Raises PlatformError for the schema."""
    fields = avro_fields(schema_file)
    if missing := [name for name in entry.key if name not in fields]:
        raise PlatformError(f"{schema_file} has no field for {', '.join(missing)}, the key of {entry.name}")
    return {name: fields[name]["type"] for name in entry.key}
