"""Proves that lake and source are equal: every row and every column of the outbox, by key and hash, at one LSN.

A sink may lose what it was given (docs/decisions/0040), so equality is measured and never assumed.
"""

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import psycopg2
import pyarrow
import pyarrow.compute

from contract.source import OUTBOX_TABLE, SCHEMA
from local.errors import PlatformError
from local.look.canonical import by_name, lake_rows, source_expression
from local.look.lake import Lake, LakeError

OUTBOX = (SCHEMA, OUTBOX_TABLE)
KEY = "order_id"
# A row's canonical form: column → text, or None for NULL. The same value has the same text on both sides.
Canonical = dict[str, str | None]
Snapshot = dict[str, Canonical]
WAIT_BETWEEN_ROUNDS_S = 0.5
RECONCILE_TIMEOUT_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Source:
    """The outbox as one transaction saw it: the WAL position, the columns' types, rows by key."""

    lsn: str
    types: dict[str, str]
    rows: Snapshot


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What differs between source and lake at the WAL position `lsn`; keys are the outbox's primary key as text."""

    lsn: str
    columns: int
    source_rows: int
    lake_rows: int
    missing: list[str]
    extra: list[str]
    different: dict[str, list[str]]

    @property
    def open_keys(self) -> list[str]:
        """The keys that are missing, extra or different."""
        return [*self.missing, *self.extra, *self.different]

    @property
    def equal(self) -> bool:
        """True when nothing is missing, extra or different."""
        return not self.open_keys


def reconcile(
    parameters: Mapping[str, Any],
    lake: Lake,
    *,
    timeout_s: float,
    on_round: Callable[[Comparison], None] = lambda _comparison: None,
) -> Comparison:
    """Compare source and lake; look again at the keys that differ until none is left or `timeout_s` has passed.

    The comparison holds for the WAL position of the first look. A row whose change is still on its way, or that
    changes while we look, is read again from both sides, so only what stays different is reported.
    Raises psycopg2.Error, PlatformError and LakeError when a side can't be read.
    """
    deadline = time.monotonic() + timeout_s
    source = read_source(parameters)
    comparison = compare(source, _read_lake_from_its_first_commit(lake, source.types, deadline))
    on_round(comparison)
    while not comparison.equal and time.monotonic() < deadline:
        time.sleep(WAIT_BETWEEN_ROUNDS_S)
        comparison = _look_again(comparison, parameters, lake)
        on_round(comparison)
    return comparison


def _look_again(before: Comparison, parameters: Mapping[str, Any], lake: Lake) -> Comparison:
    source = read_source(parameters, before.open_keys)
    now = compare(source, read_lake(lake, source.types, before.open_keys))
    return replace(now, lsn=before.lsn, source_rows=before.source_rows, lake_rows=lake.rows([KEY]).num_rows)


def read_source(parameters: Mapping[str, Any], keys: Iterable[str] | None = None) -> Source:
    """Read the outbox, whole or the rows of `keys`, and its WAL position, in one REPEATABLE READ transaction."""
    connection = psycopg2.connect(**parameters)
    try:
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_insert_lsn()::text")
            (lsn,) = cursor.fetchone() or ("",)
            types = column_types(cursor)
            columns = ", ".join(source_expression(name, kind) for name, kind in types.items())
            condition = "" if keys is None else f" WHERE {KEY}::text = ANY(%s)"
            cursor.execute(
                f"SELECT {columns} FROM {OUTBOX[0]}.{OUTBOX[1]}{condition}",  # noqa: S608  (names from the catalogue)
                None if keys is None else (list(keys),),
            )
            rows = [dict(zip(types, values, strict=True)) for values in cursor]
    finally:
        connection.close()
    return Source(lsn=lsn, types=types, rows=by_key(rows, types))


def read_lake(lake: Lake, types: Mapping[str, str], keys: Collection[str] | None = None) -> Snapshot:
    """Read the lake's rows, all or those of `keys`, in the outbox's columns.

    A column that the lake doesn't have is left out of its rows.
    """
    table = lake.rows()
    if keys is not None:
        # First of all: a row's canonical form takes far longer than its reading.
        wanted = pyarrow.array(keys, pyarrow.string())
        table = table.filter(pyarrow.compute.is_in(table[KEY].cast(pyarrow.string()), value_set=wanted))
    present = [name for name in types if name in table.column_names]
    return by_key(lake_rows(table.select(present)), types)


def by_key(rows: Iterable[Mapping[str, Any]], types: Mapping[str, str]) -> Snapshot:
    """Turn rows into their canonical form, by key. Raises PlatformError when a key comes twice."""
    result: Snapshot = {}
    for row in rows:
        key = str(row[KEY])
        if key in result:
            raise PlatformError(f"{KEY} {key} is there twice")
        result[key] = by_name(row, types)
    return result


def compare(source: Source, lake: Snapshot) -> Comparison:
    """Compare a snapshot of the source with the lake's rows, by key and by the hash of all columns."""
    return Comparison(
        lsn=source.lsn,
        columns=len(source.types),
        source_rows=len(source.rows),
        lake_rows=len(lake),
        missing=sorted(source.rows.keys() - lake.keys()),
        extra=sorted(lake.keys() - source.rows.keys()),
        different={
            key: differing_columns(source.rows[key], lake[key])
            for key in sorted(source.rows.keys() & lake.keys())
            if row_hash(source.rows[key]) != row_hash(lake[key])
        },
    )


def differing_columns(source: Canonical, lake: Canonical) -> list[str]:
    """Name the columns of the source that the lake lacks or holds another value of."""
    return [name for name in source if name not in lake or source[name] != lake[name]]


def row_hash(row: Canonical) -> str:
    """Hash a row's columns with their names, so that a missing column is a difference."""
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()


def column_types(cursor: Any) -> dict[str, str]:
    """Return the outbox's columns and their PostgreSQL types. Raises PlatformError when there is no outbox."""
    cursor.execute(
        "SELECT column_name, data_type FROM information_schema.columns"
        " WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
        OUTBOX,
    )
    types = dict(cursor.fetchall())
    if not types:
        raise PlatformError(f"the source has no table {'.'.join(OUTBOX)}: load it first")
    return types


def _read_lake_from_its_first_commit(lake: Lake, types: Mapping[str, str], deadline: float) -> Snapshot:
    """Wait for the table's first commit until the deadline, then read; LakeError when there is none."""
    while not lake.exists():
        if time.monotonic() >= deadline:
            raise LakeError(f"{lake.base_uri} has no commit yet: `./lake status` says how far the data has come")
        time.sleep(WAIT_BETWEEN_ROUNDS_S)
    return read_lake(lake, types)
