"""What a JDBC source's query must be like, so that polls by a timestamp see the changes of all tables that it joins.

The connector appends its own WHERE and ORDER BY to the query and binds parameters in it, so it stands as a table of a
query around it. By which of its columns changes are found is up to whoever writes it: of a join only the newest of all
tables' stamps will do. This looks at the text: no more than a person who reads it would see.
"""

import re
from collections.abc import Collection, Iterator, Sequence

# What would be taken for something else: by the driver, a parameter; by the worker, a secret; by PostgreSQL, an end.
_TAKEN = {"?": "a parameter of JDBC", "${": "a config provider's reference", ";": "the statement's end"}
_JOIN = re.compile(r"\bjoin\b", re.IGNORECASE)
# `a IS DISTINCT FROM b` names no table.
_FROM = re.compile(r"(?<!\bdistinct)\s+from\b", re.IGNORECASE)
_BEHIND = re.compile(r"\b(?:where|group|having|window|order|limit|offset|fetch|except|intersect)\b", re.IGNORECASE)
_NEXT = re.compile(r",|\bjoin\b", re.IGNORECASE)
_BRACKETS = re.compile(r"\(([^()]*)\)")
_COUNTED = re.compile(r"\0(\d+)\0")
# A table, and no function: their brackets follow at once.
_TABLE = re.compile(r"\s*(?:(?:lateral|only) )?([\w.]+)(?![\w.]|\s*\0)", re.IGNORECASE)
# A table in brackets of its own, and what WITH gives a name.
_ALONE = re.compile(r"(\bfrom|\bjoin|,) ?\( ?([\w.]+) ?\)", re.IGNORECASE)
_WITH = re.compile(
    r"(?:\bwith (?:recursive )?|, ?)(\w+) ?(?:\([^()]*\) ?)?as ?(?:not )?(?:materialized ?)?\(", re.IGNORECASE
)
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
    stamps, rest = _newest(text, stamp)
    tables = _tables(rest)
    if tables <= 1:
        return
    if stamps == 0:
        yield (
            f"it joins {tables} tables, and {stamp} is one table's stamp: a change of another one would never arrive;"
            f" let it be the newest of all, greatest(…) AS {stamp}"
        )
    elif stamps < tables:
        yield f"it joins {tables} tables, and {stamp} is the newest of {stamps} stamps: name one of each table"


def _tables(text: str) -> int:
    """Return how many tables' stamps a query's rows depend on: of those that it joins and of its subqueries'.

    From the inside out, what is in brackets becomes the number of tables in it.
    """
    text = re.sub(r'"((?:[^"]|"")*)"', lambda found: re.sub(r"\W", "_", f"{found[1]}_"), text)
    text = re.sub(r"\bdistinct from\b", "=", " ".join(text.split()), flags=re.IGNORECASE)
    named = {name.lower() for name in _WITH.findall(text)}
    text = _ALONE.sub(r"\1 \2 ", text)
    while (found := _BRACKETS.search(text)) is not None:
        text = f"{text[: found.start()]}\0{_unnested(found[1], named)}\0 {text[found.end() :]}"
    return _unnested(text, named)


def _unnested(text: str, named: Collection[str]) -> int:
    """Count the tables of a query without brackets; of a UNION's parts each has a stamp of its own."""
    if not re.search(r"\b(?:select|join)\b", text, re.IGNORECASE):
        return sum(map(int, _COUNTED.findall(text)))
    return max(_of_part(part, named) for part in re.split(r"\bunion\b", text, flags=re.IGNORECASE))


def _of_part(text: str, named: Collection[str]) -> int:
    listed = re.split(r"\bfrom\b", text, flags=re.IGNORECASE)
    # A join in brackets has no FROM.
    listed = listed[1:] if re.search(r"\bselect\b", text, re.IGNORECASE) else listed
    items = [item for tables in listed for item in _NEXT.split(_BEHIND.split(tables)[0])]
    tables = [found[1].lower() for item in items if (found := _TABLE.match(item))]
    return sum(table not in named for table in tables) + sum(map(int, _COUNTED.findall(text)))


def _newest(text: str, stamp: str) -> tuple[int, str]:
    """Return of how many values the column is the greatest, and the query without that; 0 for another column.

    It is to be written as greatest(…) AS column.
    """
    for found in re.finditer(r"\bgreatest\s*\(", text, re.IGNORECASE):
        depth, values = 1, 1
        for position in range(found.end(), len(text)):
            sign = text[position]
            depth += (sign == "(") - (sign == ")")
            values += sign == "," and depth == 1
            if depth == 0:
                rest = text[position + 1 :]
                if re.match(rf"\s+as\s+(\"{re.escape(stamp)}\"|{re.escape(stamp)}\b)", rest, re.IGNORECASE):
                    return values, f"{text[: found.start()]} {rest}"
                break
    return 0, text
