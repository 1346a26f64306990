"""Translates a derived table's query from Athena's SQL to Spark's, so `./lake query` can try what the job runs.

sqlglot translates it. What would differ in Spark, or from run to run, is refused: a derived table depends only on the
current contents of its source tables (docs/decisions/0093).
"""

from dataclasses import dataclass
from typing import cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from analytics import alike
from analytics.alike.parts import TranslationError
from analytics.translate import DERIVED, FLEETING, asking, name, named_tables, names_its_columns, unproven
from contract.lake import DATABASE

_FLEETING = FLEETING | {"tablesample"}
_OF_TUPLES = (exp.Values, exp.GroupingSets, exp.Cube, exp.Rollup)
# The lake's types that a CAST may have as its target.
_TARGETS = (
    *(*exp.DataType.INTEGER_TYPES, *exp.DataType.TEXT_TYPES, exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT),
    *(exp.DataType.Type.DECIMAL, exp.DataType.Type.BOOLEAN, exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP),
)


@dataclass(frozen=True, kw_only=True)
class DerivedQuery:
    """A query in Spark's SQL, the lake's tables that it reads, and its columns; None where it has a `*`."""

    sql: str
    tables: tuple[str, ...]
    columns: tuple[str, ...] | None


def derived_query(text: str) -> DerivedQuery:
    """Translate a derived table's query. Raises TranslationError, in one line, for an unsuitable query."""
    statement = asking(text)
    if not names_its_columns(statement):
        raise TranslationError("a column of the query has no name: give each one, by AS")
    tables = named_tables(statement)
    if others := [str(table) for table in tables if table.database not in (None, DATABASE)]:
        own = f"a derived table is made of the pipeline's own tables, {DATABASE}.<table>"
        raise TranslationError(f"{others[0]}: {own}")
    try:
        statement = annotate_types(normalize_identifiers(statement, dialect="athena"), dialect="athena")
        _refuse(statement)
        columns = None if statement.is_star else tuple(cast(exp.Query, statement).named_selects)
        for table in statement.find_all(exp.Table):
            table.set("db", None)
        sql = alike.reword(statement, "spark").sql("spark", comments=False)
        return DerivedQuery(sql=sql, tables=tuple(table.table for table in tables), columns=columns)
    except (SqlglotError, ValueError) as error:
        raise TranslationError(f"the query can't be translated to Spark's SQL: {str(error).splitlines()[0]}") from error


def _refuse(statement: exp.Expr) -> None:
    if fleeting := next((node for node in statement.walk() if name(node) in _FLEETING), None):
        raise TranslationError(
            f"{fleeting.sql('athena')} is another value each time: a derived table is computed when its tables change"
        )
    if found := unproven(statement, DERIVED, exp.Expr):
        raise alike.refused(found, "not known to be the same in Spark as in Athena (docs/reference/pipeline-file.md)")
    for node in statement.walk():
        if why := _other_types(node) or _other_forms(node):
            raise alike.refused(node, why)


def _other_types(node: exp.Expr) -> str | None:
    """Return why a part differs in Spark for some types, which are unknown here; None where it doesn't."""
    if isinstance(node, exp.Div):
        sides = (node.left, node.right)
        if not (any(map(_is_double, sides)) or all(side.is_type(*exp.DataType.INTEGER_TYPES) for side in sides)):
            return (
                "Athena divides whole numbers to whole ones, and decimals to decimals: CAST one side to double, or "
                "both to bigint"
            )
    if isinstance(node, exp.Avg) and not _is_double(node.this):
        return "the average of decimals is a decimal in Athena, with other digits than in Spark: CAST to double"
    if isinstance(node, exp.Round) and node.args.get("decimals") and not node.this.is_type(exp.DataType.Type.DECIMAL):
        return "a double is rounded otherwise in Spark: CAST to decimal"
    if isinstance(node, exp.TimestampTrunc) and not node.this.is_type(exp.DataType.Type.TIMESTAMP):
        return "Spark makes a timestamp of a date: CAST to timestamp, and the result to date"
    if isinstance(node, exp.Sub) and all(side.is_type(exp.DataType.Type.DATE) for side in (node.left, node.right)):
        return "the difference of dates is no number in Athena: date_diff('day', …)"
    compared = _compared(node)
    if any(side.is_string for side in compared) and any(map(_is_no_text, compared)):
        return "Athena compares no text with another type: CAST it"
    return None


def _other_forms(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Cast) and not node.to.is_type(*_TARGETS):
        return "a column of the lake has no such type"
    if isinstance(node, exp.Max | exp.Min) and node.expressions:
        return "only one value is the same in Spark"
    if isinstance(node, exp.Tuple) and not isinstance(node.parent, _OF_TUPLES):
        return "rows are compared otherwise in Spark: compare column by column"
    if isinstance(node, exp.In) and node.args.get("query") and not _filters(node):
        return "Spark gives false instead of NULL here: use it in WHERE, joined by AND alone, or use EXISTS"
    is_outer = isinstance(node.parent, exp.Join) and bool(node.parent.side)
    if isinstance(node, exp.Unnest) and (len(node.expressions) > 1 or node.args.get("offset") or is_outer):
        return "only CROSS JOIN UNNEST(one array) is the same in Spark"
    return None


def _filters(node: exp.Expr) -> bool:
    """Whether a condition, or its opposite, alone decides which rows are kept."""
    above = node.parent
    if isinstance(above, exp.Not):
        above = above.parent
    while isinstance(above, exp.And | exp.Paren):
        above = above.parent
    return isinstance(above, exp.Where)


def _compared(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.In | exp.Between) or (isinstance(node, exp.Binary) and isinstance(node, exp.Predicate)):
        return [each.unnest() for each in node.iter_expressions()]
    return []


def _is_no_text(side: exp.Expr) -> bool:
    return (
        side.is_number
        or isinstance(side, exp.Boolean)
        or (isinstance(side, exp.Cast) and not side.to.is_type(*exp.DataType.TEXT_TYPES))
    )


def _is_double(side: exp.Expr) -> bool:
    """Whether it is a double to Athena: 2e0 is one, 2.0 is a decimal."""
    side = side.unnest()
    if isinstance(side, exp.Literal):
        return not side.is_string and "e" in side.this.lower()
    return bool(side.is_type(exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT)) and isinstance(side, exp.Cast)
