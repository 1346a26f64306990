"""The named queries: Athena's SQL from `analytics/sql/`, adapted to an environment's database and tables.

A file is SQL that runs as it is: its tables stand as `database.table` after FROM, JOIN or INTO, and are replaced with
another environment's or pipeline's. The caller passes the pipelines' tables (`Queried`). A query exists only for tables
that have what it reads.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from analytics.tables import CUSTOMER_ADDRESSES, LANDED, QUARANTINE, DeclaredTable
from contract import history
from contract.source import OUTBOX_TABLE
from contract.table_names import lake_name

SQL_FOLDER = Path(__file__).resolve().parent / "sql"
# Where a file names its tables.
_TABLE = re.compile(r"\b(FROM|JOIN|INTO) \w+\.(\w+)\b")
# Where a file on the landing names its table's key.
_KEY = re.compile(r"""json_extract_scalar\(e\.event, '\$\["\w+"\]'\) AS row_key""")
_TOPIC = re.compile(r"e\.topic = '[^']+'")
# Where a file on versions names its table's key.
_PARTITION = "PARTITION BY h.order_id"
# Names that events use unchanged and that a JSON path takes without quotes.
_PLAIN = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A `?` of a query's SQL: its meaning, and an example as Athena takes it, quotes included."""

    name: str
    description: str
    example: str


