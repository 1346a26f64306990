"""The named queries: Athena's SQL from `analytics/sql/`, with an environment's database and tables in it.

A file is SQL that can be read, and run, as it stands: its tables stand as `database.table` behind FROM, JOIN or INTO,
and another environment's or pipeline's take their places. The pipelines say which tables there are: the caller
gives them (`Queried`). A query is there where they have what it reads, and nowhere else.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from analytics import landed_table, quarantine_table
from analytics.silver_table import CUSTOMER_ADDRESSES, SilverTable
from contract import events, history
from contract.history import SUFFIX
from contract.source import OUTBOX_TABLE
from contract.table_names import lake_name

SQL_FOLDER = Path(__file__).resolve().parent / "sql"
# Where a file names its tables.
_TABLE = re.compile(r"\b(FROM|JOIN|INTO) \w+\.(\w+)\b")
_MARK = re.compile(r"\?")
# Where a file of what has landed names the key and the topic of the table that it is of.
_KEY = re.compile(r"""json_extract_scalar\(e\.event, '\$\["\w+"\]'\) AS row_key""")
_TOPIC = re.compile(r"e\.topic = '[^']+'")
# Where a file of versions names the key of the table that they are of.
_PARTITION = "PARTITION BY h.order_id"
# What a file calls events' fields, and what they are called.
_FIELDS = {
    "__op": events.OPERATION,
    "__lsn": events.LSN,
    "__source_ts_ms": events.SOURCE_TIME_MS,
}
# Names whose fields in events are called so, and that a path in JSON takes as they are.
_PLAIN = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A `?` of a query's SQL: what to put there, and an example as Athena takes it, quotes included."""

    name: str
    description: str
    example: str


@dataclass(frozen=True, kw_only=True)
class RequiredTables:
    """What a query of several tables reads: those of an example, by their names in the query's file.

    The values are the source's names, `schema.table`. Other databases have tables of these names, too, with other
    columns: the pipeline's file says that it is the example.
    """

    example: str
    tables: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query as its file says it.

    `of`: the outbox's table, each captured table, what landed of each table with a key, each table's history, the
    quarantine's table, or the tables that it needs. `writes`: the declared table that the statement adds rows to; the
    others only ask.
    """

    name: str
    of: Literal["outbox", "each", "landed", "history", "quarantine"] | RequiredTables
    parameters: tuple[Parameter, ...] = ()
    writes: SilverTable | None = None

    @property
    def text(self) -> str:
        """The file, comments included."""
        return (SQL_FOLDER / f"{self.name}.sql").read_text(encoding="utf-8")

    @property
    def description(self) -> str:
        """The file's first line, without the signs of a comment."""
        return self.text.partition("\n")[0].removeprefix("-- ")

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that the file names."""
        return tuple(dict.fromkeys(name for _, name in _TABLE.findall(self._statement)))

    def sql(self, database: str, tables: Mapping[str, str]) -> str:
        """Return the statement, without its comments, on these tables by their names in the file."""
        return _TABLE.sub(lambda found: f'{found[1]} "{database}"."{tables[found[2]]}"', self._statement)

    @property
    def _statement(self) -> str:
        return "\n".join(line for line in self.text.splitlines() if not line.startswith("--"))


@dataclass(frozen=True, kw_only=True)
class Queried:
    """A captured table: its name in the lake, and whether it is the outbox's, a row for each order.

    `source` is its name there, `schema.table`, `pipeline` which one captures it, `example` the sample data that this
    one's file names, if any. `topic` is where its events travel, `key` the columns that identify a row, `history` the
    table that has their versions.
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

    `tables` are what it reads; `writes` is the table that it adds rows to, as it is called here.
    """

    name: str
    description: str
    sql: str
    database: str
    tables: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()
    writes: SilverTable | None = None


COMMIT = Parameter(
    name="commit",
    description="a commit's time in UTC, yyyyMMddHHmmssSSS, or its beginning",
    example="'20260101'",
)
_ADDRESSES = {
    "pagila_address": "public.address",
    "pagila_city": "public.city",
    "pagila_country": "public.country",
}
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
    """Return what there is to ask of an environment's tables; the same names for the same tables.

    A query's name is its file's; of a table other than the outbox's usual one it has the table's behind it, and of
    another pipeline than the example's own the pipeline's.
    """
    captured = tuple(tables)
    return tuple(named for query in QUERIES for named in _named(query, database, captured))


def _named(query: Query, database: str, captured: tuple[Queried, ...]) -> Iterator[NamedQuery]:
    if isinstance(query.of, RequiredTables):
        yield from _of_examples(query, query.of, database, captured)
    elif query.of == "quarantine":
        yield _of_one(query, database, quarantine_table.NAME, usual=quarantine_table.NAME)
    else:
        yield from filter(None, (_of_table(query, database, table) for table in captured))


def _of_table(query: Query, database: str, table: Queried) -> NamedQuery | None:
    """The query of one captured table; None where it has none."""
    if query.of == "landed":
        has_key = table.topic and table.key and all(map(_PLAIN.fullmatch, table.key))
        return _of_landed(query, database, table) if has_key else None
    if query.of == "history":
        return _of_history(query, database, table) if table.history else None
    return _of_one(query, database, table.table, usual=OUTBOX_TABLE) if table.outbox or query.of == "each" else None


def _of_one(query: Query, database: str, table: str, *, usual: str) -> NamedQuery:
    return NamedQuery(
        name=query.name if table == usual else f"{query.name}_{table}",
        description=query.description,
        sql=query.sql(database, dict.fromkeys(query.names, table)),
        database=database,
        tables=(table,),
        parameters=query.parameters,
    )


def _of_landed(query: Query, database: str, table: Queried) -> NamedQuery:
    named = _of_one(query, database, landed_table.NAME, usual=landed_table.NAME)
    sql = _KEY.sub(lambda _: f"{_key_of(table.key)} AS row_key", named.sql)
    for name, field in _FIELDS.items():
        sql = sql.replace(f'$["{name}"]', f'$["{field}"]')
    return replace(
        named,
        name=query.name if table.table == OUTBOX_TABLE else f"{query.name}_{table.table}",
        sql=_TOPIC.sub(lambda _: f"e.topic = '{table.topic}'", sql),
    )


def _of_history(query: Query, database: str, table: Queried) -> NamedQuery:
    named = _of_one(query, database, table.history, usual=f"{OUTBOX_TABLE}{SUFFIX}")
    columns = ", ".join(f"h.{history.column(lake_name(name))}" for name in table.key)
    return replace(
        named,
        name=query.name if table.table == OUTBOX_TABLE else f"{query.name}_{table.table}",
        sql=named.sql.replace(_PARTITION, f"PARTITION BY {columns}"),
    )


def _key_of(columns: tuple[str, ...]) -> str:
    """A key of one column is its value as text, one of several a JSON array of them."""
    values = [f"""json_extract_scalar(e.event, '$["{column}"]')""" for column in columns]
    if len(values) == 1:
        return values[0]
    return f"json_format(CAST(ARRAY[{', '.join(values)}] AS JSON))"


def _of_examples(
    query: Query, needed: RequiredTables, database: str, captured: tuple[Queried, ...]
) -> Iterator[NamedQuery]:
    """The query of each pipeline of the example that captures all it needs."""
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
            database=database,
            tables=tuple(read.values()),
            parameters=query.parameters,
            writes=writes,
        )


def marks(sql: str) -> int:
    """Count the parameters that a query's SQL has."""
    return len(_MARK.findall(sql))
