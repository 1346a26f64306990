"""Compares a pipeline's tables, several while some wait; a table that can't be compared doesn't block the others."""

import contextlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg2
from botocore.exceptions import BotoCoreError, ClientError

from capture.objects import query_table
from contract.errors import UserError
from contract.events import NOT_NUMBERS
from db.connecting import connect, explain
from db.source.catalogue import Database
from db.source.inspection import inspect
from local.comparison.compare import (
    WAIT_BETWEEN_LOOKS_S,
    Comparing,
    Difference,
    OnProgress,
    Repair,
    TableComparison,
    comparing,
    step,
)
from local.comparison.describe import Compared, describe
from local.comparison.lake import differs_in_spark
from local.comparison.rows import ComparedTable
from local.errors import PlatformError
from local.look.json_lines import entries, keys
from local.look.lake import Lake, LakeError
from local.services.source_database import has_rows

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# Maximum waiting tables: each keeps its differences in its own DuckDB.
WAITING_TABLES = 8
APPEND_ONLY = "every event is a row there, so it takes a key, or a pipeline of its own (docs/your-database/repair.md)"
# Base files and logs (as in spark_jobs/table/repair.py).
_DATA = re.compile(r"/([^./][^/]*\.(parquet|orc|hfile)|\.[^/]+\.log\.\d+[^/]*)\Z")
NO_KEY = f"it has no key, so nothing can be repaired: {APPEND_ONLY}"

# Creates a table's repair.
Repairs = Callable[[Compared], Repair]


def with_reasons(client: "S3Client | None", lake: Lake, found: TableComparison) -> TableComparison:
    """Return the result with quarantine reasons for the shown rows and for the table."""
    if client is None or found.equal or not lake.base_uri.startswith("s3://"):
        return found
    bucket, table = _bucket_and_folder(lake)
    newest: dict[int, tuple[str, str]] = {}
    reasons: Counter[str] = Counter()
    try:
        for entry in (entry for some in entries(client, table, bucket) for entry in some):
            reason, event = str(entry["reason"]), _event(entry)
            reasons[reason] += 1
            for number in [number for number, one in enumerate(found.shown) if _is_of(event, one)]:
                told = (str(entry.get("quarantined_at")), reason)
                newest[number] = max(told, newest.get(number, told))
    except (BotoCoreError, ClientError) as error:
        return replace(found, notes=(*found.notes, f"its quarantine can't be read: {error}"))
    shown = (replace(one, quarantined=newest[n][1]) if n in newest else one for n, one in enumerate(found.shown))
    counts = ", ".join(f"{count:,} by {reason}" for reason, count in sorted(reasons.items()))
    notes = (*found.notes, f"events of it in quarantine: {counts}") if reasons else found.notes
    return replace(found, shown=tuple(shown), notes=notes)


