"""Scans tables for values that will be quarantined, change, or stop the source: the catalogue doesn't show them.

One read-only statement per table, bounded in time. Small tables are scanned automatically, others on request.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import psycopg2
from psycopg2 import sql

from contract.column_types.catalogue import Carried, ColumnType, without_domains
from contract.column_types.types import carried
from contract.events import PLACEHOLDER, SPECIALS_COLUMN
from contract.sizes import LARGEST_EVENT_BYTES, MIB
from db.connecting import Connection, Cursor, explain, value
from db.source.catalogue import Column, Database, Table, TableName
from db.source.inspection import read_tables
from settings.pipeline import CapturedTableSettings, Pipeline

# PostgreSQL's values that change, are quarantined or stop the source: SQL to find them, and their effect.
#
# docs/reference/types.md lists them per type; docs/decisions/0070 has the measurements. `{c}` is the column. The
# conditions work with only pg_catalog on the search path.

STOPS = "stops its table (on AWS the source)"
ASIDE = "set aside"


@dataclass(frozen=True, slots=True)
class OddValue:
    """`condition` is SQL that is true for such a value, `comes` names the value and its effect.

    `of_log`: only the log's events are affected, not queried rows. `stops`: the connector fails at it.
    """

    condition: str
    comes: str
    of_log: bool = False
    stops: bool = False


_FLAT = OddValue("array_ndims({c}) > 1", f"an array of several dimensions: {ASIDE}")
_NULLS = OddValue(
    "cardinality({c}) > 0 AND NOT EXISTS (SELECT FROM unnest({c}) AS e (v) WHERE v IS DISTINCT FROM NULL)",
    f"an array of nothing but NULLs: {ASIDE}",
)
_INFINITE = OddValue("NOT isfinite({c})", "infinite: kept as a number (contract/events.py)")
# The limit of microseconds in 64 bits.
_LATE = OddValue("isfinite({c}) AND {c} >= '294247-01-10 04:00:54+00'", f"after the year 294246: {ASIDE}")
_NOT_NUMBER = "{c}::text IN ('NaN', 'Infinity', '-Infinity')"
_BEFORE_INSIDE = "EXISTS (SELECT FROM unnest({{c}}) AS e (v) WHERE isfinite(v) AND v < '{}')"
_BC_IN_ARRAY = OddValue(
    _BEFORE_INSIDE.format("0001-01-01"), "a date or timestamp BC within an array: comes as one AD", of_log=True
)
# Java counts those days in the Julian calendar.
_OLD_IN_ARRAY = OddValue(
    _BEFORE_INSIDE.format("1582-10-15"),
    "a timestamp before 1582-10-15 within an array: comes days late or early",
    of_log=True,
)
_INSTANT = (_LATE, _INFINITE)
_OF_TYPE: Mapping[str, tuple[OddValue, ...]] = {
    "timestamp": _INSTANT,
    "timestamptz": _INSTANT,
    "date": (
        OddValue(
            "{c} BETWEEN '1582-10-05' AND '1582-10-14'",
            "of the ten days that Gregory left out: a snapshot has it 10 days late, changes have it right",
            of_log=True,
        ),
        _INFINITE,
    ),
    "interval": (
        OddValue("abs(extract(hour FROM {c})) > 2147483647", f"more than 2³¹ hours: {STOPS}", of_log=True, stops=True),
    ),
}
_OF_ELEMENTS = {"date": _BC_IN_ARRAY, "timestamp": _OLD_IN_ARRAY, "timestamptz": _BC_IN_ARRAY}
_TEXTS = ("text", "varchar", "bpchar", "citext", "json", "xml")
_PLACEHOLDER = OddValue(
    f"{{c}}::text = '{PLACEHOLDER}'",
    f"what Debezium writes for a value that didn't change: taken for that, {ASIDE} where there is no earlier one",
)
_EMPTY_KEY = OddValue("{c}::text = ''", f"an empty key: {ASIDE}")
_EMPTY_BYTES_KEY = OddValue("octet_length({c}) = 0", f"an empty key: {ASIDE}")


def odd_values(kind: ColumnType, modifier: int, *, key_columns: int) -> Iterator[OddValue]:
    """Yield what to look for in a column of a type, part of a key of `key_columns` columns (0: of none)."""
    becomes = carried(kind, modifier)
    if not isinstance(becomes, Carried):
        return
    kind, _ = without_domains(kind, modifier)
    if kind.kind == "array":
        [(_, element, _)] = kind.parts
        yield from (_FLAT, _NULLS)
        yield from [_OF_ELEMENTS[element.name]] if element.name in _OF_ELEMENTS else []
        return
    yield from _OF_TYPE.get(kind.name, ())
    if kind.name in _TEXTS:
        yield _PLACEHOLDER
    if becomes.special:
        what = f"in a key: {ASIDE}" if key_columns else f"null, and its name in {SPECIALS_COLUMN}"
        yield OddValue(_NOT_NUMBER, f"no number: {what}")
    if key_columns == 1 and kind.name != "bpchar":
        yield _EMPTY_BYTES_KEY if kind.name == "bytea" else _EMPTY_KEY


SMALL_BYTES = 16 * MIB
# Timeout per table: small ones take less than a second.
SMALL_S, ASKED_S = 5, 600
_LOCK_S = 2
# A statement's result has at most 1,664 columns; each check takes two.
_AT_ONCE = 800
_WHOLE_ROW = "(a whole row)"
_LARGE = OddValue(
    f"octet_length({{c}}::text) > {LARGEST_EVENT_BYTES}",
    f"of more than {LARGEST_EVENT_BYTES // MIB} MiB: no event may be so large (streaming.largest_event_mib)",
    of_log=True,
    stops=True,
)
# A column, the expression for `{c}`, and the value to look for.
Asked = tuple[str, sql.Composable, OddValue]
# A partitioned table holds no rows itself.
_SIZE = sql.SQL(
    "SELECT pg_table_size({table}::regclass) + coalesce((SELECT sum(pg_table_size(p.relid))"
    " FROM pg_partition_tree({table}::regclass) AS p WHERE p.isleaf), 0)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """Number of rows whose `column` has an odd value; `key` is one of them, if there is a readable key."""

    column: str
    odd: OddValue
    rows: int
    key: str | None


def look_into(connection: Connection, pipeline: Pipeline, database: Database, *, all_of_them: bool) -> list[str]:
    """Scan a pipeline's tables; without `all_of_them` only the small ones. Raises psycopg2.Error when cut off.

    Reports the values found, the tables that couldn't be scanned, and those that were too large.
    """
    found: list[str] = []
    large: list[str] = []
    failed: list[str] = []
    tables = {table.name: table for table in database.tables}
    for entry in pipeline.tables:
        table = tables.get(TableName(entry.schema_name, entry.table_name))
        if table is None or entry.query is not None:
            continue
        try:
            rows = _looked(connection, table, entry, all_of_them=all_of_them)
        except psycopg2.Error as error:
            if connection.closed:
                raise
            failed.append(f"  {table.name} wasn't looked into: {explain(error)}")
            continue
        if rows is None:
            large.append(str(table.name))
        else:
            found += [f"  {table.name}: {_place(one)}: {one.odd.comes}" for one in rows]
    if found:
        found.insert(0, "Values that won't arrive as they are (docs/reference/types.md):")
    if large:
        limit = f"larger than {SMALL_BYTES // MIB} MiB"
        failed.append(f"Not looked into, being {limit}: {', '.join(large)}: --look reads all of them once")
    return [*found, *failed]


def _looked(
    connection: Connection, table: Table, entry: CapturedTableSettings, *, all_of_them: bool
) -> list[Found] | None:
    """Return one table's odd values; None if it is too large."""
    with _reading(connection, ASKED_S if all_of_them else SMALL_S) as cursor:
        if not all_of_them and table.kind in ("view", "foreign table"):
            return None
        if not all_of_them and int(value(cursor, _SIZE.format(table=sql.Literal(table.sql)))) > SMALL_BYTES:
            return None
        return _found(cursor, table, entry, [*_asked(table, entry)])


