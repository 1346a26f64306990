"""The connectors that poll a pipeline's database on a Kafka Connect worker; plugins/ builds their configurations.

For users with such a worker. The tables are the same that the job itself queries (JdbcSource), which loses none of the
changes that these connectors can't see (docs/your-database/kafka-connect.md).
"""

from collections.abc import Mapping, Sequence

from plugins.polling.jdbc_settings import PolledQuery, PolledTable, Polling
from plugins.polling.jdbc_source import Connectors, joined_rows, keyed_table, whole_tables
from plugins.polling.joined_query import stamped
from settings.pipeline import CapturedTableSettings, Pipeline

STAMP = "last_update"


def polling_connectors(
    pipeline: Pipeline,
    polling: Polling,
    *,
    keyed: Sequence[str] = (),
    stamps: Mapping[str, Sequence[str]] | None = None,
    renames: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
    folder: str | None = None,
) -> Connectors:
    """Return the configurations for a queried pipeline, by their connectors' names.

    A table's changes are found by its `column`, by STAMP if it has none. `keyed` names tables that get a pair of
    their own, with keys and fields. `stamps`: a query's name → the stamps of the tables that it joins, whose newest
    becomes its column STAMP; a query not named there already has such a column. The rest is `joined_rows`'.
    Raises ValueError for a pipeline that isn't queried, an unknown name, and changes that polls would miss.
    """
    if not pipeline.is_queried:
        raise ValueError(f"pipeline {pipeline.name} is captured by the log or the outbox: Debezium reads it")
    stamps = stamps or {}
    _check_names(pipeline, keyed, stamps)
    tables = [PolledTable.of(table.captured, table.column or STAMP) for table in pipeline.tables if not table.query]
    connectors = whole_tables(polling, tables) if tables else {}
    queries = [_query(entry, entry.query, stamps.get(entry.table_name)) for entry in pipeline.tables if entry.query]
    for pair in (
        *(keyed_table(polling, table) for table in tables if table.name in keyed),
        *(joined_rows(polling, query, renames=renames, values=values, folder=folder) for query in queries),
    ):
        if twice := sorted(pair.keys() & connectors.keys()):
            raise ValueError(
                f"two connectors would be called {twice[0]}: leave out a table, or give a query another name"
            )
        connectors |= pair
    return connectors


def _query(table: CapturedTableSettings, query: str, stamps: Sequence[str] | None) -> PolledQuery:
    if len(table.key) != 1:
        raise ValueError(f"{table.name}: rows of one stamp are told apart by one column, and its key has not one")
    rows = stamped(query, stamps, STAMP) if stamps else query
    return PolledQuery(name=table.table_name, query=rows, key=table.key[0], stamp=STAMP)


def _check_names(pipeline: Pipeline, keyed: Sequence[str], stamps: Mapping[str, Sequence[str]]) -> None:
    tables = {table.name for table in pipeline.tables if not table.query}
    queries = {table.table_name for table in pipeline.tables if table.query}
    if unknown := sorted({*keyed} - tables):
        raise ValueError(f"keyed: {unknown[0]!r} isn't a table of pipeline {pipeline.name}")
    if unknown := sorted({*stamps} - queries):
        raise ValueError(f"stamps: {unknown[0]!r} isn't a query of pipeline {pipeline.name}")
