"""What the S3 sink's configuration may say: one list for the stand-in and for MSK Connect.

The connector takes much in silence that loses events or lands others: misspelt names, NOOP, tolerated errors without a
dead-letter topic. Here each is refused by name; docs/decisions/0041 has what the real connector does.
"""

from collections.abc import Iterator, Mapping

from plugins.kcql import parse_all
from plugins.versions import load_versions

CONNECTOR_CLASS = "io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
KCQL = "connect.s3.kcql"
ASSIGNMENT = "consumer.override.partition.assignment.strategy"
ROUND_ROBIN = "org.apache.kafka.clients.consumer.RoundRobinAssignor"

# Property → the value that it must have when it is there.
FIXED = {
    "connector.class": CONNECTOR_CLASS,
    "key.converter": JSON_CONVERTER,
    "key.converter.schemas.enable": "false",
    "value.converter": JSON_CONVERTER,
    "value.converter.schemas.enable": "false",
    "connect.s3.aws.auth.mode": "Default",
    "connect.s3.exactly.once.enable": "true",
    "connect.s3.skip.null.values": "true",
    "errors.log.include.messages": "false",
    "consumer.override.allow.auto.create.topics": "false",
    ASSIGNMENT: ROUND_ROBIN,
}
# Properties that change where, or nothing of what, is landed. The stand-in tries S3 again for ever by itself.
KNOWN = frozenset(
    {
        "connect.s3.aws.region",
        "connect.s3.custom.endpoint",
        "connect.s3.error.policy",
        "connect.s3.http.connection.timeout",
        "connect.s3.http.max.retries",
        "connect.s3.http.retry.interval",
        "connect.s3.http.socket.timeout",
        KCQL,
        "connect.s3.max.retries",
        "connect.s3.path.style.access",
        "connect.s3.pool.max.connections",
        "connect.s3.retry.interval",
        "errors.deadletterqueue.context.headers.enable",
        "errors.deadletterqueue.topic.name",
        "errors.deadletterqueue.topic.replication.factor",
        "errors.log.enable",
        "errors.tolerance",
        "name",
        "tasks.max",
        "topics",
    }
)
REQUIRED = ("topics", KCQL, "connect.s3.aws.region")
ERROR_POLICIES = ("RETRY", "THROW")
# Those whose names and meaning librdkafka shares with the Java client.
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


def problems(config: Mapping[str, str], *, version: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield `(property, reason)` for what a configuration must not say, in one line each.

    `version` is the connector's, the pinned one by default.
    """
    for name, value in config.items():
        if name in FIXED and value != FIXED[name]:
            yield name, f"only {FIXED[name]!r} lands what the job reads, not {value!r}"
        elif not _is_known(name):
            yield name, "isn't a property of the sink that we know: the connector would ignore a misspelt one"
    for name in REQUIRED:
        if name not in config:
            yield name, "is missing"
    yield from _error_handling(config)
    if KCQL in config:
        yield from _statements(config, version or load_versions().lenses_s3.version)


def _is_known(name: str) -> bool:
    client = name.removeprefix(CONSUMER_PREFIX) in CONSUMER_PROPERTIES
    return client or name in FIXED or name in KNOWN or name.removeprefix(PRODUCER_PREFIX) in PRODUCER_PROPERTIES


def _error_handling(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    policy = config.get("connect.s3.error.policy", "THROW").upper()
    if policy == "NOOP":
        yield "connect.s3.error.policy", "NOOP loses what can't be written: RETRY waits for S3"
    elif policy not in ERROR_POLICIES:
        yield "connect.s3.error.policy", f"must be one of {', '.join(ERROR_POLICIES)}, not {policy!r}"
    tolerance = config.get("errors.tolerance", "none")
    if tolerance not in ("none", "all"):
        yield "errors.tolerance", f"must be none or all, not {tolerance!r}"
    elif tolerance == "all" and not config.get("errors.deadletterqueue.topic.name"):
        yield "errors.tolerance", "all without errors.deadletterqueue.topic.name would lose values in silence"


def _statements(config: Mapping[str, str], version: str) -> Iterator[tuple[str, str]]:
    try:
        statements = parse_all(config[KCQL], version=version)
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