@contextlib.contextmanager
def _reading(connection: Connection, seconds: int) -> Iterator[Cursor]:
    with connection, connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute("SET LOCAL lock_timeout = %s", [f"{_LOCK_S}s"])
        cursor.execute("SET LOCAL statement_timeout = %s", [f"{seconds}s"])
        yield cursor


def what_stops(connection: Connection, entry: CapturedTableSettings) -> str:
    """Return which columns of a table have a value that stops the connector, with one key; empty for none.

    No statement takes longer than SMALL_S. Raises psycopg2.Error.
    """
    found: list[Found] = []
    with _reading(connection, SMALL_S) as cursor:
        for table in read_tables(cursor, [(entry.schema_name, entry.table_name)]).values():
            long = (
                (column.name, sql.Identifier("t", column.name), _LARGE)
                for column in _captured(table, entry)
                if column.may_be_long
            )
            found += _found(cursor, table, entry, [*long, *(one for one in _asked(table, entry) if one[2].stops)])
    # A row is too large because of one column, or of all of them together.
    return "; ".join(map(_place, [one for one in found if one.column != _WHOLE_ROW] or found))


def _found(cursor: Cursor, table: Table, entry: CapturedTableSettings, asked: Sequence[Asked]) -> list[Found]:
    shown = {column.name for column in table.columns} - {*table.hidden, *entry.hash}
    texts = [sql.SQL("{}::text").format(sql.Identifier("t", name)) for name in entry.key if name in shown]
    example = sql.SQL("concat_ws(', ', {})").format(sql.SQL(", ").join(texts)) if texts else sql.SQL("NULL::text")
    count = sql.SQL("count(*) FILTER (WHERE {c}), min({k}) FILTER (WHERE {c})")
    found: list[Found] = []
    for start in range(0, len(asked), _AT_ONCE):
        part = asked[start : start + _AT_ONCE]
        counts = [count.format(c=sql.SQL(odd.condition).format(c=expression), k=example) for _, expression, odd in part]
        cursor.execute(sql.SQL("SELECT {} FROM {} AS t").format(sql.SQL(", ").join(counts), sql.SQL(table.sql)))
        row = cursor.fetchone() or ()
        pairs = zip(row[::2], row[1::2], part, strict=True)
        found += [Found(column, odd, int(rows), one) for rows, one, (column, _, odd) in pairs if rows]
    return found


def _asked(table: Table, entry: CapturedTableSettings) -> Iterator[Asked]:
    """Yield each check of a table."""
    columns = _captured(table, entry)
    for column in columns:
        in_key = len(entry.key) if column.name in entry.key else 0
        for odd in odd_values(column.type, column.modifier, key_columns=in_key):
            if not (odd.of_log and entry.is_queried):
                yield column.name, sql.Identifier("t", column.name), odd
    if columns and not entry.is_queried and any(column.may_be_long for column in columns):
        row = sql.SQL("ROW({})").format(sql.SQL(", ").join(sql.Identifier("t", column.name) for column in columns))
        yield _WHOLE_ROW, row, _LARGE


def _captured(table: Table, entry: CapturedTableSettings) -> list[Column]:
    return [c for c in table.columns if c.name not in (*table.hidden, *entry.leave_out)]


def _place(one: Found) -> str:
    such = "" if one.key is None else f", such as key {one.key!r}"
    return f"{one.column}: {one.rows:,} row{'' if one.rows == 1 else 's'}{such}"
