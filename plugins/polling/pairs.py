"""Pairs of connectors, by name: JDBC sources that poll PostgreSQL, and the S3 sinks of what they write.

Three kinds, as in docs/your-database/kafka-connect.md: whole tables as they are, one table with keys and fields of its
own, and a query whose rows land as Parquet. A worker takes each configuration by `PUT /connectors/<name>/config`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plugins.connector_settings import SinkSettings
from plugins.polling.jdbc_settings import AIVEN, JdbcSourceSettings, PolledDatabase, PolledQuery, PolledTable
from plugins.polling.jdbc_source import alike, jdbc_source
from plugins.record_steps import Step, insert_topic, insert_values, key_of, rename
from plugins.sink.parquet_sink import parquet_sink
from plugins.sink.sink_connector import sink_connector

# Configurations by their connectors' names.
Connectors = dict[str, dict[str, str]]
TOPIC_FIELD = "message_topic"
SOURCE_FIELD = "message_source"
# Between the prefix and the table in the topics of the second kind: no topic of the first is called so.
KEYED = "keyed"
QUERY = "query"


@dataclass(frozen=True, kw_only=True)
class Polling:
    """What the pairs of one database share. `name` begins the connectors' names, `topic_prefix` the topics'.

    Objects land in `bucket` under `prefix`, as of every S3 sink.
    """

    name: str
    database: PolledDatabase
    topic_prefix: str
    bucket: str
    prefix: str
    region: str
    endpoint: str | None = None
    tasks_max: int = 1
    replicas: int = 3
    poll_interval_ms: int = 5_000
    delay_ms: int = 5_000
    connector_class: str = field(default=AIVEN)

    def source(
        self,
        name: str,
        polled: tuple[PolledTable, ...] | PolledQuery,
        *,
        prefix: str,
        steps: tuple[Step, ...] = (),
        with_schemas: bool = False,
    ) -> JdbcSourceSettings:
        """Return the settings of one source. Raises ValueError for what it can't poll."""
        return JdbcSourceSettings(
            name=f"{self.name}-{name}-source",
            database=self.database,
            topic_prefix=prefix,
            polled=polled,
            steps=steps,
            with_schemas=with_schemas,
            tasks_max=self.tasks_max,
            replicas=self.replicas,
            poll_interval_ms=self.poll_interval_ms,
            delay_ms=self.delay_ms,
            connector_class=self.connector_class,
        )

    def sink(self, name: str, topics: Sequence[str]) -> SinkSettings:
        """Return the settings of the sink of these topics, which it reads by their names."""
        return SinkSettings(
            name=f"{self.name}-{name}-sink",
            topics=tuple(topics),
            bucket=self.bucket,
            prefix=self.prefix,
            region=self.region,
            endpoint=self.endpoint,
            tasks_max=self.tasks_max,
        )


def whole_tables(polling: Polling, tables: Sequence[PolledTable]) -> Connectors:
    """Return sources of whole tables, and the one sink of their JSON lines.

    A connector has one key's name for all its tables: those of another one get a source of their own.
    """
    sources = [
        polling.source(f"{group[0].schema}-{group[0].key}", group, prefix=polling.topic_prefix)
        for group in alike(tables)
    ]
    sink = polling.sink("tables", [topic for source in sources for topic in source.topics])
    return {source.name: jdbc_source(source) for source in sources} | {sink.name: sink_connector(sink)}


def keyed_table(polling: Polling, table: PolledTable) -> Connectors:
    """Return a source of one table whose records have its key, their topic and their database, and its JSON sink."""
    steps = (
        *key_of(table.key),
        insert_topic(TOPIC_FIELD),
        *insert_values({SOURCE_FIELD: polling.database.name}),
    )
    prefix = f"{polling.topic_prefix}.{KEYED}"
    source = polling.source(f"{KEYED}-{table.table}", (table,), prefix=prefix, steps=steps)
    sink = polling.sink(f"{KEYED}-{table.table}", source.topics)
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

    The sink renames fields (`renames`), adds `values` and names folders by `folder`, a field by its name there. What
    such folders have lost is in the warnings of `parquet_sink.parquet_statement`.
    """
    steps = (*key_of(query.key), insert_topic(TOPIC_FIELD))
    prefix = f"{polling.topic_prefix}.{QUERY}"
    source = polling.source(f"{QUERY}-{query.name}", query, prefix=prefix, steps=steps, with_schemas=True)
    sink = polling.sink(f"{QUERY}-{query.name}", source.topics)
    changes = (*rename(renames or {}), *insert_values(values or {}))
    return {source.name: jdbc_source(source), sink.name: parquet_sink(sink, steps=changes, folder=folder)}
