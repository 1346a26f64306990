"""Derives from a pipeline's entry, the catalog and the lake's columns what is compared, what isn't, and why."""

import decimal
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow

from contract.column_types import canonical
from contract.column_types.canonical import Spelling
from contract.column_types.catalogue import Carried, LeftOut, quoted
from contract.column_types.hashes import hash_digits
from contract.column_types.types import carried
from contract.events import EXACT_NUMBER, SOURCE_NAME
from contract.table_names import lake_name
from db.source.catalogue import Column, Database, Table
from local.comparison.compare import Arrivals
from local.comparison.rows import ComparedColumn, ComparedTable
from local.errors import PlatformError
from local.look.lake import Lake
from settings.pipeline import CapturedTableSettings

_JSON = "io.debezium.data.Json"
_SECONDS = "({t}::bigint / 1000000) * INTERVAL '1 second' + ({t}::bigint % 1000000) * INTERVAL '1 microsecond'"
_is = pyarrow.types
# How to compare a column whose lake type isn't the one its source type would get today: the source's type changed, or
# the column came with events, where numbers become doubles and decimals text.
_STORED: Mapping[str, Callable[[pyarrow.DataType], bool]] = {
    "string": lambda kind: _is.is_string(kind) or _is.is_large_string(kind),
    "int": _is.is_integer,
    "bigint": _is.is_integer,
    "float": _is.is_float32,
    "double": _is.is_float64,
    "decimal": _is.is_decimal,
    "boolean": _is.is_boolean,
    "date": _is.is_date,
    "timestamp": _is.is_timestamp,
    "binary": lambda kind: _is.is_binary(kind) or _is.is_large_binary(kind),
}
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A table of a pipeline: its entry, its Avro schema file and its place in the lake.

    `arrivals` tells how far it is there. Without it, rows that differ at the timeout count as different.
    """

    entry: CapturedTableSettings
    schema_file: Path
    lake: Lake
    arrivals: Arrivals | None = None


def describe(wanted: Compared, database: Database, *, salt: str = "") -> ComparedTable:
    """Describe how to compare a table that is in the lake.

    Raises PlatformError (one line) when the source lacks the table or the role may not read it, and LakeError.
    """
    entry = wanted.entry
    table = _find(database, entry)
    lake_schema = wanted.lake.schema()
    lake_names = set(lake_schema.names)
    fields = avro_fields(wanted.schema_file)
    columns, missing, unlike, notes = [], [], [], []
    for column in table.columns:
        if column.name in entry.leave_out:
            notes.append(f"{column.name} is left out by the pipeline")
            continue
        kind = carried(column.type, column.modifier)
        if isinstance(kind, LeftOut):
            notes.append(f"{column.name} ({column.type_text}) can't be carried: {kind.reason}")
            continue
        known = fields.get(column.name)
        called = known["name"] if known else _called_in_lake(column.name, lake_names)
        made = _column(column, kind, called, hashed=column.name in entry.hash)
        if called in lake_names and (fitting := _fitted(made, kind, lake_schema.field(called).type)):
            columns.append(fitting)
        elif called in lake_names:
            stored = lake_schema.field(called).type
            notes.append(f"{column.name} is {column.type_text} at the source and {stored} in the lake: not compared")
            unlike.append(made)
        elif column.generated and not entry.is_queried:
            notes.append(f"{column.name} is generated: PostgreSQL doesn't send it")
        else:
            missing.append(made)
    _check_key(entry, columns, table)
    return ComparedTable(
        schema=entry.schema_name,
        name=entry.table_name,
        lake=wanted.lake,
        columns=tuple(columns),
        key=() if entry.append_only else tuple(entry.key),
        partitioned=table.kind == "partitioned table",
        rows_of=_rows_of(entry, table),
        missing=tuple(missing),
        unlike=tuple(unlike),
        salt=salt.encode(),
        notes=tuple(notes),
    )


def _rows_of(entry: CapturedTableSettings, table: Table) -> str | None:
    if entry.query is not None:
        return f"({entry.query}\n)"
    if entry.is_queried and (table.has_children or table.kind not in ("table", "partitioned table")):
        return f"{quoted(entry.schema_name)}.{quoted(entry.table_name)}"
    return None


def _find(database: Database, entry: CapturedTableSettings) -> Table:
    name = (entry.schema_name, entry.table_name)
    table = next((table for table in database.tables if (table.name.schema, table.name.name) == name), None)
    if table is None:
        raise PlatformError("the source has no such table (any more)")
    hidden = [column.name for column in table.columns if not column.readable and column.name not in entry.leave_out]
    if hidden:
        raise PlatformError(f"{database.server.role} may not read {', '.join(hidden)}: GRANT SELECT on it")
    return table


def _check_key(entry: CapturedTableSettings, columns: Sequence[ComparedColumn], table: Table) -> None:
    found = {column.name for column in columns}
    if lacking := [name for name in entry.key if name not in found]:
        where = "the lake" if lacking[0] in {column.name for column in table.columns} else "the source"
        raise PlatformError(f"{where} has no column {', '.join(lacking)}, which is of the key")
    if not columns:
        raise PlatformError("no column of it is in the lake")


def avro_fields(schema_file: Path) -> dict[str, Any]:
    """Return the fields of the table's Avro schema by their names at the source. Raises PlatformError."""
    try:
        fields = json.loads(schema_file.read_text(encoding="utf-8"))["fields"]
        return {field.get(SOURCE_NAME, field["name"]): field for field in fields}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise PlatformError(f"{schema_file}: no Avro schema of a record ({error})") from error


