"""Values of the lake as Python compares them with the source's."""

import json
from decimal import Decimal
from typing import Any

import pyarrow


def lake_rows(table: pyarrow.Table) -> list[dict[str, Any]]:
    """Return a table's rows, dates as days and instants as microseconds since 1970 (see contract.special_values).

    Python's own dates end at the years 1 and 9999; PostgreSQL's don't.
    """
    rows: list[dict[str, Any]] = _numbered(table).to_pylist()
    return rows


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


def canonical_json(text: str) -> str:
    """Write a JSON document the same way for each spelling of it."""
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
