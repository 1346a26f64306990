"""What a PostgreSQL type becomes on its way, or why nothing can."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contract.column_types.canonical import Spelling
from contract.special_values import SPECIALS_COLUMN

AvroType = str | dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What a type becomes. `wire`: the event's JSON; `avro`: the schema's type; `lake`: the column's, by Spark's name.

    `spelling` makes values comparable. `has_placeholder`: events say so when a large value was left as it was; where
    they don't, a table with such values needs REPLICA IDENTITY FULL. `special`: what the lake's type can't hold goes to
    contract.special_values's column. `note`: what isn't as in PostgreSQL; `note_of_log`: what is wrong besides in the
    log's events, or stops their source, and not so in a query's; empty when nothing.
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

        It holds in a session with canonical.SOURCE_SETTINGS.
        """
        name = _quoted(column)
        # `IS NOT NULL` would ask about each field of a composite.
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
    """A type whose values can't be carried; the column has to be left out (`leave_out`). `reason` says why."""

    reason: str


def avro(base: str, meaning: str, **more: Any) -> AvroType:
    """Return the Avro type of a meaning that Debezium gives a name."""
    return {"type": base, "connect.name": meaning, **more}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
