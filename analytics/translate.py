"""Translates a read-only statement from Athena's SQL to DuckDB's.

sqlglot does most of it. This adds the rest: annotated types (without them 7/2 is 3.5), JSON functions that DuckDB
lacks, and JSON as text, which has no quotes in Athena. The engine that runs the result needs `integer_division`, for
columns whose types are unknown here (local/query/engine.py).
"""

import logging
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.optimizer.annotate_types import annotate_types

from analytics import alike
from analytics.alike.parts import TranslationError, call, or_null

# Another value each time: no case can prove them.
_FLEETING = """
currentdate currenttime currenttimestamp currentuser localtime localtimestamp rand uuid
"""
FLEETING = frozenset(_FLEETING.split())
_PROVEN = """
abs acos and anyvalue approxdistinct argmax argmin array arrayagg arraycontains arrayfilter arraymax arraymin
arrayposition arraysize arraysort arraytostring asin atan atan2 avg bitwiseandagg bitwiseoragg case cast cbrt ceil chr
coalesce concat concatws corr cos cosh count countif covarpop cumedist date dateadd datediff day dayofmonth dayofweekiso
dayofyear decode degrees denserank encode exists exp extract firstvalue flatten floor frombase64 fromiso8601date
fromiso8601timestamp geometric_mean greatest groupconcat grouping hex histogram hour if isnan json_array json_array_get
json_array_length json_size jsonarraycontains jsonextract jsonextractscalar jsonformat jsonobject kurtosis lag lastday
lastvalue lead least length levenshtein ln log logicaland logicalor lower lowerhex map map_concat map_entries map_values
mapfromentries mapkeys max md5digest millisecond min minute month nthvalue ntile nullif or pad parsejson percentrank pi
pow quarter radians rank reduce regexpcount regexpextract regexpextractall regexplike regexpreplace regexpsplit
regrintercept regrslope replace reverse round rownumber second sha2digest sin sinh skewness split splitpart sqrt
startswith stddev stddevpop stddevsamp strposition strtotime struct substring sum tan tanh timestamptrunc timetostr
timetounix tobase64 transform translate trim trunc try trycast unhex unixtotime unnest upper url_decode variance
variancepop weekofyear year yearofweek
"""
_PROVEN_IN_SPARK = """
abs add alias and argmax argmin arraycontains arraysize avg between bitwiseand bitwisenot bitwiseor bitwisexor boolean
bracket case cast coalesce column concat concatws corr count countif covarpop cte cube cumedist datatype datatypeparam
date dateadd datediff day dayofmonth dayofweekiso dayofyear denserank distinct div dpipe encode eq escape except exists
extract filter firstvalue from greatest group grouping groupingsets gt gte having hex hour identifier if ignorenulls in
intersect interval is isnan join jsonextractscalar jsonpath jsonpathkey jsonpathroot jsonpathsubscript lag lastday
lastvalue lead least length levenshtein like limit literal logicaland logicalor lower lowerhex lt lte max md5digest min
minute mod month mul neg neq not nthvalue ntile null nullif nullsafeeq nullsafeneq offset or order ordered pad paren
percentrank pow quarter rank regexpcount regexpextract regexplike regexpreplace replace reverse rollup round rownumber
second select split splitpart sqrt star startswith stddev stddevpop stddevsamp strposition strtotime sub subquery
substring sum table tablealias timestamptrunc timetostr translate trim trycast tuple union unnest upper values var
variance variancepop weekofyear where window windowspec with year
"""
# Functions allowed in a query; below, everything allowed in a derived table's query.
ASKED = frozenset(_PROVEN.split()) | FLEETING
DERIVED = frozenset(_PROVEN_IN_SPARK.split())


def name(node: exp.Expr) -> str:
    """Return sqlglot's name of a part; for a function unknown to sqlglot, the function's own name."""
    return node.name.lower() if isinstance(node, exp.Anonymous) else str(node.key)


def unproven(statement: exp.Expr, known: Collection[str], kind: type[exp.Expr]) -> exp.Expr | None:
    """Return the first part of this kind that isn't proven to be alike; None where all are."""
    return next((node for node in statement.find_all(kind) if name(node) not in known), None)


