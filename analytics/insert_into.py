"""Parses Athena's INSERT INTO: rows that a statement adds to a declared table (analytics/silver_table.py)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from analytics.silver_table import SilverTable
from analytics.translate import Statement, TableName, TranslationError, first_word, parsed, statement_of, table_name


@dataclass(frozen=True, kw_only=True)
class InsertedRows:
    """The target table, and the query of the rows."""

    name: TableName
    rows: Statement


def inserted_rows(text: str) -> InsertedRows | None:
    """Parse an INSERT INTO; None for any other statement, which isn't checked here.

    Raises TranslationError for what has no meaning here, and for unreadable SQL.
    """
    if first_word(text) != "INSERT":
        return None
    statement = parsed(text)
    if not isinstance(statement, exp.Insert) or statement.args.get("overwrite"):
        raise TranslationError("INSERT INTO table SELECT … adds rows: Athena has no other INSERT")
    if not isinstance(statement.this, exp.Table):
        raise TranslationError("INSERT INTO a table takes all its columns, in their order, and no list of them")
    if not isinstance(statement.expression, exp.Query):
        raise TranslationError("INSERT INTO a table takes a SELECT")
    name = table_name(statement.this)
    return InsertedRows(name=name, rows=statement_of(cast(exp.Expression, statement.expression)))


def check_types(table: SilverTable, found: Sequence[str]) -> None:
    """Refuse rows whose Glue types, in their order, aren't the table's. Raises TranslationError."""
    if len(found) != len(table.columns):
        raise TranslationError(f"{table.name} has {len(table.columns)} columns, the statement selects {len(found)}")
    for (column, type_), selected in zip(table.columns, found, strict=True):
        if type_ != selected:
            raise TranslationError(f"{table.name}.{column} is {type_}, the statement selects {selected}: CAST it")
