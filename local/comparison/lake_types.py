"""How a column is compared whose type in the lake isn't the one that the source's would get today.

The source's was changed since, or the column came with events, whose numbers become doubles and whose decimals text.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import pyarrow

from contract.column_types import canonical
from contract.column_types.canonical import Spelling
from contract.column_types.carried import Carried
from contract.table_names import lake_name
from local.comparison.rows import ComparedColumn

_is = pyarrow.types
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
_DOUBLE_TEXT = "CAST({c} AS VARCHAR)"


def _whole(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


_WHOLE_AS_DOUBLE = Spelling(
    canonical.INTEGER.source,
    f"CASE WHEN {{c}} = trunc({{c}}) THEN CAST(CAST({{c}} AS HUGEINT) AS VARCHAR) ELSE {_DOUBLE_TEXT} END",
    _whole,
)


def called_in_lake(name: str, lake_names: Collection[str]) -> str:
    """Return what the lake calls a column that the Avro schema doesn't describe: it came with events."""
    return name if name in lake_names else lake_name(name)


def fitted(column: ComparedColumn, kind: Carried, stored: pyarrow.DataType) -> ComparedColumn | None:
    """Return how to compare a column that the lake has as `stored`; None where their values can't be compared."""
    wanted = "string" if column.hash_digits else kind.lake.partition("(")[0]
    if _STORED[wanted](stored):
        return column
    if kind.spelling == canonical.INTEGER and _is.is_float64(stored):
        return replace(column, spelled=replace(kind, spelling=_WHOLE_AS_DOUBLE))
    if wanted == "decimal" and _STORED["string"](stored):
        return replace(column, spelled=replace(kind, spelling=Spelling(kind.spelling.source, "{c}", str)))
    return None
