"""The S3 sink's configuration, shared by the local platform and MSK Connect.

Kafka Connect's string-to-string configuration (without `name`, which is `settings.name`) with the property names of the
Lenses S3 sink 11.7.
"""

from contract.sizes import SizeLimits
from plugins.connector_properties import SHORTEST_SESSION_MS, converters, override, session
from plugins.connector_settings import SinkSettings
from plugins.sink.kcql import build_all
from plugins.sink.sink_properties import ASSIGNMENT, CONNECTOR_CLASS, ROUND_ROBIN


def sink_connector(settings: SinkSettings) -> dict[str, str]:
    """Configure the Lenses S3 sink: the topics' values as JSON lines. Exactly-once, the default, stays on."""
    return {
        "connector.class": CONNECTOR_CLASS,
        "tasks.max": str(settings.tasks_max),
        "topics": ",".join(settings.topics),
        "connect.s3.kcql": build_all(settings.statements),
        "connect.s3.aws.region": settings.region,
        "connect.s3.aws.auth.mode": "Default",
        # A tombstone kills the task if there are partition folders.
        "connect.s3.skip.null.values": "true",
        # Retries S3 for an hour; the default stops the task at the first error.
        "connect.s3.error.policy": "RETRY",
        "connect.s3.retry.interval": "10000",
        "connect.s3.max.retries": "360",
        **_endpoint(settings.endpoint),
        **_sink_errors(settings),
        **override("consumer", SizeLimits(settings.largest_event_bytes).sink(settings.heap_bytes)),
        # A misspelt topic stays missing, even if the brokers auto-create topics.
        "consumer.override.allow.auto.create.topics": "false",
        # A dead consumer holds its partitions for the session timeout.
        **override("consumer", session(SHORTEST_SESSION_MS)),
        **_assignment(settings),
        **converters(),
    }


def _assignment(settings: SinkSettings) -> dict[str, str]:
    """Spread single-partition topics over the tasks: by default (ranges per topic) the first task would get all."""
    return {ASSIGNMENT: ROUND_ROBIN} if len(settings.topics) > 1 else {}


def _endpoint(endpoint: str | None) -> dict[str, str]:
    if endpoint is None:
        return {}
    return {"connect.s3.custom.endpoint": endpoint, "connect.s3.path.style.access": "true"}


def _sink_errors(settings: SinkSettings) -> dict[str, str]:
    # Messages hold customers' data: they stay out of the logs.
    log = {"errors.log.enable": "true", "errors.log.include.messages": "false"}
    if settings.dead_letter_topic is None:
        return {"errors.tolerance": "none", **log}
    return {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": settings.dead_letter_topic,
        "errors.deadletterqueue.context.headers.enable": "true",
        # A record small enough for its topic is small enough for this one.
        **override("producer", SizeLimits(settings.largest_event_bytes).producer),
        **log,
    }
