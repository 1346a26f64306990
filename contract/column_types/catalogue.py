"""A type as PostgreSQL's catalogue describes it, and the query for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from contract.column_types.canonical import Spelling
from contract.events import SPECIALS_COLUMN

# The columns' types and, recursively, their component types. `kind` is true for arrays with an array subscript
# function; oidvector and int2vector have elements too, but not that function.
TYPES = """
WITH RECURSIVE used (oid) AS (
    SELECT unnest({types})
    UNION
    SELECT part.oid FROM used u JOIN pg_type t ON t.oid = u.oid, LATERAL (
        SELECT t.typbasetype WHERE t.typtype = 'd'
        UNION ALL SELECT t.typelem WHERE t.typelem <> 0 AND t.typlen = -1
        UNION ALL SELECT r.rngsubtype FROM pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
        UNION ALL SELECT a.atttypid FROM pg_attribute a
            WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    ) AS part (oid)
)
SELECT
    t.oid::bigint AS oid,
    n.nspname AS schema,
    t.typname AS name,
    CASE
        WHEN t.typcategory = 'A' AND t.typelem <> 0 AND t.typlen = -1 AND t.typtype = 'b' THEN 'array'
        ELSE (jsonb_build_object(
            'b', 'base', 'c', 'composite', 'd', 'domain', 'e', 'enum', 'r', 'range', 'm', 'multirange', 'p', 'pseudo'
        )) ->> t.typtype::text
    END AS kind,
    CASE
        WHEN t.typtype = 'd' THEN jsonb_build_array(jsonb_build_array('', t.typbasetype::bigint, t.typtypmod))
        WHEN t.typelem <> 0 AND t.typlen = -1 THEN
            jsonb_build_array(jsonb_build_array('', t.typelem::bigint, t.typtypmod))
        WHEN t.typtype IN ('r', 'm') THEN (
            SELECT jsonb_build_array(jsonb_build_array('', r.rngsubtype::bigint, -1))
            FROM pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
        )
        WHEN t.typtype = 'c' THEN (
            SELECT jsonb_agg(jsonb_build_array(a.attname, a.atttypid::bigint, a.atttypmod) ORDER BY a.attnum)
            FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
        )
    END AS parts
FROM used JOIN pg_type t ON t.oid = used.oid JOIN pg_namespace n ON n.oid = t.typnamespace
"""

# The catalogue's number of numeric, and the most digits that it may be declared with.
_NUMERIC = 1700
_MOST_DIGITS = 1000


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type of the catalogue. `kind` is pg_type.typtype in words; an array's name is `_` plus its element's.

    `parts`: a domain's base, an array's elements, a range's bounds, a composite's fields: name (empty except for
    fields), type and its modifier.
    """

    name: str
    schema: str = "pg_catalog"
    kind: Literal["base", "array", "composite", "domain", "enum", "range", "multirange", "pseudo"] = "base"
    parts: tuple[tuple[str, "ColumnType", int], ...] = ()
    oid: int = 0

    @property
    def operators(self) -> str:
        """The schema of its operators: an extension's aren't in our sessions' search_path."""
        kind, _ = without_domains(self, -1)
        return kind.schema if kind.kind == "base" else "pg_catalog"


def column_types(rows: Iterable[Mapping[str, Any]]) -> dict[int, ColumnType]:
    """Return the types that rows of TYPES describe, by their numbers."""
    known = {int(row["oid"]): row for row in rows}
    made: dict[int, ColumnType] = {}

    def make(oid: int) -> ColumnType:
        # No PostgreSQL type is part of itself, so this ends.
        if oid not in made:
            row = known[oid]
            parts = tuple((name, make(part), modifier) for name, part, modifier in row["parts"] or ())
            made[oid] = ColumnType(**{**row, "parts": parts})
        return made[oid]

    return {oid: make(oid) for oid in known}


def result_modifier(oid: int, precision: int | None, scale: int | None) -> int:
    """Return the modifier of a query's column, as far as every driver provides it: a numeric's, else none (-1).

    The schema's writer and the rows' reader must see the same type.
    """
    if oid != _NUMERIC or precision is None or scale is None or not 0 < precision <= _MOST_DIGITS:
        return -1
    return numeric_modifier(precision, scale)


def numeric_modifier(precision: int, scale: int) -> int:
    return (precision << 16 | scale & 0x7FF) + 4


def without_domains(kind: ColumnType, modifier: int) -> tuple[ColumnType, int]:
    """Return a domain's base type, resolved recursively, and its modifier."""
    while kind.kind == "domain":
        [(_, kind, modifier)] = kind.parts
    return kind, modifier


AvroType = str | dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A type's forms. `wire`: the event's JSON; `avro`: the schema's type; `lake`: the column's, by Spark's name.

    `spelling` makes values comparable. `has_placeholder`: events mark a large value that didn't change; without that, a
    table with such values needs REPLICA IDENTITY FULL. `special`: values that the lake's type can't hold go to
    contract.events's column. `note`: differences from PostgreSQL; `note_of_log`: further ones in the log's
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
        name = quoted(column)
        # `IS NOT NULL` would test each field of a composite.
        return f"CASE WHEN {name} IS DISTINCT FROM NULL THEN {self.spelling.source.replace('{c}', name)} END"

    def lake_sql(self, column: str) -> str:
        """Write DuckDB's expression for the canonical text of a lake's column; null for null."""
        name = quoted(column)
        expression = f"CASE WHEN {name} IS NOT NULL THEN {self.spelling.lake.replace('{c}', name)} END"
        if not self.special:
            return expression
        return f"coalesce({expression}, json_extract_string({quoted(SPECIALS_COLUMN)}, '$.\"{column}\"'))"

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


def quoted(name: str) -> str:
    """Quote a name for SQL, whatever characters it has; PostgreSQL and DuckDB quote alike."""
    return '"' + name.replace('"', '""') + '"'
