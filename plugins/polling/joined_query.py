"""Rules for a JDBC source's query, so that polls by a timestamp see the changes of all tables that it joins.

The connector appends its own WHERE and ORDER BY to the query and binds parameters in it, so it becomes the subquery of
an outer query. Its author chooses the column by which changes are found: for a join only the newest of all tables'
stamps works. These checks read only the query, and know no more than a person who reads it.
"""

from collections.abc import Collection, Iterator, Sequence

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

_DIALECT = "postgres"
# Characters with another meaning: to the driver a parameter, to the worker a secret, to PostgreSQL an end.
_TAKEN = {"?": "a parameter of JDBC", "${": "a config provider's reference", ";": "the statement's end"}
_TEXTS = {TokenType.STRING, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING}
_DEPTH = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}


def polled(query: str) -> str:
    """Return the query in a form that a WHERE can be appended to, whatever it ends with."""
    return f"SELECT * FROM (\n{_whole(query)}\n) AS polled"  # noqa: S608 the user's own query


def stamped(query: str, stamps: Sequence[str], column: str) -> str:
    """Return the query with an additional column, the newest of the stamps of the tables that it joins.

    Raises ValueError if the end of the query's column list isn't evident.
    """
    columns_end, depth, before = [], 0, None
    for token in _tokens(query):
        depth += _DEPTH.get(token.token_type, 0)
        # `a IS DISTINCT FROM b` names no table.
        if token.token_type == TokenType.FROM and not depth and before and before.token_type != TokenType.DISTINCT:
            columns_end.append(before.end + 1)
        before = token
    if len(columns_end) != 1:
        raise ValueError("the query has no FROM of its own, or several: write greatest(…) into its columns yourself")
    head, tail = query[: columns_end[0]], query[columns_end[0] :].lstrip()
    return f"{head},\n  greatest({', '.join(stamps)}) AS {column}\n{tail}"


def problems(query: str, stamp: str) -> Iterator[str]:
    """Yield why polls of the query by its column `stamp` would fail or miss changes."""
    query = _whole(query)
    try:
        sql = "".join(query[each.start : each.end + 1] for each in _tokens(query) if each.token_type not in _TEXTS)
        if taken := [sign for sign in _TAKEN if sign in sql]:
            yield from (f"{sign!r} is {_TAKEN[sign]} there: write the query without it" for sign in taken)
            return
        parsed = sqlglot.parse_one(query, read=_DIALECT)
    except (ValueError, SqlglotError) as error:
        yield f"it can't be read, so nobody can tell which tables it joins: {str(error).splitlines()[0]}"
        return
    stamps = _newest(parsed, stamp)
    tables = _tables(parsed, {cte.alias.lower() for cte in parsed.find_all(exp.CTE)})
    if tables > 1 and not stamps:
        yield (
            f"it joins {tables} tables, and {stamp} is one table's stamp: a change of another one would never arrive;"
            f" let it be the newest of all, greatest(…) AS {stamp}"
        )
    elif tables > max(1, stamps):
        yield f"it joins {tables} tables, and {stamp} is the newest of {stamps} stamps: name one of each table"


def _whole(query: str) -> str:
    return query.strip().rstrip(";").rstrip()


def _tokens(query: str) -> list[Token]:
    """Split the query into tokens. Raises ValueError for an unterminated text or comment."""
    try:
        return sqlglot.tokenize(query, read=_DIALECT)
    except SqlglotError as error:
        raise ValueError(str(error)) from None


def _newest(query: exp.Expr, stamp: str) -> int:
    """Remove the column greatest(…) AS `stamp` from the query; return its number of values, 0 without such a column."""
    for column in query.find_all(exp.Alias):
        if isinstance(column.this, exp.Greatest) and column.alias.lower() == stamp.lower():
            column.replace(exp.null())
            return 1 + len(column.this.expressions)
    return 0


def _tables(node: exp.Expr, named: Collection[str]) -> int:
    """Return how many tables' stamps the rows depend on: tables that it joins and those of its subqueries.

    Each part of a UNION has its own stamp. Queries `named` in WITH count where they are defined.
    """
    if isinstance(node, exp.Union):
        parts = (node.this, node.expression)
        others = (each for each in node.iter_expressions() if each not in parts)
        return max(_tables(each, named) for each in parts) + sum(_tables(each, named) for each in others)
    if isinstance(node, exp.CTE) and not (node.parent and node.parent.args.get("recursive")):
        named = {*named} - {node.alias.lower()}
    own = isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier)
    made = isinstance(node, exp.Table) and not node.db and node.name.lower() in named
    return int(own and not made) + sum(_tables(each, named) for each in node.iter_expressions())
