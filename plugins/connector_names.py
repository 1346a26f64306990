"""Names of the connectors' topics and consumer groups, as chosen by Debezium, Kafka Connect or us."""

from contract import source
from plugins.source.captured import CapturedTable

OUTBOX = CapturedTable(schema=source.SCHEMA, table=source.OUTBOX_TABLE)
EVENTS_TABLE = OUTBOX.name
# Placeholder for the source's generation, which is known at deployment (docs/decisions/0034).
GENERATION = "@generation@"
# Fields of CreateConnector's request that UpdateConnector can't change: our handler recreates the connector.
FIXED = (
    "kafkaCluster",
    "kafkaClusterClientAuthentication",
    "kafkaClusterEncryptionInTransit",
    "kafkaConnectVersion",
    "logDelivery",
    "networkType",
    "serviceExecutionRoleArn",
)


def heartbeat_topic(topic_prefix: str) -> str:
    """Return the topic of Debezium's heartbeats (`topic.heartbeat.prefix` is the default)."""
    return f"__debezium-heartbeat.{topic_prefix}"


def offset_topic(connector: str, generation: str | None = None) -> str:
    """Return the topic of a source connector's offsets on AWS: ours, so they survive the connector's replacement.

    `generation` changes with the slot (docs/decisions/0034); `*` stands for any.
    """
    return f"__cdc_lake_offsets_{connector}" + (f"-{generation}" if generation else "")


def sink_group(connector: str) -> str:
    return f"connect-{connector}"


def workers_topics(connector: str) -> tuple[str, str]:
    """Return the topics in which our own workers keep a connector's configuration and status."""
    return f"__cdc_lake_configs_{connector}", f"__cdc_lake_status_{connector}"


def workers_group(connector: str) -> str:
    """Return the group with which our own workers find one another."""
    return f"cdc-lake-workers-{connector}"
