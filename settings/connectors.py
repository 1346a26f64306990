"""The settings of both connectors on MSK Connect; plugins/connectors.py makes their configurations of them."""

from contract.lake import LANDING_PREFIX
from plugins import kcql
from plugins.connectors import GENERATION, SinkSettings, SourceSettings, events_topic, offset_topic
from plugins.topics import PlannedTopic, planned_topics
from plugins.versions import load_versions
from settings.environment import Environment

# Known only when deployed: connectors.py of this folder puts the tokens in their places.
_HOSTNAME = "database.endpoint"
_PASSWORD = "${secretsmanager:connector:password}"  # noqa: S105  a reference
# What the certificate of the database's authority is called on the source plugin's class path.
ROOT_CERTIFICATE = "rds-ca.pem"


def source_settings(environment: Environment) -> SourceSettings:
    """Debezium's settings; host name and password reference are placeholders."""
    return SourceSettings(
        name=f"{environment.prefix}-orders-source",
        database_hostname=_HOSTNAME,
        database_name=environment.database.name,
        database_password=_PASSWORD,
        database_sslmode="verify-full",
        database_root_certificate=ROOT_CERTIFICATE,
        topic_prefix=environment.connectors.topic_prefix,
        largest_event_bytes=environment.streaming.largest_event_bytes,
    )


def sink_settings(environment: Environment) -> SinkSettings:
    """The S3 sink's settings, from the environment's KCQL where it has one. Raises ValueError for a wrong one."""
    sink = environment.connectors.sink
    version = load_versions().lenses_s3.version
    bucket = environment.bucket_name("landing")
    if sink.kcql is None:
        statement = kcql.Kcql(
            bucket=bucket,
            prefix=LANDING_PREFIX,
            topic=events_topic(environment.connectors.topic_prefix),
            flush_interval_seconds=sink.flush_interval_seconds,
            flush_count=sink.flush_count,
            partition_by=sink.partition_by,
        )
    else:
        statement = kcql.parse(sink.kcql.replace("{landing}", bucket), version=version)
    return SinkSettings(
        name=f"{environment.prefix}-orders-sink",
        topics=(statement.topic,),
        bucket=statement.bucket,
        prefix=statement.prefix,
        region=environment.region,
        flush_interval_seconds=statement.flush_interval_seconds,
        flush_count=statement.flush_count,
        flush_bytes=statement.flush_bytes,
        partition_by=statement.partition_by,
        tasks_max=sink.tasks,
        dead_letter_topic=sink.dead_letter_topic,
        connector_version=version,
        largest_event_bytes=environment.streaming.largest_event_bytes,
    )


def topics(environment: Environment) -> tuple[PlannedTopic, ...]:
    """The topics of the environment's pipeline, with GENERATION in the name of the offsets' topic.

    Raises ValueError for settings that contradict one another.
    """
    source = source_settings(environment)
    return planned_topics(
        source,
        sink_settings(environment),
        brokers=environment.streaming.brokers,
        retention_hours=environment.streaming.topic_retention_hours,
        offsets=offset_topic(source.name, GENERATION),
    )
