"""Rules for both connectors: an environment's additions to their configurations."""

from collections.abc import Iterator, Mapping

from plugins.allowed_properties import OF_SINKS, OF_SOURCES, AllowedProperties
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.releases.versions import load_versions
from plugins.sink import kcql
from plugins.sink.sink_connector import sink_connector
from plugins.source.source_connector import source_connector
from settings.connectors import sink_settings, source_settings, topics
from settings.environment import Environment
from settings.environment_pipeline import Connector, EnvironmentPipeline
from settings.rules.problem import Problem, Rule, streamed


def connectors(environment: Environment) -> Iterator[Problem]:
    """Require that each sink lands its source's events in the landing bucket, and that no addition loses any."""
    for number, pipeline in streamed(environment):
        yield from _connectors(environment, pipeline, f"pipelines[{number}]")


def _connectors(environment: Environment, pipeline: EnvironmentPipeline, where: str) -> Iterator[Problem]:
    try:
        source = source_settings(environment, pipeline)
    except ValueError as error:
        yield where, str(error)
        return
    yield from _added(f"{where}.source", OF_SOURCES, pipeline.source, source_connector(source))
    try:
        sink = sink_settings(environment, pipeline)
    except ValueError as error:
        version = load_versions().lenses_s3.version
        given = pipeline.sink.kcql is not None
        yield (
            (f"{where}.sink.kcql", f"doesn't fit the pinned S3 sink {version}: {error}")
            if given
            else (f"{where}.sink", str(error))
        )
        return
    yield from _added(f"{where}.sink", OF_SINKS, pipeline.sink, sink_connector(sink))
    yield from _landed(environment, pipeline, source, sink, f"{where}.sink")


def _added(where: str, allowed: AllowedProperties, connector: Connector, made: Mapping[str, str]) -> Iterator[Problem]:
    for key, reason in allowed.problems(connector.configuration, made):
        yield f"{where}.configuration.{key}", reason


def _landed(
    environment: Environment, pipeline: EnvironmentPipeline, source: SourceSettings, sink: SinkSettings, where: str
) -> Iterator[Problem]:
    given = pipeline.sink.kcql is not None
    if environment.production and sink.partition_by:
        key = f"{where}.kcql" if given else f"{where}.partition_by"
        yield key, f"production takes no PARTITIONBY: {kcql.PARTITION_LOSS}. Leave it out"
    if given and len(source.topics) > 1:
        yield (
            f"{where}.kcql",
            f"is for a pipeline of one table, and {pipeline.name} has {len(source.topics)}: take it out",
        )
    elif sink.topics != source.topics:
        yield f"{where}.kcql", f"reads {sink.topic}, but the source connector writes {source.topic}"
    if sink.bucket != environment.bucket_name("landing"):
        yield f"{where}.kcql", f"writes to {sink.bucket}: write {{landing}} for the stack's bucket"
    try:
        topics(environment, pipeline)
    except ValueError as error:
        yield f"{where}.dead_letter_topic", f"{error}: choose another name"


RULES: tuple[Rule, ...] = (connectors,)