# Athena's name for the catalogue with Glue's databases.
CATALOGUE = "awsdatacatalog"
_CHANGES = (exp.DDL, exp.DML, exp.Command, exp.Into)
_NAMED = (exp.Alias, exp.Column, exp.Dot)
_TOKEN = re.compile(r"<Token .*?text: (.*?), line.*?>")
# The errors are clearer than its warnings.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


@dataclass(frozen=True, kw_only=True)
class TableName:
    """A table as a statement names it, in lower case; `database` is None where it names none."""

    database: str | None
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}" if self.database else self.table


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement in DuckDB's SQL, the tables that it names, and the columns: None where it may need all of them."""

    sql: str
    tables: tuple[TableName, ...]
    columns: frozenset[str] | None


def translate(text: str) -> Statement:
    """Translate one read-only statement of Athena's SQL.

    Raises TranslationError for anything else: two statements, one that changes or sets something, unreadable SQL, a
    table function that Athena lacks.
    """
    return statement_of(asking(text))


def asking(text: str) -> exp.Expression:
    """Read one read-only statement. Raises TranslationError as `translate` does."""
    statement = parsed(text)
    if not isinstance(statement, exp.Query | exp.Values):
        raise TranslationError(
            f"{first_word(text)} isn't a query: SELECT, WITH, VALUES, DESCRIBE and SHOW are, and CREATE TABLE … AS "
            "SELECT makes a table"
        )
    _refuse(statement)
    return statement


def statement_of(statement: exp.Expression) -> Statement:
    """Translate a parsed read-only statement. Raises TranslationError if a part of it isn't read-only."""
    _refuse(statement)
    if found := unproven(statement, ASKED, exp.Func):
        raise alike.refused(found, "not known to be the same here as in Athena (docs/query/query.md)")
    tables = named_tables(statement)
    columns = _named_columns(statement)
    try:
        annotated = annotate_types(_with_names(statement), dialect="athena")
        sql = alike.reword(annotated, "duckdb", first=_reworded).sql("duckdb")
        return Statement(sql=sql, tables=tables, columns=columns)
    except (SqlglotError, ValueError) as error:
        raise TranslationError(f"the SQL can't be translated to DuckDB's: {_first_line(error)}") from error


def parsed(text: str) -> exp.Expression:
    """Read one statement of any kind. Raises TranslationError for none, two or unreadable SQL."""
    try:
        found = [statement for statement in sqlglot.parse(text, read="athena") if statement is not None]
    except ParseError as error:
        [first, *_] = error.errors
        near = first["highlight"] or first["end_context"].strip() or "the end"
        where = f"line {first['line']}, column {first['col']}, near {near!r}"
        description = re.sub(r"Required keyword: .*", "something is missing", _TOKEN.sub(r"\1", first["description"]))
        raise TranslationError(f"the SQL can't be read: {description.rstrip('.')}, {where}") from error
    except (TokenError, RecursionError) as error:
        raise TranslationError(f"the SQL can't be read: {_first_line(error)}") from error
    if len(found) != 1:
        raise TranslationError(f"one statement, please: these are {len(found)}" if found else "there is no statement")
    return cast(exp.Expression, found[0])


def first_word(text: str) -> str:
    """Return the statement's first word in capitals; empty where it has none or can't be read."""
    try:
        return next((token.text.upper() for token in sqlglot.tokenize(text, read="athena") if token.text), "")
    except TokenError:
        return ""


def _refuse(statement: exp.Expression) -> None:
    for node in statement.walk():
        if isinstance(node, _CHANGES) and not isinstance(node, exp.Query):
            raise TranslationError(f"{node.key.upper()} within the query would change something: only ask")
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier):
            raise TranslationError(f"{node.this.sql('athena')} is no table: name one, or use UNNEST")
        if isinstance(node, exp.Placeholder | exp.Parameter):
            raise TranslationError(f"{node.sql('athena')} is a parameter without a value: write the value in its place")


