"""What the stand-in reads from a sink connector's configuration: the same dictionary that the real connector takes.

A property that changes what is landed and that the stand-in doesn't have is refused by name.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from local.sink.errors import SinkError
from plugins.kcql import Kcql, parse
from plugins.versions import load_versions

CONNECTOR_CLASS = "io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"

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
}
# Properties that are read below, or that change nothing here: one process is one task, and S3 is tried again for ever.
KNOWN = frozenset(
    {
        "connect.s3.aws.region",
        "connect.s3.custom.endpoint",
        "connect.s3.error.policy",
        "connect.s3.kcql",
        "connect.s3.max.retries",
        "connect.s3.path.style.access",
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
# The consumer's properties whose names and meaning librdkafka shares with the Java client.
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


@dataclass(frozen=True, kw_only=True)
class DeadLetters:
    """Where values that can't be landed go: the factor that the topic is created with, librdkafka's properties."""

    topic: str
    replication_factor: int
    producer: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """A sink connector's configuration as the stand-in uses it. `endpoint` is None for AWS."""

    name: str
    kcql: Kcql
    region: str
    endpoint: str | None
    consumer: Mapping[str, int]
    dead_letters: DeadLetters | None

    @property
    def group(self) -> str:
        """The consumer group, as Kafka Connect names it."""
        return f"connect-{self.name}"

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read `{"name": …, "config": {…}}`. Raises SinkError for a file that can't be used."""
        try:
            content = json.loads(path.read_text())
            name, config = str(content["name"]), dict(content["config"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SinkError(f"{path}: not a connector's configuration: {error!r}") from error
        return cls.of(name, config)

    @classmethod
    def of(cls, name: str, config: Mapping[str, str]) -> Self:
        """Take the connector `name` with its configuration. Raises SinkError naming the property that is wrong."""
        _refuse_unsupported(config)
        try:
            kcql = parse(config["connect.s3.kcql"], version=load_versions().lenses_s3.version)
            if config["topics"] != kcql.topic:
                raise SinkError(f"topics: {config['topics']!r} isn't the KCQL's topic {kcql.topic!r}")
            return cls(
                name=name,
                kcql=kcql,
                region=config["connect.s3.aws.region"],
                endpoint=config.get("connect.s3.custom.endpoint"),
                consumer=_consumer(config),
                dead_letters=_dead_letters(config),
            )
        except KeyError as missing:
            raise SinkError(f"the configuration of {name} lacks {missing}") from None
        except ValueError as error:
            raise SinkError(f"the configuration of {name}: {error}") from None


def _refuse_unsupported(config: Mapping[str, str]) -> None:
    for name, value in config.items():
        if name in FIXED and value != FIXED[name]:
            raise SinkError(f"{name}: the stand-in supports only {FIXED[name]!r}, not {value!r}")
        if not _is_known(name):
            raise SinkError(f"{name}: the stand-in doesn't support this property")
    if config.get("connect.s3.error.policy") == "NOOP":
        raise SinkError("connect.s3.error.policy: NOOP loses what can't be written")


def _is_known(name: str) -> bool:
    client = name.removeprefix(CONSUMER_PREFIX) in CONSUMER_PROPERTIES
    return client or name in FIXED or name in KNOWN or name.removeprefix(PRODUCER_PREFIX) in PRODUCER_PROPERTIES


def _consumer(config: Mapping[str, str]) -> dict[str, int]:
    return {
        name.removeprefix(CONSUMER_PREFIX): int(value)
        for name, value in config.items()
        if name.startswith(CONSUMER_PREFIX)
    }


def _dead_letters(config: Mapping[str, str]) -> DeadLetters | None:
    tolerance = config.get("errors.tolerance", "none")
    if tolerance == "none":
        return None
    topic = config.get("errors.deadletterqueue.topic.name", "")
    if tolerance != "all" or not topic:
        raise SinkError(
            f"errors.tolerance: {tolerance!r} without errors.deadletterqueue.topic.name would lose values in silence"
        )
    factor = config.get("errors.deadletterqueue.topic.replication.factor", "3")
    return DeadLetters(topic=topic, replication_factor=int(factor), producer=_producer(config))


def _producer(config: Mapping[str, str]) -> dict[str, str | int]:
    given = {
        theirs: config[name]
        for ours, theirs in PRODUCER_PROPERTIES.items()
        if (name := PRODUCER_PREFIX + ours) in config
    }
    if (kilobytes := PRODUCER_PROPERTIES["buffer.memory"]) in given:
        given[kilobytes] = str(int(given[kilobytes]) // 1024)
    return dict(given)
