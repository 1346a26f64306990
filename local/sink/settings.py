"""The stand-in's settings, from a sink connector's configuration: the same dictionary that the real connector takes.

And the records that it refuses: nothing after one is landed, only in its partition.

A property that changes what is landed is refused by name, with the same list as on AWS
(plugins/sink/sink_connector.py).
"""

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from contract.errors import UserError, naming
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

ENDPOINT = "connect.s3.custom.endpoint"
# Next to the configuration: the records that currently hold the sink up, and those that it must skip.
HELD, PASSED_OVER = "held.json", "passed-over.json"


class SinkError(UserError):
    """The sink can't continue and a person must decide. Nothing is lost: what isn't landed isn't committed either."""


class UnavailableError(UserError):
    """S3 or Kafka doesn't answer, or not now: trying again helps."""


class MalformedValueError(ValueError):
    """A record's value can't be landed as it is."""


class Partition(NamedTuple):
    """A topic partition; written as in Kafka's logs: `orders[0]`."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.number}]"


@dataclass(frozen=True, kw_only=True)
class Held:
    """A refused record, and the reason."""

    topic: str
    partition: int
    offset: int
    reason: str

    @property
    def place(self) -> Partition:
        return Partition(self.topic, self.partition)


def read_held(path: Path) -> list[Held]:
    """Return the records in a file; none when it is missing or invalid."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        return [Held(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    return []


def write_held(path: Path, records: Iterable[Held]) -> None:
    """Replace the file atomically."""
    new = path.with_suffix(".new")
    with naming(path):
        new.write_text(json.dumps([asdict(record) for record in records], indent=1) + "\n", encoding="utf-8")
    new.replace(path)


@dataclass(frozen=True, kw_only=True)
class DeadLetters:
    """Where values that can't be landed go: an existing topic; librdkafka's properties."""

    topic: str
    producer: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """A sink connector's configuration for the stand-in: a statement per topic, and S3's endpoint on this machine."""

    name: str
    statements: tuple[Kcql, ...]
    endpoint: str
    consumer: Mapping[str, int]
    dead_letters: DeadLetters | None

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
            content = json.loads(path.read_text(encoding="utf-8"))
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
        if ENDPOINT not in config:
            raise SinkError(f"the configuration of {name}: {ENDPOINT}: the stand-in is for S3 on this machine: name it")
        return cls(
            name=name,
            statements=statements,
            endpoint=config[ENDPOINT],
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
    given = {
        theirs: config[name]
        for ours, theirs in PRODUCER_PROPERTIES.items()
        if (name := PRODUCER_PREFIX + ours) in config
    }
    if (kilobytes := PRODUCER_PROPERTIES["buffer.memory"]) in given:
        given[kilobytes] = str(int(given[kilobytes]) // 1024)
    return DeadLetters(topic=config["errors.deadletterqueue.topic.name"], producer=given)