def _event(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    with contextlib.suppress(ValueError):
        if isinstance(event := json.loads(entry.get("text") or "null"), dict):
            return event
    return {}


def _is_of(event: Mapping[str, Any], row: Difference) -> bool:
    """Tell whether an event has a row's key: numbers and texts, the forms in which keys travel."""
    sent = {name: str(event[name]) for name in row.key if name in event}
    return all(name in sent and value in (sent[name], NOT_NUMBERS.get(sent[name])) for name, value in row.key.items())


@dataclass(frozen=True)
class Sides:
    """Both sides: the source, which `parameters` log in to, and its tables in the lake.

    `salt` is prepended to each hashed value. `s3` is used to find rows in quarantine. `by_spark`: Spark, too, reads
    equal merge-on-read tables, on this machine. `way_on`: where to look when a table isn't there.
    """

    parameters: Mapping[str, Any] = field(repr=False)
    tables: Sequence[Compared]
    salt: str = field(default="", repr=False)
    s3: "S3Client | None" = None
    by_spark: bool = True
    way_on: str = "`./lake status` says how far the data has come"


def compare_tables(
    sides: Sides, *, timeout_s: float, on_progress: OnProgress = lambda *_: None, repairs: Repairs | None = None
) -> Iterator[TableComparison]:
    """Compare each table; yield each result as soon as it is known. Raises LoadError when the source can't be reached.

    Differences are compared again for `timeout_s` after the first pass. With `repairs`, differing rows are repaired and
    compared again.
    """
    database = read_catalogue(sides.parameters, sides.tables)
    waiting: list[Comparing] = []
    try:
        for wanted in sides.tables:
            # Waiting tables catch up meanwhile.
            waiting.append(_in_one_line(wanted, _comparing(sides, database, wanted, timeout_s, on_progress, repairs)))
            yield from _continued(waiting, waiting[-1:])
            while len(waiting) >= WAITING_TABLES:
                yield from _round(waiting)
        while waiting:
            yield from _round(waiting)
    finally:
        for left in waiting:
            left.close()


def _in_one_line(wanted: Compared, comparison: Comparing) -> Comparing:
    started = time.monotonic()
    try:
        found = yield from comparison
    except (UserError, psycopg2.Error) as error:
        problem = explain(error) if isinstance(error, psycopg2.Error) else str(error)
        found = TableComparison(table=wanted.entry.name, problem=problem)
    return replace(found, seconds=time.monotonic() - started)


def _round(waiting: list[Comparing]) -> Iterator[TableComparison]:
    next_s = time.monotonic() + WAIT_BETWEEN_LOOKS_S
    yield from _continued(waiting, list(waiting))
    if waiting:
        time.sleep(max(next_s - time.monotonic(), 0))


def _continued(waiting: list[Comparing], some: Sequence[Comparing]) -> Iterator[TableComparison]:
    for one in some:
        if (found := step(one)) is not None:
            waiting.remove(one)
            yield found


def read_catalogue(parameters: Mapping[str, Any], tables: Iterable[Compared]) -> Database:
    """Read the source's catalog for these tables. Raises LoadError."""
    with contextlib.closing(connect(parameters)) as connection:
        entries = [wanted.entry for wanted in tables]
        found = inspect(connection, sorted({entry.schema_name for entry in entries if entry.query is None}))
        queries = [query_table(connection, entry) for entry in entries if entry.query is not None]
        return replace(found, tables=(*found.tables, *queries))


def _comparing(
    sides: Sides,
    database: Database,
    wanted: Compared,
    timeout_s: float,
    on_progress: OnProgress,
    repairs: Repairs | None,
) -> Comparing:
    deadline = time.monotonic() + timeout_s
    while not wanted.lake.exists():
        # The job creates the table with its first row; one with files has lost its commits.
        if _is_empty(sides.parameters, wanted) and not _has_files(sides.s3, wanted.lake):
            note = "the lake has no table yet, and the source no row"
            return TableComparison(table=wanted.entry.name, notes=(note,))
        if time.monotonic() >= deadline:
            raise LakeError(f"{wanted.lake.base_uri} has no commit yet: {sides.way_on}")
        yield
    if wanted.entry.hash and not sides.salt:
        raise PlatformError(
            f"{', '.join(wanted.entry.hash)} can't be compared without the salt of the pipeline's hashes"
        )

    table = describe(wanted, database, salt=sides.salt)
    compared = partial(
        comparing,
        sides.parameters,
        timeout_s=timeout_s,
        on_progress=on_progress,
        repair=repairs(wanted) if repairs and table.key else None,
        arrivals=wanted.arrivals,
    )
    found = yield from compared(table)
    if found.absent or found.unlike:
        # Late or repaired rows may have brought columns and types to the lake.
        now = describe(wanted, database, salt=sides.salt)
        if _not_compared(now) != _not_compared(table):
            before, found = found, (yield from compared(now))
            found = replace(found, repaired=before.repaired + found.repaired, looks=before.looks + found.looks)
    if found.equal and wanted.entry.table_type == "MERGE_ON_READ":
        # Spark must read the same rows: its rules for log blocks differ.
        if sides.by_spark:
            found = replace(found, problem=differs_in_spark(wanted.lake))
        else:
            found = replace(found, notes=(*found.notes, "Spark wasn't asked whether it reads the same rows"))
    found = with_reasons(sides.s3, wanted.lake, found)
    if repairs and not table.key and not found.equal:
        return replace(found, notes=(*found.notes, NO_KEY))
    return found


def _not_compared(table: ComparedTable) -> set[str]:
    return {column.name for column in (*table.missing, *table.unlike)}


def _is_empty(parameters: Mapping[str, Any], wanted: Compared) -> bool:
    with contextlib.closing(connect(parameters)) as connection:
        return not has_rows(connection, wanted.entry)


def _has_files(client: "S3Client | None", lake: Lake) -> bool:
    if client is None or not lake.base_uri.startswith("s3://"):
        return False
    bucket, folder = _bucket_and_folder(lake)
    try:
        return any(_DATA.search(key) for key in keys(client, bucket, f"{folder}/") if "/.hoodie/" not in key)
    except (BotoCoreError, ClientError) as error:
        raise LakeError(f"{lake.base_uri}: {error}") from error


def _bucket_and_folder(lake: Lake) -> tuple[str, str]:
    bucket, _, folder = lake.base_uri.partition("://")[2].partition("/")
    return bucket, folder
