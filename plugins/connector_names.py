"""What the connectors' topics and consumer groups are called, by Debezium and Kafka Connect or by us."""

from contract import source
from plugins.source.captured import CapturedTable

OUTBOX = CapturedTable(schema=source.SCHEMA, table=source.OUTBOX_TABLE)
EVENTS_TABLE = OUTBOX.name
# Stands for the source's generation, which is known when it is deployed (docs/decisions/0034).
GENERATION = "@generation@"


def events_topic(topic_prefix: str) -> str:
    """Name the topic that the outbox table's events go to."""
    return OUTBOX.topic(topic_prefix)


def heartbeat_topic(topic_prefix: str) -> str:
    """Name the topic that Debezium's heartbeats go to (`topic.heartbeat.prefix` is the default)."""
    return f"__debezium-heartbeat.{topic_prefix}"


def offset_topic(connector: str, generation: str | None = None) -> str:
    """Name the topic of a source connector's offsets on AWS: ours, so they survive a connector that is made anew.

    `generation` is another one when the slot is (docs/decisions/0034); `*` stands for any.
    """
    return f"__cdc_lake_offsets_{connector}" + (f"-{generation}" if generation else "")


def sink_group(connector: str) -> str:
    return f"connect-{connector}"


def workers_topics(connector: str) -> tuple[str, str]:
    """Name the topics in which workers of ours keep a connector's configuration, and its status."""
    return f"__cdc_lake_configs_{connector}", f"__cdc_lake_status_{connector}"


def workers_group(connector: str) -> str:
    """Name the group by which workers of ours find one another."""
    return f"cdc-lake-workers-{connector}"