@dataclass(frozen=True, kw_only=True)
class RequiredTables:
    """The tables that a query over several tables reads: the example's, by their names in the query's file.

    The values are the source's names, `schema.table`. Other databases may have tables of these names with other
    columns, so the pipeline's file declares that it is the example.
    """

    example: str
    tables: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query as its file defines it.

    `of`: the outbox's table, each captured table, each keyed table's landed events, each table's history, the
    quarantine's table, or the tables that it needs. `writes`: the declared table that the statement adds rows to; other
    queries are read-only.
    """

    name: str
    of: Literal["outbox", "each", "landed", "history", "quarantine"] | RequiredTables
    parameters: tuple[Parameter, ...] = ()
    writes: DeclaredTable | None = None

    @property
    def text(self) -> str:
        return (SQL_FOLDER / f"{self.name}.sql").read_text(encoding="utf-8")

    @property
    def description(self) -> str:
        """The file's first line, without the comment's marker."""
        return self.text.partition("\n")[0].removeprefix("-- ")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, name in _TABLE.findall(self._statement)))

    def sql(self, database: str, tables: Mapping[str, str]) -> str:
        """Return the statement without its comments, on these tables by their names in the file."""
        return _TABLE.sub(lambda found: f'{found[1]} "{database}"."{tables[found[2]]}"', self._statement)

    @property
    def _statement(self) -> str:
        return "\n".join(line for line in self.text.splitlines() if not line.startswith("--"))


@dataclass(frozen=True, kw_only=True)
class Queried:
    """A captured table: its name in the lake, and whether it is the outbox's, a row for each order.

    `source` is its name in the source, `schema.table`; `pipeline` the pipeline that captures it; `example` the sample
    data that the pipeline's file names, if any. `topic` carries its events, `key` has the columns that identify a row,
    `history` is the table of their versions.
    """

    table: str
    outbox: bool
    source: str = ""
    pipeline: str = ""
    example: str | None = None
    topic: str = ""
    key: tuple[str, ...] = ()
    history: str = ""


@dataclass(frozen=True, kw_only=True)
class NamedQuery:
    """A query on tables: SQL that Athena runs as it is, once its parameters (`?`, in their order) are given.

    `tables` are those it reads; `writes` is the table that it adds rows to, by its name here.
    """

    name: str
    description: str
    sql: str
    tables: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()
    writes: DeclaredTable | None = None


COMMIT = Parameter(
    name="commit", description="a commit's time in UTC, yyyyMMddHHmmssSSS, or its beginning", example="'20260101'"
)
_ADDRESSES = {"pagila_address": "public.address", "pagila_city": "public.city", "pagila_country": "public.country"}
ADDRESS = RequiredTables(example="pagila", tables={"pagila_address": "public.address"})
ADDRESSES = RequiredTables(example="pagila", tables=_ADDRESSES)
CUSTOMERS = RequiredTables(example="pagila", tables=_ADDRESSES | {"pagila_customer": "public.customer"})
QUERIES = (
    Query(name="order_items", of="outbox"),
    Query(name="latest_orders", of="outbox"),
    Query(name="addresses", of=ADDRESSES),
    Query(name="latest_addresses", of=ADDRESS),
    Query(name="customer_addresses", of=CUSTOMERS),
    Query(name="snapshot_customer_addresses", of=CUSTOMERS, writes=CUSTOMER_ADDRESSES),
    Query(name="changed_since", of="each", parameters=(COMMIT,)),
    Query(name="history", of="landed"),
    Query(name="versions", of="history"),
    Query(name="quarantine", of="quarantine"),
)


def named_queries(database: str, tables: Iterable[Queried]) -> tuple[NamedQuery, ...]:
    """Return the queries on an environment's tables; the same tables give the same names.

    A query is named after its file; the table's name follows unless it is the outbox's usual one, then the pipeline's
    name unless it is the example's own.
    """
    captured, found = tuple(tables), list[NamedQuery]()
    for query in QUERIES:
        if isinstance(query.of, RequiredTables):
            found += _of_examples(query, query.of, database, captured)
        elif query.of == "quarantine":
            found.append(_of_one(query, database, QUARANTINE.name))
        else:
            found += filter(None, (_of_table(query, database, table) for table in captured))
    return tuple(found)


def _of_table(query: Query, database: str, table: Queried) -> NamedQuery | None:
    suffix = "" if table.table == OUTBOX_TABLE else f"_{table.table}"
    if query.of == "landed":
        if not (table.topic and table.key and all(map(_PLAIN.fullmatch, table.key))):
            return None
        named = _of_one(query, database, LANDED.name, suffix)
        # A key of one column is its value as text, a key of several a JSON array of them.
        values = ", ".join(f"""json_extract_scalar(e.event, '$["{column}"]')""" for column in table.key)
        key = values if len(table.key) == 1 else f"json_format(CAST(ARRAY[{values}] AS JSON))"
        sql = _KEY.sub(lambda _: f"{key} AS row_key", named.sql)
        return replace(named, sql=_TOPIC.sub(lambda _: f"e.topic = '{table.topic}'", sql))
    if query.of == "history":
        if not table.history:
            return None
        named = _of_one(query, database, table.history, suffix)
        columns = ", ".join(f"h.{history.column(lake_name(name))}" for name in table.key)
        return replace(named, sql=named.sql.replace(_PARTITION, f"PARTITION BY {columns}"))
    return _of_one(query, database, table.table, suffix) if table.outbox or query.of == "each" else None


def _of_one(query: Query, database: str, table: str, suffix: str = "") -> NamedQuery:
    return NamedQuery(
        name=f"{query.name}{suffix}",
        description=query.description,
        sql=query.sql(database, dict.fromkeys(query.names, table)),
        tables=(table,),
        parameters=query.parameters,
    )


def _of_examples(
    query: Query, needed: RequiredTables, database: str, captured: tuple[Queried, ...]
) -> Iterator[NamedQuery]:
    pipelines = dict.fromkeys(table.pipeline for table in captured if table.example == needed.example)
    for pipeline in pipelines:
        there = {table.source: table.table for table in captured if table.pipeline == pipeline}
        if not set(needed.tables.values()) <= set(there):
            continue
        suffix = "" if pipeline == needed.example else f"_{pipeline}"
        read = {name: there[source] for name, source in needed.tables.items()}
        writes = query.writes.called(f"{query.writes.name}{suffix}") if query.writes else None
        yield NamedQuery(
            name=f"{query.name}{suffix}",
            description=query.description,
            sql=query.sql(database, read | ({query.writes.name: writes.name} if query.writes and writes else {})),
            tables=tuple(read.values()),
            parameters=query.parameters,
            writes=writes,
        )
