"""A JDBC source's configuration, for `PUT /connectors/<name>/config`: tables or a query, polled by a timestamp.

Kafka Connect's string-to-string configuration (without `name`, which is `settings.name`) with the property names of
Aiven's JDBC source 6, which Confluent's shares. docs/decisions/0096 explains the values.
"""

from collections.abc import Iterable
from itertools import groupby

from contract.sizes import LARGEST_EVENT_BYTES, SizeLimits
from plugins.connector_properties import converters, override
from plugins.kafka.topics import EVENT_PARTITIONS, IN_SYNC, event_topic, in_sync_of
from plugins.polling.jdbc_settings import JdbcSourceSettings, Polled, PolledQuery, PolledTable
from plugins.polling.joined_query import polled
from plugins.smt import properties

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


def alike(tables: Iterable[PolledTable]) -> list[tuple[PolledTable, ...]]:
    """Group the tables so that one connector can poll each group."""

    def alike_by(table: PolledTable) -> tuple[str, str, str]:
        return table.schema, table.key, table.stamp

    return [tuple(group) for _, group in groupby(sorted(tables, key=alike_by), alike_by)]


def _rows(settings: JdbcSourceSettings) -> dict[str, str]:
    """Return what is polled, and by which columns: a missing key would be guessed or silently left out."""
    by: Polled
    if isinstance(settings.polled, PolledQuery):
        by = settings.polled
        rows = {"query": polled(by.query), "topic.prefix": settings.topics[0]}
    else:
        by = first = settings.polled[0]
        rows = {
            "schema.pattern": pattern_of(first.schema),
            "table.whitelist": ",".join(table.table for table in settings.polled),
            "topic.prefix": f"{settings.topic_prefix}.{first.schema}.",
            # A row whose stamp is null would never arrive.
            "validate.non.null": "true",
        }
    return {**rows, "mode": MODE, "timestamp.column.name": by.stamp, "incrementing.column.name": by.key}


def pattern_of(schema: str) -> str:
    r"""Return the pattern that matches one schema alone: `_` and `%` are wildcards, `\_` and `\%` literal."""
    return schema.replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%")


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
        return {name: "true" if name.endswith("schemas.enable") else value for name, value in converters().items()}
    # Decimals that best_fit doesn't convert would be Base64.
    return {**converters(), "value.converter.decimal.format": "NUMERIC"}
