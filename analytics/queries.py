"""The named queries: Athena's SQL from `analytics/sql/`, with an environment's database and table in it.

A file is SQL that can be read, and run, as it stands: the table that it reads stands once behind FROM, as
`database.table AS alias`, and another environment's or pipeline's takes its place. Which tables there are is said by
the pipelines: whoever asks gives them (`Queried`).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from analytics import quarantine_table
from contract.source import OUTBOX_TABLE

SQL_FOLDER = Path(__file__).resolve().parent / "sql"
# Where a file names its table.
_TABLE = re.compile(r"\bFROM \w+\.\w+(?= AS )")
_MARK = re.compile(r"\?")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A `?` of a query's SQL: what to put there, and an example as Athena takes it, quotes included."""

    name: str
    description: str
    example: str


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query as its file says it. `of`: the outbox's table, each captured table, or the quarantine's."""

    name: str
    of: Literal["outbox", "each", "quarantine"]
    parameters: tuple[Parameter, ...] = ()

    @property
    def text(self) -> str:
        """The file, comments included."""
        return (SQL_FOLDER / f"{self.name}.sql").read_text(encoding="utf-8")

    @property
    def description(self) -> str:
        """The file's first line, without the signs of a comment."""
        return self.text.partition("\n")[0].removeprefix("-- ")

    def sql(self, database: str, table: str) -> str:
        """Return the statement, without its comments, on that table."""
        lines = [line for line in self.text.splitlines() if not line.startswith("--")]
        return _TABLE.sub(f'FROM "{database}"."{table}"', "\n".join(lines))


@dataclass(frozen=True, kw_only=True)
class Queried:
    """A captured table: its name in the lake, and whether it is the outbox's, a row for each order."""

    table: str
    outbox: bool


@dataclass(frozen=True, kw_only=True)
class NamedQuery:
    """A query on a table: SQL that Athena runs as it is, once its parameters (`?`, in their order) are given."""

    name: str
    description: str
    sql: str
    database: str
    table: str
    parameters: tuple[Parameter, ...] = ()


COMMIT = Parameter(
    name="commit",
    description="a commit's time in UTC, yyyyMMddHHmmssSSS, or its beginning",
    example="'20260101'",
)
QUERIES = (
    Query(name="order_items", of="outbox"),
    Query(name="latest_orders", of="outbox"),
    Query(name="changed_since", of="each", parameters=(COMMIT,)),
    Query(name="quarantine", of="quarantine"),
)


def named_queries(database: str, tables: Iterable[Queried]) -> tuple[NamedQuery, ...]:
    """Return what there is to ask of an environment's tables; the same names for the same tables.

    A query's name is its file's; of a table other than the outbox's usual one it has the table's behind it.
    """
    captured = tuple(tables)
    found = []
    for query in QUERIES:
        if query.of == "quarantine":
            found.append(_named(query, database, quarantine_table.NAME, usual=quarantine_table.NAME))
            continue
        asked = [table.table for table in captured if table.outbox or query.of == "each"]
        found += [_named(query, database, table, usual=OUTBOX_TABLE) for table in asked]
    return tuple(found)


def _named(query: Query, database: str, table: str, *, usual: str) -> NamedQuery:
    return NamedQuery(
        name=query.name if table == usual else f"{query.name}_{table}",
        description=query.description,
        sql=query.sql(database, table),
        database=database,
        table=table,
        parameters=query.parameters,
    )


def marks(sql: str) -> int:
    """Count the parameters that a query's SQL has."""
    return len(_MARK.findall(sql))
