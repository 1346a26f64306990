"""Runs CREATE TABLE AS and INSERT INTO: the engine, which can't write files, holds the rows; they are written here."""

from pathlib import Path

import pyarrow

from analytics.create_table import CreatedTable, InsertedRows, check_columns, check_partitions, check_types
from local.query.engine import QueryError, engine
from local.query.query import Loading, Period, QueriedLake
from local.query.silver import append, check_free, check_partitioned_by, glue_types, write

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
        # Their names as the statement selects them, whatever their case in partitioned_by.
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
