"""A JDBC source's configuration, for `PUT /connectors/<name>/config`: tables or a query, polled by a timestamp.

Kafka Connect's string-to-string configuration (without `name`, which is `settings.name`) with the property names of
Aiven's JDBC source 6, which Confluent's shares. docs/decisions/0096 explains the values.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from contract.sizes import LARGEST_EVENT_BYTES, SizeLimits
from plugins.connector_properties import CONVERTERS, insert_topic, insert_values, key_of, override, properties, rename
from plugins.connector_settings import SinkSettings
from plugins.kafka.topics import EVENT_PARTITIONS, IN_SYNC, event_topic, in_sync_of
from plugins.polling.jdbc_settings import JdbcSourceSettings, Polled, PolledQuery, PolledTable, Polling
from plugins.polling.joined_query import polled
from plugins.sink.sink_connector import parquet_sink, sink_connector

MODE = "timestamp+incrementing"
# A week.
RETENTION_HOURS = 168
# An unavailable database is retried for an hour, as the S3 sink retries S3.
CONNECTION_ATTEMPTS, CONNECTION_BACKOFF_MS = 360, 10_000


def jdbc_source(settings: JdbcSourceSettings) -> dict[str, str]:
    """Configure a JDBC source that resumes where it stopped, even among rows that share a stamp."""
    polling, database = settings.polling, settings.polling.database
    return {
        "connector.class": polling.connector_class,
        "tasks.max": str(min(polling.tasks_max, len(settings.topics))),
        "connection.url": database.url,
        "connection.user": database.user,
        "connection.password": database.password,
        "connection.attempts": str(CONNECTION_ATTEMPTS),
        "connection.backoff.ms": str(CONNECTION_BACKOFF_MS),
        "db.timezone": database.time_zone,
        **_rows(settings),
        "poll.interval.ms": str(polling.poll_interval_ms),
        "timestamp.delay.interval.ms": str(polling.delay_ms),
        "numeric.mapping": "best_fit",
        **properties(settings.steps),
        **_topic_creation(polling.replicas),
        **override("producer", SizeLimits().producer),
        # Rows hold customers' data: they stay out of the logs.
        "errors.log.enable": "true",
        "errors.log.include.messages": "false",
        **_converters(settings.with_schemas),
    }


def _rows(settings: JdbcSourceSettings) -> dict[str, str]:
    """Return what is polled, and by which columns: a missing key would be guessed or silently left out."""
    by: Polled
    if isinstance(settings.polled, PolledQuery):
        by = settings.polled
        rows = {"query": polled(by.query), "topic.prefix": settings.topics[0]}
    else:
        by = first = settings.polled[0]
        rows = {
            # `_` alone stands for any sign; a schema with `%` has no topic.
            "schema.pattern": first.schema.replace("_", r"\_"),
            "table.whitelist": ",".join(table.table for table in settings.polled),
            "topic.prefix": f"{settings.topic_prefix}.{first.schema}.",
            # A row whose stamp is null would never arrive.
            "validate.non.null": "true",
        }
    return {**rows, "mode": MODE, "timestamp.column.name": by.stamp, "incrementing.column.name": by.key}


def _topic_creation(replicas: int) -> dict[str, str]:
    """Let Connect create the topics: brokers don't auto-create them. One partition keeps changes in order."""
    config = {
        **event_topic(LARGEST_EVENT_BYTES, RETENTION_HOURS),
        IN_SYNC: str(in_sync_of(replicas)),
        "partitions": str(EVENT_PARTITIONS),
        "replication.factor": str(replicas),
    }
    return {f"topic.creation.default.{name}": value for name, value in config.items()}


def _converters(with_schemas: bool) -> dict[str, str]:
    if with_schemas:
        return {name: "true" if name.endswith("schemas.enable") else value for name, value in CONVERTERS.items()}
    # Decimals that best_fit doesn't convert would be Base64.
    return {**CONVERTERS, "value.converter.decimal.format": "NUMERIC"}


# Pairs of connectors, by name: JDBC sources that poll PostgreSQL, and the S3 sinks of their output.
#
# Three kinds, as in docs/your-database/kafka-connect.md: whole tables unchanged, one table with its own keys and
# fields, and a query whose rows land as Parquet. A worker takes each configuration through `PUT
# /connectors/<name>/config`.

# Configurations by their connectors' names.
Connectors = dict[str, dict[str, str]]
TOPIC_FIELD = "message_topic"
SOURCE_FIELD = "message_source"
# Between prefix and table in the second kind's topics: none of the first kind's has it.
KEYED = "keyed"
QUERY = "query"


def whole_tables(polling: Polling, tables: Sequence[PolledTable]) -> Connectors:
    """Return sources of whole tables, and the one sink of their JSON lines.

    A connector has one key's and one stamp's name for all its tables: tables with others get their own source.
    """
    shared = attrgetter("schema", "key", "stamp")
    groups = [tuple(group) for _, group in groupby(sorted(tables, key=shared), shared)]
    # The stamp listed first keeps the plain name, and so its offsets, when a table with another stamp is added.
    first = {f"{table.schema}-{table.key}": table.stamp for table in reversed(tables)}
    by = [(f"{group[0].schema}-{group[0].key}", group[0].stamp) for group in groups]
    names = [name if first[name] == stamp else f"{name}-{stamp}" for name, stamp in by]
    sources = [_source(polling, name, group, polling.topic_prefix) for name, group in zip(names, groups, strict=True)]
    sink = _sink(polling, "tables", [topic for source in sources for topic in source.topics])
    return {source.name: jdbc_source(source) for source in sources} | {sink.name: sink_connector(sink)}


def keyed_table(polling: Polling, table: PolledTable) -> Connectors:
    """Return a source of one table whose records have its key, their topic and their database, and its JSON sink."""
    steps = (*key_of(table.key), insert_topic(TOPIC_FIELD), *insert_values({SOURCE_FIELD: polling.database.name}))
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
    `sink_connector.parquet_statement`'s warnings describe what such folders have lost.
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