def _with_names(statement: exp.Expression) -> exp.Expression:
    """Name the result's columns as Athena does where the statement doesn't: _col0, _col1, …"""
    first = _first(statement)
    if isinstance(first, exp.Select):
        named = [
            column if _has_name(column) else exp.alias_(column, f"_col{index}")
            for index, column in enumerate(first.expressions)
        ]
        first.set("expressions", named)
    return statement


def names_its_columns(statement: exp.Expression) -> bool:
    first = _first(statement)
    return not isinstance(first, exp.Select) or all(map(_has_name, first.expressions))


def _first(statement: exp.Expression) -> exp.Expression:
    while isinstance(statement, exp.SetOperation | exp.Subquery):
        statement = statement.this
    return statement


def _has_name(column: exp.Expression) -> bool:
    return isinstance(column, _NAMED) or column.is_star


def named_tables(statement: exp.Expression) -> tuple[TableName, ...]:
    """Return the tables that a statement reads, each once. Raises TranslationError for another catalogue's."""
    within = {cte.alias.lower() for cte in statement.find_all(exp.CTE)}
    found: dict[TableName, None] = {}
    for node in statement.find_all(exp.Table):
        name = table_name(node)
        if name.database is not None or name.table not in within:
            found[name] = None
    return tuple(found)


def table_name(table: exp.Table) -> TableName:
    """Return a table's name and drop Athena's own catalogue from it. Raises TranslationError for another catalogue."""
    if table.catalog.lower() == CATALOGUE:
        table.set("catalog", None)
    elif table.catalog:
        raise TranslationError(f"{table.sql('athena')}: there is no catalogue {table.catalog}")
    return TableName(database=table.db.lower() or None, table=table.name.lower())


def _named_columns(statement: exp.Expression) -> frozenset[str] | None:
    stars = [star for star in statement.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    if stars or any(join.args.get("method") == "NATURAL" for join in statement.find_all(exp.Join)):
        return None
    # All identifiers: names that aren't columns do no harm.
    return frozenset(word.name.lower() for word in statement.find_all(exp.Identifier))


def _size(document: exp.Expr, path: exp.Expr) -> exp.Expr:
    found = call("json_extract", call("json", document), path)
    kind, keys, length = (
        call("json_type", found),
        call("len", call("json_keys", found)),
        call("json_array_length", found),
    )
    sizes = exp.Case(this=kind).when("'OBJECT'", keys).when("'ARRAY'", length).else_("0")
    return or_null(exp.Not(this=exp.Is(this=kind.copy(), expression=exp.Null())), sizes)


# Athena's function and its number of arguments → DuckDB's replacement.
_FUNCTIONS: dict[tuple[str, int], Callable[..., exp.Expr]] = {
    ("json_array_get", 2): lambda document, index: call(
        "json_extract", call("json", document), exp.cast(index, "bigint")
    ),
    ("json_array_length", 1): lambda document: exp.Case(this=call("json_type", call("json", document))).when(
        "'ARRAY'", call("json_array_length", document)
    ),
    ("json_size", 2): _size,
    # DuckDB includes the seconds.
    ("millisecond", 1): lambda instant: exp.Paren(
        this=exp.Mod(this=call("millisecond", instant), expression=exp.Literal.number(1000))
    ),
}


def _reworded(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.JSONArrayContains):
        elements = exp.cast(call("json", node.this), "array<json>", dialect="duckdb")
        return call("list_contains", elements, call("to_json", node.expression))
    if isinstance(node, exp.Anonymous):
        made = _FUNCTIONS.get((node.name.lower(), len(node.expressions)))
        return made(*node.expressions) if made else node
    # JSON as text: in Athena a JSON string loses its quotes.
    is_text = isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.TEXT_TYPES)
    if is_text and (isinstance(node.this, exp.JSONExtract) or node.this.is_type(exp.DataType.Type.JSON)):
        return exp.JSONExtractScalar(this=node.this, expression=exp.JSONPath(expressions=[exp.JSONPathRoot()]))
    return node


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
