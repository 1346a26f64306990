"""Reads a pipeline's ordinary tables again, as its file and its Avro schemas describe them."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg2
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract.events import SOURCE_NAME
from contract.source import SIGNAL, own_schema
from db.connecting import LoadError, explain
from db.source import deletes
from db.source.replication import Expected
from db.source.signals import ODD_NAME, Reading, can_name
from local.comparison.compare import Repair
from local.comparison.describe import Compared
from local.comparison.repair import log_repair, repair_of
from local.comparison.rows import ComparedTable
from local.comparison.run import APPEND_ONLY, Repairs
from local.errors import PlatformError
from local.look.lake import Lake
from local.resnapshot import run
from local.resnapshot.log_tables import (
    SETTLE_S,
    EventWriter,
    LogTable,
    Reader,
    Say,
    Signals,
    committing,
    read_again,
    settled_event,
)
from local.resnapshot.run import Connector, Wanted
from settings.pipeline import CapturedTableSettings, Pipeline


def signals_of(pipeline: Pipeline) -> Signals:
    """Return how to request a snapshot from the pipeline's connector."""
    return Signals(
        table=(own_schema(pipeline.name), SIGNAL),
        publication=pipeline.source.publication,
        role=pipeline.source.role,
        left_out={(entry.schema_name, entry.table_name): entry.leave_out for entry in pipeline.tables},
    )


def log_table(pipeline: Pipeline, entry: CapturedTableSettings, schema_file: Path) -> LogTable:
    """Describe a table whose rows may be deleted in the lake. Raises PlatformError for its schema."""
    try:
        fields = json.loads(schema_file.read_text(encoding="utf-8"))["fields"]
    except (OSError, ValueError, KeyError) as error:
        raise PlatformError(f"{schema_file} can't be read: {error}") from error
    types = {field.get(SOURCE_NAME, field["name"]): field["type"] for field in fields}
    if missing := [name for name in entry.key if name not in types]:
        raise PlatformError(f"{schema_file} has no field for {', '.join(missing)}, the key of {entry.name}")
    return LogTable(
        database=pipeline.source.database,
        name=(entry.schema_name, entry.table_name),
        key=entry.key,
        topic=entry.captured.topic(pipeline.source.topic_prefix),
        key_types={name: types[name] for name in entry.key},
        pattern=entry.captured.pattern,
    )


def read_tables_again(
    parameters: Mapping[str, Any],
    pipeline: Pipeline,
    entries: Sequence[CapturedTableSettings],
    reader: Reader,
    *,
    where: str | None,
    timeout_s: float,
    say: Say,
) -> None:
    """Have the tables' rows, or those that match `where` in each, read again while changes continue.

    `parameters` log in as a role that may insert into the signal table. Returns when all rows are in their topics.
    Prints which tables are skipped because no snapshot of them can arrive. Raises PlatformError, also when all are
    skipped.
    """
    if outbox := [entry.name for entry in entries if entry.how != "log"]:
        raise PlatformError(
            f"{', '.join(outbox)} is written anew, not read again: run `./lake resnapshot` without --table"
        )
    passed_over = {entry.name: reason for entry in entries if (reason := _why_not(entry, where))}
    readings = [
        Reading(table=(entry.schema_name, entry.table_name), where=where, pattern=entry.captured.pattern)
        for entry in entries
        if entry.name not in passed_over
    ]
    for name, reason in passed_over.items():
        if not readings:
            raise PlatformError(f"{name} can't be read again: {reason}")
        say(f"not read again: {name}, {reason}")
    with _cursor(parameters) as cursor:
        read_again(cursor, signals_of(pipeline), readings, reader, timeout_s=timeout_s, say=say)


def _why_not(entry: CapturedTableSettings, where: str | None) -> str | None:
    if entry.append_only:
        return APPEND_ONLY
    return ODD_NAME if where is not None and not can_name((entry.schema_name, entry.table_name)) else None


@contextlib.contextmanager
def flowing(
    parameters: Mapping[str, Any],
    pipeline: Pipeline,
    names: Sequence[str] | None,
    lakes: Iterable[Lake],
    connector: Connector,
    reader: Reader,
    wanted: Wanted,
    say: Say,
) -> Iterator[None]:
    """Ensure that changes leave the database; the tables are read again in the block.

    `lakes`: the lake's tables of the whole pipeline. A lost slot is recreated, as is one that `wanted.skip` passes
    over; a restored server's log is advanced. Raises PlatformError.
    """
    source = pipeline.source
    published = Expected(publication=source.publication, tables=frozenset(), role=source.role, pipeline=pipeline.name)
    stored, processed = (
        max((int(offset.get(name) or 0) for offset in reader.offsets()), default=0) for name in ("lsn", "lsn_proc")
    )
    newest = max([connector.newest_position(), stored, *map(run.newest_position, lakes)])
    with (
        _cursor(parameters) as cursor,
        run.flowing(
            cursor, newest, connector, wanted, say, published=published, named=bool(names), processed=processed
        ),
    ):
        yield


def settlement(
    parameters: Mapping[str, Any], pipeline: Pipeline, entries: Sequence[CapturedTableSettings], *, where: str | None
) -> Callable[[EventWriter], None]:
    """Return a function that reports to the job that no rows are left of these tables' earlier TRUNCATEs.

    Call this before the tables are read again, and the result once they compare equal. It only covers tables whose
    TRUNCATEs are ignored, and none that was read by a condition alone. Raises PlatformError, LoadError.
    """
    ignoring = [entry for entry in entries if entry.ignores_truncate and where is None]
    if not ignoring:
        return lambda _writer: None
    with _cursor(parameters) as cursor:
        position = deletes.horizon_lsn(cursor, timeout_s=SETTLE_S)

    def settle(writer: EventWriter) -> None:
        for entry in ignoring:
            event = settled_event((entry.schema_name, entry.table_name), pipeline.source.database, position)
            writer.write(entry.captured.topic(pipeline.source.topic_prefix), [(None, event)])

    return settle


def repairs(
    parameters: Mapping[str, Any],
    pipeline: Pipeline,
    reader: Reader,
    writer: EventWriter,
    *,
    timeout_s: float,
    say: Say,
) -> Repairs:
    """Return the repair of each table in a comparison: of exactly the differing keys."""

    def repair(wanted: Compared, compared: ComparedTable) -> Repair:
        table = log_table(pipeline, wanted.entry, wanted.schema_file)
        keys = log_repair(parameters, signals_of(pipeline), table, reader, writer, timeout_s=timeout_s)
        return repair_of(parameters, compared, keys, say)

    return repair


@contextlib.contextmanager
def _cursor(parameters: Mapping[str, Any]) -> Iterator[Cursor]:
    """Connect, each statement in its own transaction; errors become one line. Raises PlatformError."""
    try:
        with committing(parameters) as cursor:
            yield cursor
    except LoadError as error:
        raise PlatformError(str(error)) from error
    except psycopg2.Error as error:
        raise PlatformError(explain(error)) from error
