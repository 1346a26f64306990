"""The query of a derived table: Athena's SQL as Spark's, so that one text is tried by `make query` and kept by the job.

sqlglot translates it. Refused is what wouldn't be the same there, or another time: a derived table is what its query
gives of the tables as they are, whenever it is computed (docs/decisions/0093).
"""

from dataclasses import dataclass
from typing import cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from analytics.translate import TranslationError, asking, named_tables, names_its_columns
from contract.lake import DATABASE

# They give another answer each time.
_FLEETING = (
    *(exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentUser, exp.Localtime, exp.Localtimestamp),
    *(exp.Rand, exp.Randn, exp.Uuid, exp.TableSample),
)
_FRACTIONS = (*exp.DataType.REAL_TYPES,)


@dataclass(frozen=True, kw_only=True)
class DerivedQuery:
    """A query in Spark's SQL, the lake's tables that it names, and its columns: None where a `*` stands for some."""

    sql: str
    tables: tuple[str, ...]
    columns: tuple[str, ...] | None


def derived_query(text: str) -> DerivedQuery:
    """Translate a derived table's query. Raises TranslationError for what can't be one, in one line."""
    statement = asking(text)
    if not names_its_columns(statement):
        raise TranslationError("a column of the query has no name: give each one, by AS")
    tables = tuple(_own(table.database, str(table), table.table) for table in named_tables(statement))
    try:
        statement = annotate_types(normalize_identifiers(statement, dialect="athena"), dialect="athena")
        _refuse(statement)
        columns = None if statement.is_star else tuple(cast(exp.Query, statement).named_selects)
        for table in statement.find_all(exp.Table):
            table.set("db", None)
        return DerivedQuery(sql=statement.sql("spark", comments=False), tables=tables, columns=columns)
    except SqlglotError as error:
        raise TranslationError(f"the query can't be translated to Spark's SQL: {str(error).splitlines()[0]}") from error


def _own(database: str | None, shown: str, name: str) -> str:
    if database not in (None, DATABASE):
        raise TranslationError(f"{shown}: a derived table is made of the pipeline's own tables, {DATABASE}.<table>")
    return name


def _refuse(statement: exp.Expression) -> None:
    if fleeting := statement.find(*_FLEETING):
        raise TranslationError(
            f"{fleeting.sql('athena')} is another value each time: a derived table is computed when its tables change"
        )
    for division in statement.find_all(exp.Div):
        if not any(side.is_type(*_FRACTIONS) for side in (division.left, division.right)) and any(
            side.is_type(exp.DataType.Type.UNKNOWN) for side in (division.left, division.right)
        ):
            raise TranslationError(
                f"{division.sql('athena')}: Athena divides whole numbers to whole ones, Spark doesn't, and which it is "
                "can't be told here: CAST one side to double or decimal, or both to bigint"
            )
