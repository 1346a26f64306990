"""The SQL by which PostgreSQL writes a row as the line of JSON that Debezium's flattened event of it would be.

It asks the catalogue for the columns' types (`catalogue_sql`, `read_columns`) and writes an expression of type text
from them (`row_sql`), which holds in a session with `SESSION_SETTINGS`: the spelling of values follows those. How each
type travels is in wire_sql.py, what a type is in contract/column_types/.
"""

# ruff: noqa: S608  # names and texts are quoted

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from contract.column_types.canonical import SOURCE_SETTINGS
from contract.column_types.carried import Carried, LeftOut
from contract.column_types.catalogue import TYPES, ColumnType, column_types
from contract.column_types.types import carried
from spark_jobs.sources.postgres.wire_sql import wire_sql

# Besides what the spelling of values needs: a row that a policy hides is an error, no deleted row; and a backslash is
# itself.
SESSION_SETTINGS = {**SOURCE_SETTINGS, "row_security": "off", "standard_conforming_strings": "on"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """A column of a table, view or query: its name in PostgreSQL, its type, and that type's modifier (-1: none)."""

    name: str
    type: ColumnType
    modifier: int = -1

    @property
    def carried(self) -> Carried | LeftOut:
        """What becomes of it, or why nothing can."""
        return carried(self.type, self.modifier)


def catalogue_sql(schema: str, table: str) -> str:
    """Write the query of one text, for `read_columns`: what the columns of a table or view are.

    The text has no columns when there is no such table, or the role may not read any column of it.
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
    """Return the columns that the catalogue's text describes, in their order."""
    found = json.loads(text)
    types = column_types(found["types"] or ())
    return tuple(
        SourceColumn(name=name, type=types[oid], modifier=modifier) for name, oid, modifier in found["columns"] or ()
    )


def sent(columns: Sequence[SourceColumn], *, leave_out: Collection[str] = ()) -> tuple[SourceColumn, ...]:
    """Return the columns that events have: those that aren't left out and can be carried."""
    return tuple(c for c in columns if c.name not in leave_out and isinstance(c.carried, Carried))


def not_sent(columns: Sequence[SourceColumn], *, leave_out: Collection[str] = ()) -> dict[str, str]:
    """Return why columns that nobody left out aren't in events, by their names."""
    kinds = {c.name: c.carried for c in columns if c.name not in leave_out}
    return {name: kind.reason for name, kind in kinds.items() if isinstance(kind, LeftOut)}


def row_sql(
    columns: Sequence[SourceColumn], metadata: Mapping[str, str | int] | None = None, *, alias: str | None = None
) -> str:
    """Write the expression of one row's line: a JSON object in one line, its columns first and then `metadata`.

    `alias` is the table's in the query. A column that can't be carried isn't in it (`sent`).
    """
    prefix = f"{quoted(alias)}." if alias else ""
    fields = [
        f"{literal(f'{_json(column.name)}:')} || {wire_sql(kind, prefix + quoted(column.name))}"
        for column in columns
        if isinstance(kind := column.carried, Carried)
    ]
    fields += [literal(f"{_json(name)}:{_json(value)}") for name, value in (metadata or {}).items()]
    # An array, since functions take 100 arguments at most.
    return f"concat('{{', array_to_string(ARRAY[{', '.join(fields)}]::text[], ','), '}}')"


def quoted(name: str) -> str:
    """Return a name as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL has it, in a session that takes backslashes for themselves."""
    return "'" + text.replace("'", "''") + "'"


def _json(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)
