"""`./lake query`: one statement of Athena's SQL on the running platform's lake; some create or fill a table.

The engine can't write files: it holds the rows, and they are written here.
"""

import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow

from analytics.create_table import (
    CreatedTable,
    InsertedRows,
    check_columns,
    check_partitions,
    check_types,
    created_table,
    inserted_rows,
)
from analytics.queries import Queried
from local.errors import PlatformError
from local.look import json_lines
from local.look.lake import parse_instant
from local.platform.platform import Platform
from local.platform.services import GLUE_DATABASE, LocalTable
from local.query import formats
from local.query.engine import QueryError, engine
from local.query.query import LakeTable, Loading, Period, QueriedLake, ask, described
from local.query.silver import FOLDER, Silver, append, check_free, check_partitioned_by, glue_types, write
from local.state.services import require_answers
from settings.pipeline import Pipeline

BATCH_ROWS = 16_384


def create(lake: QueriedLake, created: CreatedTable, period: Period, out: Path | None = None) -> pyarrow.Table:
    """Write a statement's table into `out`, or among the lake's silver tables; return a summary.

    The result is one row: table, rows, partitions, folder. Raises TranslationError, QueryError, InstantError and
    LakeError, each one line; nothing is written then.
    """
    folder = _folder(lake, created, out)
    with engine(lake.database) as here:
        Loading(lake, here, period).load(created.rows)
        kept = here.keep(created.rows.sql, lambda columns: check_columns(created, columns))
        # Their names as the statement selects them: partitioned_by may have another case.
        keys = kept.columns[len(kept.columns) - len(created.partitioned_by) :]
        partitions = kept.distinct(keys) if keys else 1
        check_partitions(created, partitions)
        rows = kept.batches(BATCH_ROWS)
        check_partitioned_by(rows.schema, keys)
        write(rows, folder, partitioned_by=keys, compression=created.compression)
        written = {
            "table": created.name.table,
            "rows": kept.rows(),
            "partitions": partitions if keys else 0,
            "folder": str(folder),
        }
    return pyarrow.Table.from_pylist([written])


def insert(lake: QueriedLake, inserted: InsertedRows, period: Period) -> pyarrow.Table:
    """Add a statement's rows to a declared table, as a file of their own; return how many there were.

    The result is one row: table, rows, folder. Raises TranslationError, QueryError, InstantError and LakeError, each
    one line; nothing is written then.
    """
    table = lake.declared.get(inserted.name.table)
    if table is None or inserted.name.database not in (None, lake.database):
        there = ", ".join(sorted(lake.declared)) or "none in this lake"
        raise QueryError(f"INSERT INTO is for declared tables, and {inserted.name} isn't one: {there}")
    folder = lake.silver.folder.resolve() / table.name
    with engine(lake.database) as here:
        Loading(lake, here, period).load(inserted.rows)
        kept = here.keep(inserted.rows.sql, lambda _: None)
        check_types(table, glue_types(kept.batches(BATCH_ROWS).schema))
        if count := kept.rows():
            append(kept.batches(BATCH_ROWS), folder, table)
    return pyarrow.Table.from_pylist([{"table": table.name, "rows": count, "folder": str(folder)}])


def _folder(lake: QueriedLake, created: CreatedTable, out: Path | None) -> Path:
    name = created.name
    if name.database not in (None, lake.database):
        raise QueryError(f"there is no database {name.database}: the lake's is {lake.database}")
    if out is not None:
        folder = out.resolve()
    else:
        folder = lake.silver.folder.resolve() / name.table
        if name.table in lake.names:
            there = f", or remove {folder}" if name.table in lake.silver.names() else ""
            raise QueryError(f"{lake.database}.{name.table} is there already: take another name{there}")
    check_free(folder)
    return folder


def run(
    platform: Platform,
    sql: str,
    *,
    tables: Sequence[str] = (),
    form: formats.Format = "table",
    period: Period,
    out: Path | None = None,
) -> None:
    """Run one statement of Athena's SQL; without one, list the lake's tables and columns.

    Raises PlatformError, QueryError.
    """
    if form == "parquet" and out is None and sys.stdout.isatty():
        raise PlatformError("Parquet can't be printed: give --out file.parquet")
    lake = _lake(platform, tables)
    written = _written(lake, sql, period, out)
    result = written if written is not None else ask(lake, sql, period) if sql.strip() else described(lake)
    if out is None or written is not None:
        formats.write(result, form, sys.stdout.buffer)
        sys.stdout.flush()
        return
    made = io.BytesIO()
    formats.write(result, form, made)
    out.write_bytes(made.getvalue())


def _written(lake: QueriedLake, text: str, period: Period, out: Path | None) -> pyarrow.Table | None:
    """Return the result of a statement that creates or fills a table; None for one that only reads."""
    if created := created_table(text):
        return create(lake, created, period, out)
    if inserted := inserted_rows(text):
        if out is not None:
            raise PlatformError("INSERT INTO adds to a table, which has its place: leave --out out")
        return insert(lake, inserted, period)
    return None


def period_of(as_of: str | None, since: str | None) -> Period:
    """Return the requested lake. Raises PlatformError."""
    period = Period(as_of=parse_instant(as_of) if as_of else None, since=parse_instant(since) if since else None)
    if period.as_of and period.since and period.since > period.as_of:
        raise PlatformError(f"--since {period.since} is after --as-of {period.as_of}")
    return period


def _lake(platform: Platform, names: Sequence[str]) -> QueriedLake:
    require_answers(platform, "s3")
    services = platform.services
    tables = [
        LakeTable(lake=found.lake, queried=_queried(services.pipeline, found)) for found in services.chosen(names)
    ]
    if not names:
        derived = ((one.lake, Queried(table=one.lake_name, outbox=False)) for one in services.derived)
        tables += [LakeTable(lake=lake, queried=queried) for lake, queried in derived]
    return QueriedLake(
        database=GLUE_DATABASE,
        tables=tables,
        silver=Silver(platform.state_dir / FOLDER),
        quarantine=lambda names: json_lines.quarantined(services.s3.client(), names),
        landed=lambda topics: json_lines.landed(services.s3.client(), topics),
    )


def _queried(pipeline: Pipeline, table: LocalTable) -> Queried:
    return Queried(
        table=table.lake_name,
        outbox=table.entry.how == "outbox",
        source=table.name,
        pipeline=pipeline.name,
        example=pipeline.source.example,
        # Only what travels through Kafka lands.
        topic=table.topic.name if not table.entry.is_queried else "",
        key=table.entry.key,
        history=pipeline.history_table(table.entry) if table.entry.history else "",
    )
