"""One spelling for each value, whichever side it comes from: what is equal has the same text, what isn't has another.

Dates and instants are compared as the numbers that they are stored as: Python's own end at the years 1 and 9999, and
PostgreSQL's don't.
"""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow

from contract.times import INFINITE_DAYS, INFINITE_MICROS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
TIMESTAMPS = ("timestamp with time zone", "timestamp without time zone")


def source_expression(name: str, kind: str) -> str:
    """Write the SQL that reads a column (its name, its PostgreSQL type) so that `canonical` gets all of the value."""
    column = '"' + name.replace('"', '""') + '"'
    if kind == "jsonb":
        # Text and not psycopg2's types: JSON numbers keep their digits.
        return f"{column}::text"
    if kind == "date":
        return f"CASE WHEN isfinite({column}) THEN ({column} - DATE '1970-01-01')::text ELSE {column}::text END"
    if kind in TIMESTAMPS:
        # In two parts: PostgreSQL counts the microseconds of its last years in a double.
        seconds = f"extract(epoch FROM date_trunc('second', {column}))::bigint::numeric"
        micros = f"{seconds} * 1000000 + mod(extract(microseconds FROM {column})::bigint, 1000000)"
        return f"CASE WHEN isfinite({column}) THEN ({micros})::text ELSE {column}::text END"
    return column


def lake_rows(table: pyarrow.Table) -> list[dict[str, Any]]:
    """Return a table's rows, dates as days and instants as microseconds since 1970 (see contract.times)."""
    rows: list[dict[str, Any]] = _numbered(table).to_pylist()
    return rows


def canonical(value: Any, kind: str) -> str | None:
    """Write a value the same way whichever side it comes from; `kind` is the source column's PostgreSQL type."""
    if value is None:
        return None
    if kind == "jsonb":
        return _canonical_json(value)
    if isinstance(value, datetime):
        # Hudi's timestamps are UTC, with or without a zone in the Arrow type.
        value = ((value.replace(tzinfo=UTC) if value.tzinfo is None else value) - EPOCH) // MICROSECOND
    elif isinstance(value, date):
        value = (value - EPOCH.date()).days
    if isinstance(value, int) and kind == "date":
        return INFINITE_DAYS.get(value, str(value))
    if isinstance(value, int) and kind in TIMESTAMPS:
        return INFINITE_MICROS.get(value, str(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # a whole number of the source is double in a column that no schema declares
    return str(value)


def by_name(row: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, str | None]:
    """Write a row's values in their canonical form."""
    return {name: canonical(value, types[name]) for name, value in row.items()}


def _numbered(table: pyarrow.Table) -> pyarrow.Table:
    for index, field in enumerate(table.schema):
        if pyarrow.types.is_date32(field.type):
            numbers = table.column(index).cast(pyarrow.int32())
        elif pyarrow.types.is_timestamp(field.type):
            numbers = table.column(index).cast(pyarrow.timestamp("us", field.type.tz), safe=False).cast(pyarrow.int64())
        else:
            continue
        table = table.set_column(index, field.name, numbers)
    return table


def _canonical_json(text: str) -> str:
    try:
        parsed = json.loads(text, parse_float=_number, parse_int=_number)
        return json.dumps(parsed, sort_keys=True)
    except (ValueError, RecursionError):
        # No JSON, or nested deeper than Python reads: what differs in spelling alone counts as different.
        return f"as it is: {text}"


def _number(text: str) -> dict[str, str]:
    """JSON's 12, 12.0 and 1.2e1 are one number, and not the string "12". All digits count, however many."""
    sign, digits, exponent = Decimal(text).as_tuple()
    significant = "".join(map(str, digits)).lstrip("0")
    whole = significant.rstrip("0")
    power = int(exponent) + len(significant) - len(whole)
    return {"number": f"{'-' if sign else ''}{whole}e{power}" if whole else "0"}
