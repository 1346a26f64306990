"""Rows whose columns have simple types, read as such: a large batch needn't be written as JSON and parsed again.

The values come out the same either way. The database marks rare values that need a closer look (`odd`): a batch with
one of them is read entirely as lines.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.column_types import canonical
from contract.column_types.catalogue import Carried
from contract.column_types.types import avro_field
from contract.events import PLACEHOLDER, SPECIALS_COLUMN
from spark_jobs.decoding import schema, wire
from spark_jobs.decoding.schema import Column
from spark_jobs.sources.postgres.event_sql import SourceColumn, literal, quoted

ODD = "odd"
# A value with an era, more than four digits in its year, or infinity is odd.
_FIRST_DAY, _BEYOND = "0001-01-01", "10000-01-01"


@dataclass(frozen=True)
class ColumnTransfer:
    """How values travel: SQL for the database, the conversion to the lake's value, and SQL that marks odd values."""

    sql: str
    convert: Callable[[Expression, T.DataType], Expression]
    odd: str | None = None


def _cast(value: Expression, stored: T.DataType) -> Expression:
    return value.cast(stored)


def _instant(value: Expression, _stored: T.DataType) -> Expression:
    return F.call_function("timestamp_micros", value)


def _day(value: Expression, _stored: T.DataType) -> Expression:
    return F.call_function("date_from_unix_date", value)


_WITHIN = f"{{c}} >= '{_FIRST_DAY}' AND {{c}} < '{_BEYOND}'"
_AS_IT_IS = ColumnTransfer("{c}", _cast)
_TEXT = ColumnTransfer("{c}::text", _cast, f"{{c}}::text = {literal(PLACEHOLDER)}")
# An infinite one has no number.
_INSTANT = ColumnTransfer(f"CASE WHEN {_WITHIN} THEN {canonical.MICROS}::bigint END", _instant, f"NOT ({_WITHIN})")
_WAYS: Mapping[str, ColumnTransfer] = {
    **dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "bool"), _AS_IT_IS),
    **dict.fromkeys(("text", "varchar"), _TEXT),
    # A cast to text would remove its padding.
    "bpchar": ColumnTransfer("CASE WHEN {c} IS NOT NULL THEN concat({c}) END", _cast, _TEXT.odd),
    "uuid": ColumnTransfer("{c}::text", _cast),
    "numeric": ColumnTransfer("{c}::text", _cast, "{c} = 'NaN'"),
    "date": ColumnTransfer(f"CASE WHEN {_WITHIN} THEN {{c}} - DATE '1970-01-01' END", _day, f"NOT ({_WITHIN})"),
    "timestamp": _INSTANT,
    "timestamptz": _INSTANT,
}
# Key types without odd values that a row in the lake could have.
_PLAIN_KEYS = ("int2", "int4", "int8", "bool", "text", "varchar", "bpchar", "uuid")


@dataclass(frozen=True, kw_only=True)
class TypedRows:
    """How all columns of the lake's table are read: `select` is SQL, its columns ODD and v0, v1 and so on."""

    select: str
    row: Expression

    def of(self, frame: DataFrame, origin: str) -> DataFrame:
        """Return decoded events (decode.Decoder) from the result of `select`; `reason` marks an odd one."""
        nothing = wire.no_names()
        return frame.select(
            F.lit(origin).alias("origin"),
            F.lit(0).cast("long").alias("block"),
            F.monotonically_increasing_id().alias("number"),
            F.lit(0).alias("tie"),
            F.lit(False).alias("blank"),
            F.when(F.col(ODD), F.lit(ODD)).alias("reason"),
            nothing.alias("placeholders"),
            F.lit(False).alias("deleted"),
            self.row.alias("row"),
            nothing.alias("unknown"),
            F.lit(None).cast("string").alias("line"),
        )


def typed_rows(
    columns: Sequence[Column], sent: Sequence[SourceColumn], key: Sequence[str], metadata: Mapping[str, str | int]
) -> TypedRows | None:
    """Return how rows of `sent` columns become rows of the lake's `columns`; None where they have to be lines.

    `key`: the source's names of its key; `metadata`: the fields that each event has besides.
    """
    lake = {column.source: column for column in columns}
    ways = {column.name: _way(column, lake.get(column.name)) for column in sent}
    if None in ways.values() or not all(_takes(lake.get(name), value) for name, value in metadata.items()):
        return None
    select, values, odd = list[str](), dict[str, Expression](), list[str]()
    for column in sent:
        way, name = ways[column.name], f"t.{quoted(column.name)}"
        assert way is not None  # noqa: S101  (just looked at)
        value = F.col(f"v{len(select)}")
        values[column.name] = way.convert(value, lake[column.name].stored)
        select.append(f"{way.sql.replace('{c}', name)} AS v{len(select)}")
        odd += [way.odd.replace("{c}", name)] if way.odd else []
        odd += [f"{name} IS NULL", f"concat({name}) = ''"] if column.name in key else []
    # All of a row's columns may be null, like those of a line.
    values |= {name: F.when(~F.col(ODD), F.lit(value)) for name, value in metadata.items()}
    row = F.struct(*(values.get(c.source, F.lit(None)).cast(c.stored).alias(c.name) for c in columns))
    is_odd = f"coalesce({' OR '.join(odd)}, false)" if odd else "false"
    return TypedRows(select=", ".join([f"{is_odd} AS {ODD}", *select]), row=row)


def typed_keys(columns: Mapping[str, Column], key: Sequence[SourceColumn]) -> tuple[str, list[Expression]] | None:
    """Return SQL for a key's columns, and their conversion to the lake's; None where they have to be lines.

    `columns` are the lake's, by the source's names.
    """
    ways = [_way(column, columns.get(column.name)) for column in key]
    select, found = list[str](), list[Expression]()
    for number, (column, way) in enumerate(zip(key, ways, strict=True)):
        if way is None or column.type.name not in _PLAIN_KEYS:
            return None
        lake = columns[column.name]
        sql = way.sql.replace("{c}", f"t.{quoted(column.name)}")
        select.append(f"{sql} AS v{number}")
        found.append(way.convert(F.col(f"v{number}"), lake.stored).alias(lake.name))
    return ", ".join(select), found


def _way(column: SourceColumn, lake: Column | None) -> ColumnTransfer | None:
    """Return how a column travels; None when it can't travel typed, or the lake's type differs from its own."""
    kind = column.carried
    is_known = column.type.schema == "pg_catalog" and column.type.name in _WAYS
    if lake is None or not is_known or not isinstance(kind, Carried) or lake.name == SPECIALS_COLUMN:
        return None
    field = avro_field(lake.name, column.name, kind)
    [expected] = schema.parse(json.dumps({"type": "record", "name": "row", "fields": [field]}), column.name)
    alike = (expected.wire, expected.stored, expected.encoding) == (lake.wire, lake.stored, lake.encoding)
    return _WAYS[column.type.name] if alike else None


def _takes(lake: Column | None, value: str | int) -> bool:
    wanted = T.StringType() if isinstance(value, str) else T.LongType()
    return lake is not None and lake.stored == wanted and lake.encoding is schema.Encoding.PLAIN
