"""`./lake query`: one statement of Athena's SQL on the running platform's lake; some create or fill a table.

The engine can't write files: it holds the rows, and they are written here.
"""

import io
import sys
from collections.abc import Sequence
from functools import partial
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
from local.query.query import BATCH_ROWS, LakeTable, Loading, Period, QueriedLake, ask
from local.query.silver import FOLDER, Silver, append, check_free, glue_types, write
from local.state.services import require_answers
from settings.pipeline import Pipeline


def create(lake: QueriedLake, created: CreatedTable, period: Period, out: Path | None = None) -> pyarrow.Table:
    """Write a statement's table into `out`, or among the lake's silver tables; return a summary.

    The result is one row: table, rows, partitions, folder. Raises TranslationError, QueryError, InstantError and
    LakeError, each one line; nothing is written then.
    """
    folder = _folder(lake, created, out)
    with engine(lake.database) as here:
        Loading(lake, here, period).load(created.rows)
        columns = here.keep(created.rows.sql, partial(check_columns, created))
        # Their names as the statement selects them: partitioned_by may have another case.
        keys = columns[len(columns) - len(created.partitioned_by) :]
        partitions = here.kept_values(keys) if keys else 0
        check_partitions(created, partitions)
        write(here.kept_batches(BATCH_ROWS), folder, partitioned_by=keys, compression=created.compression)
        written = {"table": created.name.table, "rows": here.kept_rows(), "partitions": partitions}
    return pyarrow.Table.from_pylist([{**written, "folder": str(folder)}])


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
        here.keep(inserted.rows.sql)
        check_types(table, glue_types(here.kept_batches(BATCH_ROWS).schema))
        if count := here.kept_rows():
            append(here.kept_batches(BATCH_ROWS), folder, table)
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
    if created := created_table(sql):
        result, out = create(lake, created, period, out), None
    elif inserted := inserted_rows(sql):
        if out is not None:
            raise PlatformError("INSERT INTO adds to a table, which has its place: leave --out out")
        result = insert(lake, inserted, period)
    else:
        result = ask(lake, sql, period)
    if out is None:
        formats.write(result, form, sys.stdout.buffer)
        sys.stdout.flush()
        return
    made = io.BytesIO()
    formats.write(result, form, made)
    out.write_bytes(made.getvalue())


def period_of(as_of: str | None, since: str | None) -> Period:
    """Return the requested lake. Raises PlatformError."""
    period = Period(as_of=parse_instant(as_of) if as_of else None, since=parse_instant(since) if since else None)
    if period.as_of and period.since and period.since > period.as_of:
        raise PlatformError(f"--since {period.since} is after --as-of {period.as_of}")
    return period


def _lake(platform: Platform, names: Sequence[str]) -> QueriedLake:
    require_answers(platform, "s3")
    services = platform.services
    chosen = services.chosen(names)
    tables = [LakeTable(lake=table.lake, queried=_queried(services.pipeline, table)) for table in chosen]
    derived = () if names else services.derived
    tables += [LakeTable(lake=one.lake, queried=Queried(table=one.lake_name, outbox=False)) for one in derived]
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
