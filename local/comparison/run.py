"""Compares the tables of a pipeline one after the other; a table that can't be compared doesn't keep the others."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import psycopg2
import psycopg2.sql

from capture.inspection import Database, inspect
from db.connecting import connect
from db.errors import LoadError, explain
from local.comparison.compare import Limits, Progress, Repair, TableComparison, compare_table
from local.comparison.describe import Compared, describe
from local.comparison.table import ComparedTable
from local.errors import PlatformError
from local.look.lake import LakeError

LOOK_S = 0.5

OnProgress = Callable[[Progress], None]
# Makes what repairs a table.
Repairs = Callable[[Compared, ComparedTable], Repair]


def compare_tables(
    parameters: Mapping[str, Any],
    tables: Iterable[Compared],
    limits: Limits,
    *,
    salt: str = "",
    on_progress: OnProgress = lambda _progress: None,
    repairs: Repairs | None = None,
) -> Iterator[TableComparison]:
    """Compare each table; yield what was found as soon as it is. Raises LoadError when the source can't be reached.

    With `repairs` the rows that differ are repaired, and compared again.
    """
    tables = list(tables)
    database = read_catalogue(parameters, tables)
    for wanted in tables:
        started = time.monotonic()
        try:
            found = _compare(parameters, wanted, database, limits, salt, on_progress, repairs)
        except (PlatformError, LakeError, LoadError) as error:
            found = TableComparison(table=wanted.entry.name, problem=str(error))
        except psycopg2.Error as error:
            found = TableComparison(table=wanted.entry.name, problem=explain(error))
        yield replace(found, seconds=time.monotonic() - started)


def read_catalogue(parameters: Mapping[str, Any], tables: Iterable[Compared]) -> Database:
    """Read what the source's catalogue says of these tables. Raises LoadError."""
    with contextlib.closing(connect(parameters)) as connection:
        return inspect(connection, sorted({wanted.entry.schema_name for wanted in tables}))


def _compare(
    parameters: Mapping[str, Any],
    wanted: Compared,
    database: Database,
    limits: Limits,
    salt: str,
    on_progress: OnProgress,
    repairs: Repairs | None,
) -> TableComparison:
    deadline = time.monotonic() + limits.timeout_s
    while not wanted.lake.exists():
        # The job makes the table with its first row.
        if _is_empty(parameters, wanted):
            note = "the lake has no table yet, and the source no row"
            return TableComparison(table=wanted.entry.name, notes=(note,))
        if time.monotonic() >= deadline:
            raise LakeError(f"{wanted.lake.base_uri} has no commit yet: `make status` says how far the data has come")
        time.sleep(LOOK_S)
    if wanted.entry.hash and not salt:
        raise PlatformError(
            f"{', '.join(wanted.entry.hash)} can't be compared without the salt of the pipeline's hashes"
        )
    table = describe(wanted, database, salt=salt)
    repair = repairs(wanted, table) if repairs else None
    return compare_table(parameters, table, limits, on_progress=on_progress, repair=repair)


def _is_empty(parameters: Mapping[str, Any], wanted: Compared) -> bool:
    relation = psycopg2.sql.Identifier(wanted.entry.schema_name, wanted.entry.table_name)
    with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection.cursor() as cursor:
        cursor.execute(psycopg2.sql.SQL("SELECT NOT EXISTS (SELECT FROM {})").format(relation))
        (empty,) = cursor.fetchone() or (False,)
        return bool(empty)
