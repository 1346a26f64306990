"""A type as PostgreSQL's catalogue describes it, and the query for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

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
