"""The settings of a pipeline's connectors on MSK Connect; plugins/ turns them into configurations."""

import math
from typing import Any

from contract import rds_ca
from contract.sizes import MCU_HEAP_BYTES
from contract.source import SIGNAL, heartbeat_statement, own_schema
from plugins.connector_names import GENERATION, offset_topic
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topics import PlannedTopic, planned_topics
from plugins.sink import kcql
from plugins.sink.sink_connector import sink_connector
from plugins.source.source_connector import SALT_PROPERTY, source_connector
from plugins.workers.connect_workers import only_in_utf8
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.pipeline import Pipeline

# Placeholders for values known at deployment: stacks/connectors/ replaces them with tokens.
_HOSTNAME = "database.endpoint"
_PASSWORD = "${secretsmanager:connector:password}"  # noqa: S105  a reference
# Name of the certificate of the database's authority on the source plugin's class path.
ROOT_CERTIFICATE = "rds-ca.pem"


def source_settings(environment: Environment, pipeline: EnvironmentPipeline) -> SourceSettings:
    """Return Debezium's settings; the password's reference is a placeholder, as is our own cluster's host name."""
    source, outside = pipeline.captured.source, pipeline.database
    return SourceSettings(
        name=f"{environment.prefix}-{pipeline.name}-source",
        database_hostname=outside.host if outside else _HOSTNAME,
        database_port=outside.port if outside else SourceSettings.database_port,
        database_name=pipeline.database_name,
        database_user=pipeline.connector_role,
        database_password=_PASSWORD,
        database_sslmode=outside.sslmode if outside else "verify-full",
        database_root_certificate=None if outside and not outside.is_verified else ROOT_CERTIFICATE,
        topic_prefix=pipeline.prefix,
        publication_name=source.publication,
        slot_name=source.slot,
        largest_event_bytes=environment.streaming.largest_event_bytes,
        **captured_tables(pipeline.captured),
    )


def root_certificate(environment: Environment, pipeline: EnvironmentPipeline) -> dict[str, str]:
    """Return the file that verifies the database's server, by its name; none if it isn't verified.

    Raises ValueError for a server with an unknown authority.
    """
    outside = pipeline.database
    authority = outside.authority if outside else rds_ca.root(environment.region)
    return {ROOT_CERTIFICATE: authority} if authority else {}


def sink_settings(environment: Environment, pipeline: EnvironmentPipeline) -> SinkSettings:
    """Return the S3 sink's settings, from the pipeline's KCQL if it has one. Raises ValueError for a wrong one."""
    sink = pipeline.sink
    # When a worker is lost, the others run its tasks until it is replaced.
    tasks_of_a_worker = math.ceil(sink.tasks / max(1, sink.workers - 1))
    bucket = environment.bucket_name("landing")
    topics = source_settings(environment, pipeline).topics
    if sink.kcql is None:
        statement = kcql.Kcql(
            bucket=bucket,
            prefix=pipeline.landing_prefix,
            topic=topics[0],
            flush_interval_seconds=sink.flush_interval_seconds,
            flush_count=sink.flush_count,
            partition_by=sink.partition_by,
        )
    else:
        statement = kcql.parse(sink.kcql.replace("{landing}", bucket))
        topics = (statement.topic,)
    return SinkSettings(
        name=f"{environment.prefix}-{pipeline.name}-sink",
        topics=topics,
        bucket=statement.bucket,
        prefix=statement.prefix,
        region=environment.region,
        flush_interval_seconds=statement.flush_interval_seconds,
        flush_count=statement.flush_count,
        flush_bytes=statement.flush_bytes,
        partition_by=statement.partition_by,
        tasks_max=sink.tasks,
        dead_letter_topic=sink.dead_letter_topic,
        largest_event_bytes=environment.streaming.largest_event_bytes,
        heap_bytes=sink.mcu_per_worker * MCU_HEAP_BYTES // tasks_of_a_worker,
    )


def source_configuration(
    environment: Environment, pipeline: EnvironmentPipeline, *, password: str, hostname: str, salt: str | None
) -> dict[str, str]:
    """Return a source connector's whole configuration.

    `password` and `salt` are references to secrets, the salt's only where columns are hashed; `hostname` is our own
    cluster's.
    """
    configuration = source_connector(source_settings(environment, pipeline)) | {"database.password": password}
    if pipeline.database is None:
        configuration["database.hostname"] = hostname
    if salt is not None:
        configuration[SALT_PROPERTY] = salt
    return _checked(environment, configuration | pipeline.source.configuration)


def sink_configuration(environment: Environment, pipeline: EnvironmentPipeline) -> dict[str, str]:
    """Return a sink connector's whole configuration."""
    configuration = sink_connector(sink_settings(environment, pipeline))
    return _checked(environment, configuration | pipeline.sink.configuration)


def _checked(environment: Environment, configuration: dict[str, str]) -> dict[str, str]:
    """Validate the worker's charset if we don't start its JVM ourselves."""
    return configuration if environment.eks else only_in_utf8(configuration)


def topics(environment: Environment, pipeline: EnvironmentPipeline) -> tuple[PlannedTopic, ...]:
    """Return a pipeline's topics, with GENERATION in the name of the offsets' topic.

    Raises ValueError for settings that contradict one another.
    """
    source = source_settings(environment, pipeline)
    return planned_topics(
        source,
        sink_settings(environment, pipeline),
        brokers=environment.streaming.brokers,
        retention_hours=environment.streaming.topic_retention_hours,
        offsets=offset_topic(source.name, GENERATION),
    )


def captured_tables(pipeline: Pipeline) -> dict[str, Any]:
    """Return SourceSettings' arguments on a pipeline's tables: which, and what moves the slot and starts snapshots."""
    tables = tuple(table.captured for table in pipeline.tables)
    if pipeline.outbox is not None:
        # Its own schema has the heartbeat, whose procedure also sends what the outbox has queued.
        return {"tables": tables}
    schema = own_schema(pipeline.name)
    return {
        "tables": tables,
        "heartbeat_query": heartbeat_statement(schema),
        "signal_table": f"{schema}.{SIGNAL}",
    }
