"""The S3 sink's configuration, shared by the local platform and MSK Connect.

Kafka Connect's string-to-string configuration (without `name`, which is `settings.name`) with the property names of the
Lenses S3 sink 11.7.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from contract.sizes import SizeLimits
from plugins.allowed_properties import OF_SINKS, AllowedProperties
from plugins.connector_properties import CONVERTERS, SESSION, Transform, override, properties, to_header
from plugins.connector_settings import SinkSettings
from plugins.sink.kcql import SEPARATOR, Kcql, build, parse_all

# The properties allowed in the S3 sink's configuration: one list for the stand-in and for MSK Connect.
#
# The connector silently accepts settings that lose or change events: misspelt names, NOOP, tolerated errors without a
# dead-letter topic. Here each is refused by name; docs/decisions/0040 describes the real connector's behaviour.

CONNECTOR_CLASS = "io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector"
KCQL = "connect.s3.kcql"
ASSIGNMENT = "consumer.override.partition.assignment.strategy"
ROUND_ROBIN = "org.apache.kafka.clients.consumer.RoundRobinAssignor"

# Property → its required value, if it is set.
FIXED = {
    "connector.class": CONNECTOR_CLASS,
    **CONVERTERS,
    "connect.s3.aws.auth.mode": "Default",
    "connect.s3.exactly.once.enable": "true",
    "connect.s3.skip.null.values": "true",
    "errors.log.include.messages": "false",
    "consumer.override.allow.auto.create.topics": "false",
    ASSIGNMENT: ROUND_ROBIN,
}
REQUIRED = ("topics", KCQL, "connect.s3.aws.region")
# Properties whose names and meaning librdkafka shares with the Java client.
CONSUMER_PREFIX = "consumer.override."
CONSUMER_PROPERTIES = frozenset(
    {
        "fetch.max.bytes",
        "heartbeat.interval.ms",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "session.timeout.ms",
    }
)
# The dead-letter queue's producer: librdkafka's names for the Java client's.
PRODUCER_PREFIX = "producer.override."
PRODUCER_PROPERTIES = {
    "buffer.memory": "queue.buffering.max.kbytes",
    "compression.type": "compression.type",
    "max.request.size": "message.max.bytes",
}
_SWITCH = ("true", "false")
_TEXTS = frozenset({*REQUIRED, "connect.s3.custom.endpoint", "errors.deadletterqueue.topic.name", "name"})
# Properties that only we may set, not an environment.
_OURS = AllowedProperties(
    numbers=dict.fromkeys(
        (
            # Of Java's consumer alone.
            f"{CONSUMER_PREFIX}max.poll.records",
            *(CONSUMER_PREFIX + name for name in CONSUMER_PROPERTIES),
            *(PRODUCER_PREFIX + name for name in PRODUCER_PROPERTIES if name != "compression.type"),
            "tasks.max",
        ),
        (1, 2**31 - 1),
    ),
    words={
        **{name: (value,) for name, value in FIXED.items()},
        "connect.s3.path.style.access": _SWITCH,
        "errors.tolerance": ("none", "all"),
        "producer.override.compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    },
    why=dict.fromkeys(FIXED, "the job reads what is landed so"),
    refused={},
)


def problems(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield `(property, reason)` for everything wrong in a whole configuration, in one line each."""
    for name, value in config.items():
        known = OF_SINKS if name in OF_SINKS.names or name not in _OURS.names else _OURS
        if name not in _TEXTS and (reason := known.problem(name, value)):
            yield name, reason
    for name in REQUIRED:
        if name not in config:
            yield name, "is missing"
    if config.get("errors.tolerance") == "all" and not config.get("errors.deadletterqueue.topic.name"):
        yield "errors.tolerance", "all without errors.deadletterqueue.topic.name would lose values in silence"
    if KCQL in config:
        yield from _statements(config)


def _statements(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    try:
        statements = parse_all(config[KCQL])
    except ValueError as error:
        yield KCQL, str(error)
        return
    if "topics" not in config:
        return
    read, landed = config["topics"].split(","), [statement.topic for statement in statements]
    if len(read) == 1 and len(landed) == 1 and read != landed:
        yield "topics", f"{read[0]!r} isn't the KCQL's topic {landed[0]!r}"
        return
    for topic in read:
        # The task would fail at the first record of such a topic.
        if topic not in landed:
            yield "topics", f"no KCQL statement says where {topic!r} goes"
    for topic in landed:
        if topic not in read:
            yield "topics", f"lacks {topic!r}, which a KCQL statement lands: nothing would be read of it"
    if any(statement.partition_by for statement in statements[1:]) or (statements[0].partition_by and landed[1:]):
        yield KCQL, "PARTITIONBY goes with one topic alone: objects of several would share folders"


def sink_connector(settings: SinkSettings) -> dict[str, str]:
    """Configure the Lenses S3 sink: the topics' values as JSON lines. Exactly-once, the default, stays on."""
    endpoint = settings.endpoint
    custom = {"connect.s3.custom.endpoint": endpoint, "connect.s3.path.style.access": "true"} if endpoint else {}
    return {
        "connector.class": CONNECTOR_CLASS,
        "tasks.max": str(settings.tasks_max),
        "topics": ",".join(settings.topics),
        "connect.s3.kcql": f"{SEPARATOR} ".join(map(build, settings.statements)),
        "connect.s3.aws.region": settings.region,
        "connect.s3.aws.auth.mode": "Default",
        # A tombstone kills the task if there are partition folders.
        "connect.s3.skip.null.values": "true",
        # Retries S3 for an hour; the default stops the task at the first error.
        "connect.s3.error.policy": "RETRY",
        "connect.s3.retry.interval": "10000",
        "connect.s3.max.retries": "360",
        **custom,
        **_sink_errors(settings),
        **override("consumer", SizeLimits(settings.largest_event_bytes).sink(settings.heap_bytes)),
        # A misspelt topic stays missing, even if the brokers auto-create topics.
        "consumer.override.allow.auto.create.topics": "false",
        # A dead consumer holds its partitions for the session timeout.
        **override("consumer", SESSION),
        # Spread single-partition topics over the tasks: by default (ranges per topic) the first task would get all.
        **({ASSIGNMENT: ROUND_ROBIN} if len(settings.topics) > 1 else {}),
        **CONVERTERS,
    }


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


# The Lenses S3 sink with Parquet files, optionally in folders by a field that the files don't contain.
#
# Glue refuses a column that is both in the folders' names and in the files ("duplicate columns"). So the field is moved
# to a header of its record, which names the folders.

CODEC = "GZIP"


def parquet_statement(settings: SinkSettings, folder: str | None = None) -> Kcql:
    """Return the KCQL of one topic's Parquet files; its `warnings` describe what folders by `folder` have lost.

    Raises ValueError for a field that can't name folders.
    """
    [statement] = settings.statements
    return replace(statement, stored_as="PARQUET", partition_headers=(folder,) if folder else ())


def parquet_sink(
    settings: SinkSettings, *, steps: Sequence[Transform] = (), folder: str | None = None
) -> dict[str, str]:
    """Configure the sink for records with types (`JdbcSourceSettings.with_schemas`) as Parquet.

    `steps` change each record, then `folder`, under its name after them, leaves the value and names the folders.
    Raises ValueError as `parquet_statement` does.
    """
    statement = parquet_statement(settings, folder)
    return {
        **sink_connector(settings),
        KCQL: build(statement),
        "connect.s3.compression.codec": CODEC,
        "key.converter.schemas.enable": "true",
        "value.converter.schemas.enable": "true",
        **properties([*steps, *((to_header(folder),) if folder else ())]),
    }
