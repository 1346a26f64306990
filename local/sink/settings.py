"""The stand-in's settings, from a sink connector's configuration: the same dictionary that the real connector takes.

A property that changes what is landed is refused by name, with the same list as on AWS
(plugins/sink/sink_connector.py).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from local.sink.errors import SinkError
from plugins.connector_names import sink_group
from plugins.sink.kcql import Kcql, parse_all
from plugins.sink.sink_connector import (
    CONSUMER_PREFIX,
    CONSUMER_PROPERTIES,
    KCQL,
    PRODUCER_PREFIX,
    PRODUCER_PROPERTIES,
    problems,
)


@dataclass(frozen=True, kw_only=True)
class DeadLetters:
    """Where values that can't be landed go: an existing topic; librdkafka's properties."""

    topic: str
    producer: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """A sink connector's configuration for the stand-in: a statement per topic. `endpoint` is None for AWS."""

    name: str
    statements: tuple[Kcql, ...]
    region: str
    endpoint: str | None
    consumer: Mapping[str, int]
    dead_letters: DeadLetters | None

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(statement.topic for statement in self.statements)

    @property
    def bucket(self) -> str:
        return self.statements[0].bucket

    @property
    def group(self) -> str:
        """The consumer group, as Kafka Connect names it."""
        return sink_group(self.name)

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
        """Read the configuration of connector `name`. Raises SinkError naming the invalid property."""
        for key, reason in problems(config):
            raise SinkError(f"the configuration of {name}: {key}: {reason}")
        statements = parse_all(config[KCQL])
        if len({statement.bucket for statement in statements}) > 1:
            raise SinkError(f"the configuration of {name}: {KCQL}: the stand-in lands in one bucket alone")
        if any(statement.folders for statement in statements):
            raise SinkError(f"the configuration of {name}: {KCQL}: the stand-in has no PARTITIONBY: leave it out")
        return cls(
            name=name,
            statements=statements,
            region=config["connect.s3.aws.region"],
            endpoint=config.get("connect.s3.custom.endpoint"),
            consumer=_consumer(config),
            dead_letters=_dead_letters(config),
        )


def _consumer(config: Mapping[str, str]) -> dict[str, int]:
    return {
        name.removeprefix(CONSUMER_PREFIX): int(value)
        for name, value in config.items()
        if name.removeprefix(CONSUMER_PREFIX) in CONSUMER_PROPERTIES
    }


def _dead_letters(config: Mapping[str, str]) -> DeadLetters | None:
    if config.get("errors.tolerance", "none") == "none":
        return None
    topic = config["errors.deadletterqueue.topic.name"]
    return DeadLetters(topic=topic, producer=_producer(config))


def _producer(config: Mapping[str, str]) -> dict[str, str | int]:
    given = {
        theirs: config[name]
        for ours, theirs in PRODUCER_PROPERTIES.items()
        if (name := PRODUCER_PREFIX + ours) in config
    }
    if (kilobytes := PRODUCER_PROPERTIES["buffer.memory"]) in given:
        given[kilobytes] = str(int(given[kilobytes]) // 1024)
    return dict(given)
