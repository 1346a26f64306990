"""SQL with which PostgreSQL writes a row as the JSON line of Debezium's flattened event.

It queries the catalog for the columns' types (`catalogue_sql`, `read_columns`) and writes an expression of type text
from them (`row_sql`), valid in a session with `SESSION_SETTINGS`: values are spelled accordingly. wire_sql.py has each
type's encoding, contract/column_types/ the types.
"""

# ruff: noqa: S608  # names and texts are quoted

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from contract.column_types.canonical import SOURCE_SETTINGS
from contract.column_types.catalogue import TYPES, Carried, ColumnType, LeftOut, column_types
from contract.column_types.types import carried
from spark_jobs.sources.postgres.wire_sql import wire_sql

# Besides the settings for values' spelling: a row that a policy hides is an error, not a deleted row; and a backslash
# is itself.
SESSION_SETTINGS = {**SOURCE_SETTINGS, "row_security": "off", "standard_conforming_strings": "on"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """A column of a table, view or query: its name in PostgreSQL, its type, and that type's modifier (-1: none)."""

    name: str
    type: ColumnType
    modifier: int = -1

    @property
    def carried(self) -> Carried | LeftOut:
        """How it is carried, or why it can't be."""
        return carried(self.type, self.modifier)


def catalogue_sql(schema: str, table: str) -> str:
    """Write the query that returns a table's or view's columns in one text, for `read_columns`.

    The text has no columns when the table is missing, or the role may not read any column of it.
    """
    return _catalogue(
        "SELECT a.attnum, a.attname::text, a.atttypid, a.atttypmod"
        " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE n.nspname = {literal(schema)} AND c.relname = {literal(table)}"
        " AND a.attnum > 0 AND NOT a.attisdropped"
    )


def query_catalogue_sql(columns: Sequence[tuple[str, int, int]]) -> str:
    """Write the same query for the result of a query: its columns' names, type numbers and modifiers."""
    rows = ", ".join(
        f"({place}, {literal(name)}, {int(oid)}::oid, {int(modifier)})"
        for place, (name, oid, modifier) in enumerate(columns)
    )
    return _catalogue(f"VALUES {rows}")


def _catalogue(columns: str) -> str:
    types = TYPES.replace("{types}", "(SELECT array_agg(d.type) FROM described d)")
    return (
        f"WITH described (place, name, type, modifier) AS ({columns}) SELECT json_build_object("
        "'columns', (SELECT json_agg(json_build_array(d.name, d.type::bigint, d.modifier) ORDER BY d.place)"
        f" FROM described d), 'types', (SELECT json_agg(t) FROM ({types}) AS t))::text"
    )


def read_columns(text: str) -> tuple[SourceColumn, ...]:
    """Return the columns in the catalog's text, in their order."""
    found = json.loads(text)
    types = column_types(found["types"] or ())
    return tuple(
        SourceColumn(name=name, type=types[oid], modifier=modifier) for name, oid, modifier in found["columns"] or ()
    )


def sent(columns: Sequence[SourceColumn], *, leave_out: Collection[str] = ()) -> tuple[SourceColumn, ...]:
    """Return the columns that events have: those that aren't excluded and can be carried."""
    return tuple(c for c in columns if c.name not in leave_out and isinstance(c.carried, Carried))


def not_sent(columns: Sequence[SourceColumn], *, leave_out: Collection[str] = ()) -> dict[str, str]:
    """Return why columns that aren't excluded are missing from events, by their names."""
    kinds = {c.name: c.carried for c in columns if c.name not in leave_out}
    return {name: kind.reason for name, kind in kinds.items() if isinstance(kind, LeftOut)}


def row_sql(
    columns: Sequence[SourceColumn], metadata: Mapping[str, str | int] | None = None, *, alias: str | None = None
) -> str:
    """Write the expression of one row's line: a JSON object in one line, its columns first and then `metadata`.

    `alias` is the table's in the query. Columns that can't be carried are omitted (`sent`).
    """
    prefix = f"{quoted(alias)}." if alias else ""
    fields = [
        f"{literal(f'{_json(column.name)}:')} || {wire_sql(kind, prefix + quoted(column.name))}"
        for column in columns
        if isinstance(kind := column.carried, Carried)
    ]
    fields += [literal(f"{_json(name)}:{_json(value)}") for name, value in (metadata or {}).items()]
    # An array, since functions accept 100 arguments at most.
    return f"concat('{{', array_to_string(ARRAY[{', '.join(fields)}]::text[], ','), '}}')"


def quoted(name: str) -> str:
    """Quote any name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text for SQL, in a session where a backslash is itself."""
    return "'" + text.replace("'", "''") + "'"


def _json(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)
