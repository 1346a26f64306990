"""What a JDBC source's query must be like, so that polls by a timestamp see the changes of all tables that it joins.

The connector appends its own WHERE and ORDER BY to the query and binds parameters in it, so it stands as a table of a
query around it. By which of its columns changes are found is up to whoever writes it: of a join only the newest of all
tables' stamps will do. This looks at the text: no more than a person who reads it would see.
"""

import re
from collections.abc import Iterator, Sequence

# What would be taken for something else: by the driver, a parameter; by the worker, a secret; by PostgreSQL, an end.
_TAKEN = {"?": "a parameter of JDBC", "${": "a config provider's reference", ";": "the statement's end"}
_JOIN = re.compile(r"\bjoin\b", re.IGNORECASE)
# `a IS DISTINCT FROM b` names no table.
_FROM = re.compile(r"(?<!\bdistinct)\s+from\b", re.IGNORECASE)
_BEHIND = re.compile(r"\b(where|group|having|window|order|limit|offset|fetch|union|except|intersect)\b", re.IGNORECASE)
# Texts and comments: nothing in them is SQL.
_QUIET = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)


def polled(query: str) -> str:
    """Return the query in a form that a WHERE can be appended to, whatever it ends with."""
    return f"SELECT * FROM (\n{query.strip().rstrip(';').rstrip()}\n) AS polled"  # noqa: S608 the user's own query


def stamped(query: str, stamps: Sequence[str], column: str) -> str:
    """Return the query with one column more, the newest of the stamps of the tables that it joins.

    Raises ValueError for a query whose list of columns isn't told by looking at it.
    """
    text = _QUIET.sub(lambda found: " " * len(found[0]), query)
    ends = [found.start() for found in _FROM.finditer(text) if not _depth(text, found.start())]
    if len(ends) != 1:
        raise ValueError("the query has no FROM of its own, or several: write greatest(…) into its columns yourself")
    head, tail = query[: ends[0]].rstrip(), query[ends[0] :].lstrip()
    return f"{head},\n  greatest({', '.join(stamps)}) AS {column}\n{tail}"


def _depth(text: str, end: int) -> int:
    return text.count("(", 0, end) - text.count(")", 0, end)


def problems(query: str, stamp: str) -> Iterator[str]:
    """Yield why polls of the query by its column `stamp` would fail, or miss what changes."""
    text = _QUIET.sub(" ", query.strip().rstrip(";"))
    for sign, meaning in _TAKEN.items():
        if sign in text:
            yield f"{sign!r} is {meaning} there: write the query without it"
    tables = len(_JOIN.findall(text)) + sum(_commas(text[found.end() :]) for found in _FROM.finditer(text)) + 1
    if tables == 1:
        return
    if (newest := _newest(text, stamp)) is None:
        yield (
            f"it joins {tables} tables, and {stamp} is one table's stamp: a change of another one would never arrive;"
            f" let it be the newest of all, greatest(…) AS {stamp}"
        )
    elif newest < tables:
        yield f"it joins {tables} tables, and {stamp} is the newest of {newest} stamps: name one of each table"


def _commas(text: str) -> int:
    """Return how many commas part tables, in what follows a FROM."""
    end, depth = _BEHIND.search(text), 0
    commas = 0
    for position, sign in enumerate(text):
        if depth == 0 and (sign == ")" or (end is not None and position >= end.start())):
            break
        depth += (sign == "(") - (sign == ")")
        commas += sign == "," and depth == 0
    return commas


def _newest(text: str, stamp: str) -> int | None:
    """Return of how many values the column is the greatest; None when it isn't written as greatest(…) AS column."""
    for found in re.finditer(r"\bgreatest\s*\(", text, re.IGNORECASE):
        depth, values = 1, 1
        for position in range(found.end(), len(text)):
            sign = text[position]
            depth += (sign == "(") - (sign == ")")
            values += sign == "," and depth == 1
            if depth == 0:
                if re.match(
                    rf"\s+as\s+(\"{re.escape(stamp)}\"|{re.escape(stamp)}\b)", text[position + 1 :], re.IGNORECASE
                ):
                    return values
                break
    return None
