"""How a PostgreSQL type is carried, or why it can't be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contract.column_types.canonical import Spelling
from contract.special_values import SPECIALS_COLUMN

AvroType = str | dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A type's forms. `wire`: the event's JSON; `avro`: the schema's type; `lake`: the column's, by Spark's name.

    `spelling` makes values comparable. `has_placeholder`: events mark a large value that didn't change; without that, a
    table with such values needs REPLICA IDENTITY FULL. `special`: values that the lake's type can't hold go to
    contract.special_values's column. `note`: differences from PostgreSQL; `note_of_log`: further ones in the log's
    events, or values that stop their source, which don't affect queries; empty if there are none.
    """

    wire: str
    avro: AvroType
    lake: str
    spelling: Spelling
    special: bool = False
    has_placeholder: bool = True
    note: str = ""
    note_of_log: str = ""

    def source_sql(self, column: str) -> str:
        """Write PostgreSQL's expression for the canonical text of a column (its name); null for NULL.

        It needs a session with canonical.SOURCE_SETTINGS.
        """
        name = _quoted(column)
        # `IS NOT NULL` would test each field of a composite.
        return f"CASE WHEN {name} IS DISTINCT FROM NULL THEN {self.spelling.source.replace('{c}', name)} END"

    def lake_sql(self, column: str) -> str:
        """Write DuckDB's expression for the canonical text of a lake's column; null for null."""
        name = _quoted(column)
        expression = f"CASE WHEN {name} IS NOT NULL THEN {self.spelling.lake.replace('{c}', name)} END"
        if not self.special:
            return expression
        return f"coalesce({expression}, json_extract_string({_quoted(SPECIALS_COLUMN)}, '$.\"{column}\"'))"

    def lake_text(self, value: Any, specials: Mapping[str, str] | None = None, column: str = "") -> str | None:
        """Return the canonical text of a lake's value as Arrow gives it; `specials` is the row's, parsed."""
        if value is not None:
            return self.spelling.value(value)
        return (specials or {}).get(column) if self.special else None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A type whose values can't be carried, so the column must be left out (`leave_out`). `reason` says why."""

    reason: str


def avro(base: str, meaning: str, **more: Any) -> AvroType:
    """Return the Avro type of a meaning that Debezium names."""
    return {"type": base, "connect.name": meaning, **more}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