def _column(column: Column, kind: Carried, called: str, *, hashed: bool) -> ComparedColumn:
    if hashed and kind.lake == "string":
        # Of the text as in the log, including a char(n)'s padding blanks.
        return ComparedColumn(
            name=column.name,
            lake_name=called,
            spelled=replace(kind, spelling=canonical.TEXT),
            hash_digits=hash_digits(column.type, column.modifier),
        )
    return ComparedColumn(
        name=column.name,
        lake_name=called,
        spelled=kind,
        value_sql=_value_sql(kind, column.type_text),
        any_sign=kind.lake == "string",
        tidy=_tidy(kind),
    )


def _value_sql(kind: Carried, type_text: str) -> str | None:
    """Write the SQL that turns a canonical text back into PostgreSQL's value; None where only a scan can find it."""
    zone = "TIMESTAMPTZ '1970-01-01 00:00Z'" if "with time zone" in type_text else "TIMESTAMP '1970-01-01'"
    infinite = f"CASE WHEN {{t}} IN ('infinity', '-infinity') THEN {{t}}::{type_text} ELSE "
    as_text = (canonical.TEXT, canonical.INTEGER, canonical.BOOLEAN, canonical.DECIMAL, canonical.PADDED)
    ways = dict.fromkeys(as_text, f"CAST({{t}} AS {type_text})") | {
        canonical.BYTES: "decode({t}, 'hex')",
        canonical.DATE: f"{infinite}DATE '1970-01-01' + {{t}}::int END",
        canonical.INSTANT: f"{infinite}{zone} + {_SECONDS} END",
    }
    return ways.get(kind.spelling)


def _tidy(kind: Carried) -> Callable[[str], str]:
    meaning = kind.avro.get("connect.name") if isinstance(kind.avro, Mapping) else None
    if meaning == _JSON:
        return _canonical_json
    if meaning == EXACT_NUMBER or kind.lake.startswith("decimal"):
        return _number
    return str


def _canonical_json(text: str) -> str:
    try:
        parsed = json.loads(text, parse_float=_json_number, parse_int=_json_number, object_pairs_hook=_json_object)
        return json.dumps(parsed, sort_keys=True)
    except (ValueError, RecursionError):
        # Invalid, with equal names, or nested too deeply for Python: a difference in spelling counts as a difference.
        return f"as it is: {text}"


def _json_number(text: str) -> list[float | str]:
    """JSON's 12, 12.0 and 1.2e1 are one number, distinct from all else: no document of PostgreSQL has NaN."""
    return [math.nan, _number(text)]


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("equal names, of which json keeps all")
    return found


def _number(text: str) -> str:
    """Write a number the same way whatever its spelling, with all its digits; anything else unchanged."""
    try:
        number = Decimal(text).normalize(_EXACT)
    except ArithmeticError:
        return text
    return str(number) if number else "0"


_WHOLE_AS_DOUBLE = Spelling(
    canonical.INTEGER.source,
    "CASE WHEN {c} = trunc({c}) THEN CAST(CAST({c} AS HUGEINT) AS VARCHAR) ELSE CAST({c} AS VARCHAR) END",
    lambda value: str(int(value) if value == int(value) else value),
)


def _called_in_lake(name: str, lake_names: Collection[str]) -> str:
    """Return the lake's name of a column that came with events: the Avro schema doesn't describe it."""
    return name if name in lake_names else lake_name(name)


def _fitted(column: ComparedColumn, kind: Carried, stored: pyarrow.DataType) -> ComparedColumn | None:
    """Return how to compare a column stored as `stored` in the lake; None where the values can't be compared."""
    wanted = "string" if column.hash_digits else kind.lake.partition("(")[0]
    if _STORED[wanted](stored):
        return column
    if kind.spelling == canonical.INTEGER and _is.is_float64(stored):
        return replace(column, spelled=replace(kind, spelling=_WHOLE_AS_DOUBLE))
    if wanted == "decimal" and _STORED["string"](stored):
        return replace(column, spelled=replace(kind, spelling=Spelling(kind.spelling.source, "{c}", str)))
    return None
