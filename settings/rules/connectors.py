"""Both connectors: their versions, and what an environment adds to their configurations."""

import re
from collections.abc import Iterator, Mapping

from contract.secret_names import is_secret
from contract.sizes import DERIVED_KEYS
from plugins import kcql, sink_properties, source_properties
from plugins.salted_connector import SALT_PROPERTY
from plugins.sink_connector import sink_connector
from plugins.source_connector import source_values
from plugins.versions import load_versions
from settings import aws_offers
from settings.connectors import sink_settings, source_settings, topics
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.rules.problem import Problem, Rule, streamed

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
        SALT_PROPERTY,
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
    for number, pipeline in streamed(environment):
        for name, connector in (("source", pipeline.source), ("sink", pipeline.sink)):
            yield from _configuration(f"pipelines[{number}].{name}", name, connector.configuration)


def _configuration(where_it_is: str, name: str, configuration: Mapping[str, str]) -> Iterator[Problem]:
    for key, value in configuration.items():
        where = f"{where_it_is}.configuration.{key}"
        if key in _OWN_KEYS:
            yield where, "is filled in by the stacks: take it out"
        elif key in DERIVED_KEYS:
            yield where, "follows from streaming.largest_event_mib: set that instead"
        elif key.startswith("topic.creation."):
            yield (
                where,
                "topics are made by the deployment; how long they keep events: streaming.topic_retention_hours",
            )
        elif name == "source" and value != source_values().get(key, value):
            yield where, f"the job relies on {source_values()[key]!r}: take it out"
        elif name == "source" and (reason := source_properties.contradiction(key)):
            yield where, reason
        elif is_secret(key) and not _REFERENCE.fullmatch(value):
            # The value isn't repeated: it may be a password.
            yield where, "a secret in plain text: write ${secretsmanager:<name of the secret>:<key>}"


def sinks(environment: Environment) -> Iterator[Problem]:
    """Each sink lands what its source writes in the landing bucket, in words that the pinned release knows."""
    for number, pipeline in streamed(environment):
        yield from _sink(environment, pipeline, f"pipelines[{number}].sink")


def _sink(environment: Environment, pipeline: EnvironmentPipeline, where: str) -> Iterator[Problem]:
    given = pipeline.sink.kcql is not None
    try:
        source = source_settings(environment, pipeline)
        settings = sink_settings(environment, pipeline)
    except ValueError as error:
        version = load_versions().lenses_s3.version
        yield (f"{where}.kcql", f"doesn't fit the pinned S3 sink {version}: {error}") if given else (where, str(error))
        return
    given_keys = pipeline.sink.configuration
    yield from _given(where, given_keys, sink_properties.problems(sink_connector(settings) | given_keys))
    if environment.production and settings.partition_by:
        key = f"{where}.kcql" if given else f"{where}.partition_by"
        yield key, f"production takes no PARTITIONBY: {kcql.PARTITION_LOSS}. Leave it out"
    if given and len(source.topics) > 1:
        yield (
            f"{where}.kcql",
            f"is for a pipeline of one table, and {pipeline.name} has {len(source.topics)}: take it out",
        )
    elif settings.topics != source.topics:
        yield f"{where}.kcql", f"reads {settings.topic}, but the source connector writes {source.topic}"
    if settings.bucket != environment.bucket_name("landing"):
        yield f"{where}.kcql", f"writes to {settings.bucket}: write {{landing}} for the stack's bucket"


def _given(where: str, given: Mapping[str, str], problems: Iterator[Problem]) -> Iterator[Problem]:
    """Of a configuration's problems those that the file has brought in, and no other rule speaks of."""
    for key, reason in problems:
        if key in given and key not in _OWN_KEYS:
            yield f"{where}.configuration.{key}", reason


def dead_letters(environment: Environment) -> Iterator[Problem]:
    """The dead letters' topic is one of its own."""
    for number, pipeline in streamed(environment):
        if pipeline.sink.dead_letter_topic is None:
            continue
        try:
            topics(environment, pipeline)
        except ValueError as error:
            # What the sink alone is wrong with, its own rule says.
            if "two topics" in str(error):
                yield f"pipelines[{number}].sink.dead_letter_topic", f"{error}: choose another name"


RULES: tuple[Rule, ...] = (configurations, sinks, dead_letters)
