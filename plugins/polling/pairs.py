"""Pairs of connectors, by name: JDBC sources that poll PostgreSQL, and the S3 sinks of their output.

Three kinds, as in docs/your-database/kafka-connect.md: whole tables unchanged, one table with its own keys and fields,
and a query whose rows land as Parquet. A worker takes each configuration through `PUT /connectors/<name>/config`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from plugins.connector_settings import SinkSettings
from plugins.polling.jdbc_settings import JdbcSourceSettings, PolledQuery, PolledTable, Polling
from plugins.polling.jdbc_source import alike, jdbc_source
from plugins.sink.parquet_sink import parquet_sink
from plugins.sink.sink_connector import sink_connector
from plugins.smt import insert_topic, insert_values, key_of, rename

# Configurations by their connectors' names.
Connectors = dict[str, dict[str, str]]
TOPIC_FIELD = "message_topic"
SOURCE_FIELD = "message_source"
# Between prefix and table in the second kind's topics: none of the first kind's has it.
KEYED = "keyed"
QUERY = "query"


def whole_tables(polling: Polling, tables: Sequence[PolledTable]) -> Connectors:
    """Return sources of whole tables, and the one sink of their JSON lines.

    A connector has one key's name for all its tables: tables with another one get their own source.
    """
    sources = [
        _source(polling, f"{group[0].schema}-{group[0].key}", group, polling.topic_prefix) for group in alike(tables)
    ]
    sink = _sink(polling, "tables", [topic for source in sources for topic in source.topics])
    return {source.name: jdbc_source(source) for source in sources} | {sink.name: sink_connector(sink)}


def keyed_table(polling: Polling, table: PolledTable) -> Connectors:
    """Return a source of one table whose records have its key, their topic and their database, and its JSON sink."""
    steps = (
        *key_of(table.key),
        insert_topic(TOPIC_FIELD),
        *insert_values({SOURCE_FIELD: polling.database.name}),
    )
    prefix = f"{polling.topic_prefix}.{KEYED}"
    source = _source(polling, f"{KEYED}-{table.table}", (table,), prefix, steps=steps)
    sink = _sink(polling, f"{KEYED}-{table.table}", source.topics)
    return {source.name: jdbc_source(source), sink.name: sink_connector(sink)}


def joined_rows(
    polling: Polling,
    query: PolledQuery,
    *,
    renames: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
    folder: str | None = None,
) -> Connectors:
    """Return a source of a query's rows, with key and topic, and the sink of their Parquet files.

    The sink renames fields (`renames`), adds `values` and names folders by `folder`, a field under its new name.
    `parquet_sink.parquet_statement`'s warnings describe what such folders have lost.
    """
    steps = (*key_of(query.key), insert_topic(TOPIC_FIELD))
    prefix = f"{polling.topic_prefix}.{QUERY}"
    source = _source(polling, f"{QUERY}-{query.name}", query, prefix, steps=steps, with_schemas=True)
    sink = _sink(polling, f"{QUERY}-{query.name}", source.topics)
    changes = (*rename(renames or {}), *insert_values(values or {}))
    return {source.name: jdbc_source(source), sink.name: parquet_sink(sink, steps=changes, folder=folder)}


def _source(
    polling: Polling, name: str, polled: tuple[PolledTable, ...] | PolledQuery, topic_prefix: str, **more: Any
) -> JdbcSourceSettings:
    return JdbcSourceSettings(
        name=f"{polling.name}-{name}-source", polling=polling, topic_prefix=topic_prefix, polled=polled, **more
    )


def _sink(polling: Polling, name: str, topics: Sequence[str]) -> SinkSettings:
    return SinkSettings(
        name=f"{polling.name}-{name}-sink",
        topics=tuple(topics),
        bucket=polling.bucket,
        prefix=polling.prefix,
        region=polling.region,
        endpoint=polling.endpoint,
        tasks_max=polling.tasks_max,
    )
