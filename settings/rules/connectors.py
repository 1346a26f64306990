"""Both connectors: their versions, and what an environment adds to their configurations."""

import re
from collections.abc import Iterator, Mapping

from contract.secret_names import is_secret
from contract.sizes import DERIVED_KEYS
from plugins import connectors, kcql, sink_properties, source_properties
from plugins.versions import load_versions
from settings import aws_offers
from settings.connectors import sink_settings, topics
from settings.environment import Environment
from settings.rules.problem import Problem, Rule

# Keys that the stacks fill in: another value would cut the pipeline in two.
_OWN_KEYS = frozenset(
    {
        "connector.class",
        "connect.s3.kcql",
        "database.dbname",
        "database.hostname",
        "database.sslmode",
        "database.user",
        "driver.sslfactory",
        "driver.sslfactoryarg",
        "errors.deadletterqueue.topic.name",
        "name",
        "publication.name",
        "slot.name",
        "table.include.list",
        "tasks.max",
        "topic.prefix",
        "topics",
    }
)
_REFERENCE = re.compile(r"\$\{secretsmanager:[^${}:]+:[^${}:]+\}")


def configurations(environment: Environment) -> Iterator[Problem]:
    """More of a connector's configuration, key by key, contradicts nothing that the stacks or the job rely on."""
    version = environment.connectors.kafka_connect_version
    if version not in aws_offers.MSK_CONNECT_VERSIONS:
        known = ", ".join(aws_offers.MSK_CONNECT_VERSIONS)
        yield "connectors.kafka_connect_version", f"{version} isn't a version that MSK Connect has: {known}"
    for name in ("source", "sink"):
        configuration = getattr(environment.connectors, name).configuration
        for key, value in configuration.items():
            where = f"connectors.{name}.configuration.{key}"
            if key in _OWN_KEYS:
                yield where, "is filled in by the stacks: take it out"
            elif key in DERIVED_KEYS:
                yield where, "follows from streaming.largest_event_mib: set that instead"
            elif key.startswith("topic.creation."):
                yield (
                    where,
                    "topics are made by the deployment; how long they keep events: streaming.topic_retention_hours",
                )
            elif name == "source" and value != connectors.source_values().get(key, value):
                yield where, f"the job relies on {connectors.source_values()[key]!r}: take it out"
            elif name == "source" and (reason := source_properties.contradiction(key)):
                yield where, reason
            elif is_secret(key) and not _REFERENCE.fullmatch(value):
                # The value isn't repeated: it may be a password.
                yield where, "a secret in plain text: write ${secretsmanager:<name of the secret>:<key>}"


def sink(environment: Environment) -> Iterator[Problem]:
    """The sink lands the topic that the source writes in the landing bucket, in words that the pinned release knows."""
    topic = connectors.events_topic(environment.connectors.topic_prefix)
    landing = environment.bucket_name("landing")
    given = environment.connectors.sink.kcql is not None
    try:
        settings = sink_settings(environment)
    except ValueError as error:
        version = load_versions().lenses_s3.version
        yield (
            ("connectors.sink.kcql", f"doesn't fit the pinned S3 sink {version}: {error}")
            if given
            else ("connectors.sink", str(error))
        )
        return
    config = connectors.sink_connector(settings)
    given_keys = environment.connectors.sink.configuration
    yield from _given(given_keys, sink_properties.problems(config | given_keys))
    if environment.production and settings.partition_by:
        key = "connectors.sink.kcql" if given else "connectors.sink.partition_by"
        yield key, f"production takes no PARTITIONBY: {kcql.PARTITION_LOSS}. Leave it out"
    if settings.topic != topic:
        yield "connectors.sink.kcql", f"reads {settings.topic}, but the source connector writes {topic}"
    if settings.bucket != landing:
        yield "connectors.sink.kcql", f"writes to {settings.bucket}: write {{landing}} for the stack's bucket"


def _given(given: Mapping[str, str], problems: Iterator[Problem]) -> Iterator[Problem]:
    """Of a configuration's problems those that the file has brought in, and no other rule speaks of."""
    for key, reason in problems:
        if key in given and key not in _OWN_KEYS:
            yield f"connectors.sink.configuration.{key}", reason


def dead_letters(environment: Environment) -> Iterator[Problem]:
    """The dead letters' topic is one of its own."""
    if environment.connectors.sink.dead_letter_topic is None:
        return
    try:
        topics(environment)
    except ValueError as error:
        # What the sink alone is wrong with, its own rule says.
        if "two topics" in str(error):
            yield "connectors.sink.dead_letter_topic", f"{error}: choose another name"


RULES: tuple[Rule, ...] = (configurations, sink, dead_letters)
