"""Rules for an environment's pipelines: their names exist and don't clash, their connectors and sizes fit."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress

from contract.table_names import nearest
from plugins.allowed_properties import OF_SINKS, OF_SOURCES, AllowedProperties
from plugins.connector_names import heartbeat_topic
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.releases.versions import load_versions
from plugins.sink import kcql
from plugins.sink.sink_connector import sink_connector
from plugins.source.source_connector import source_connector
from settings import aws_offers
from settings.connectors import sink_settings, source_settings, topics
from settings.environment import Environment
from settings.environment_pipeline import Connector, EnvironmentPipeline
from settings.rules.problem import Problem, streamed

OF_A_STEP = ("driver_memory", "executor_memory", "executors")
_OF_CONNECTORS = ("topic_prefix", "source", "sink")
# A source and a sink, each with its own plugin and worker configuration.
_CONNECTORS = 2
# Kafka Connect's own, for each connector on MSK Connect: 1 of configuration, 5 of status, and a sink's 25 of offsets.
_INTERNAL_PARTITIONS = 31
# Kafka's __consumer_offsets.
_CONSUMER_OFFSETS = 50


def tables_exist(environment: Environment) -> Iterator[Problem]:
    """Require that settings for a table name a captured one, and have an effect."""
    for number, pipeline in enumerate(environment.pipelines):
        where = f"pipelines[{number}]"
        lake_tables = [pipeline.captured.lake_table(table) for table in pipeline.captured.tables]
        for name, sizes in pipeline.tables.items():
            if name not in lake_tables:
                likely = nearest(name, lake_tables)
                reason = f"isn't a table of pipelines/{pipeline.name}.toml in the lake; most like it: {likely}"
                yield f"{where}.tables.{name}", reason
            yield from _of_a_step(pipeline, f"{where}.tables.{name}", sizes.model_dump())
        if not pipeline.has_own_application:
            yield from _of_a_step(pipeline, f"{where}.job", pipeline.job.model_dump())


def _of_a_step(pipeline: EnvironmentPipeline, where: str, given: Mapping[str, object]) -> Iterator[Problem]:
    for key in OF_A_STEP:
        if pipeline.job.one_step and given[key] is not None:
            yield (
                f"{where}.{key}",
                f"counts for an application of its own, which one_step = true doesn't make: set "
                f"{'job' if pipeline.has_own_application else 'processing'}.{key}, or one_step = false",
            )


def queried(environment: Environment) -> Iterator[Problem]:
    """Refuse settings of connectors and topics for a queried pipeline, and of queries for others."""
    for number, pipeline in enumerate(environment.pipelines):
        for key in _OF_CONNECTORS:
            if pipeline.is_queried and key in pipeline.model_fields_set:
                yield (
                    f"pipelines[{number}].{key}",
                    f"is for connectors, and pipelines/{pipeline.name}.toml is queried, which takes none: take it out",
                )
        if pipeline.job.read_again is not None and not pipeline.job_connects:
            yield (
                f"pipelines[{number}].job.read_again",
                'is for what is queried, and for first_load = "direct"; what a connector has read is read again by '
                "`./lake resnapshot`: take it out",
            )
        if pipeline.job_connects and pipeline.database is not None and pipeline.database.sslmode == "verify-ca":
            yield (
                f"pipelines[{number}].database.sslmode",
                'the job verifies a server in full or not at all: set "verify-full"',
            )


def clashes(environment: Environment) -> Iterator[Problem]:
    """Refuse two pipelines with the same name, topic, table in the lake, slot, publication or role."""
    for name, count in Counter(pipeline.name for pipeline in environment.pipelines).items():
        if count > 1:
            yield "pipelines", f"{name!r} is named twice"
            return
    owners: dict[tuple[str, str], EnvironmentPipeline] = {}
    for number, pipeline in enumerate(environment.pipelines):
        for kind, name, way_out in _names(environment, pipeline):
            other = owners.setdefault((kind, name), pipeline)
            if other is not pipeline:
                yield f"pipelines[{number}]", f"{kind} {name} is that of pipeline {other.name}, too: {way_out}"
                break


def _names(environment: Environment, pipeline: EnvironmentPipeline) -> Iterator[tuple[str, str, str]]:
    file, source = f"pipelines/{pipeline.name}.toml", pipeline.captured.source
    for name in pipeline.captured.lake_tables:
        yield "the lake's table", name, f"set source.lake_prefix in {file}"
    # Names on one server: another one has its own.
    at = f" at {pipeline.database.host}:{pipeline.database.port}" if pipeline.database else ""
    named: tuple[str, ...] = ()
    if not pipeline.is_queried:
        # ValueError: reported by the connectors' rule.
        with suppress(ValueError):
            named = (heartbeat_topic(pipeline.prefix), *source_settings(environment, pipeline).topics)
    for topic in named:
        yield "the topic", topic, "set topic_prefix to another one"
    if named:
        yield "the replication slot", f"{source.slot}{at}", f"set source.slot in {file}"
        publication = f"{source.publication} of {pipeline.database_name}{at}"
        yield "the publication", publication, f"set source.publication in {file}"
    yield "the role", f"{pipeline.connector_role}{at}", "set role to another one"


def quotas(environment: Environment) -> Iterator[Problem]:
    """Check that Kafka has room for all topics, the database for all slots, and MSK Connect for its workers."""
    slots = sum(pipeline.database is None for pipeline in environment.streamed)
    free = aws_offers.AURORA_REPLICATION_SLOTS - aws_offers.RESERVED_SLOTS
    if slots > free:
        yield (
            "pipelines",
            f"{slots} pipelines are as many replication slots, and the cluster has "
            f"{aws_offers.AURORA_REPLICATION_SLOTS} (max_replication_slots), of which {aws_offers.RESERVED_SLOTS} are "
            "left for others: put some into another environment",
        )
    yield from _partitions(environment)
    if environment.eks is None:
        yield from _msk_connect(environment)


def _msk_connect(environment: Environment) -> Iterator[Problem]:
    workers = environment.connector_workers
    if workers > aws_offers.MSK_CONNECT_WORKERS:
        yield (
            "pipelines",
            f"they ask for {workers} workers, and an account has {aws_offers.MSK_CONNECT_WORKERS} in a region (MSK "
            "Connect's quota): set fewer, or put some pipelines into another account",
        )
    # For each connector, the old one and the new one while a release replaces all of them.
    plugins = 2 * _CONNECTORS * len(environment.streamed)
    if plugins > aws_offers.MSK_CONNECT_PLUGINS:
        yield (
            "pipelines",
            f"{len(environment.streamed)} pipelines have {plugins} plugins while a deployment replaces them, and an "
            f"account has {aws_offers.MSK_CONNECT_PLUGINS} in a region (MSK Connect's quota): put some into another "
            "account",
        )


def _partitions(environment: Environment) -> Iterator[Problem]:
    settings = environment.streaming
    limit = aws_offers.MSK_PARTITIONS_PER_BROKER[settings.broker_type]
    try:
        planned = [topic for pipeline in environment.streamed for topic in topics(environment, pipeline)]
    except ValueError:
        # Reported by the connectors' rules.
        return
    zones = max(1, len(environment.availability_zones))
    own = _CONSUMER_OFFSETS + _CONNECTORS * len(environment.streamed) * _INTERNAL_PARTITIONS
    replicas = sum(topic.partitions * topic.replicas for topic in planned) + own * min(zones, settings.brokers)
    if replicas > limit * settings.brokers:
        yield (
            "streaming.broker_type",
            f"{len(planned)} topics make {replicas:,} partitions with their replicas, and {settings.brokers} "
            f"{settings.broker_type} take {limit * settings.brokers:,}: set a larger type or more brokers",
        )


def connectors(environment: Environment) -> Iterator[Problem]:
    """Require that each sink lands its source's events in the landing bucket, and that no addition loses any."""
    for number, pipeline in streamed(environment):
        where = f"pipelines[{number}]"
        try:
            source = source_settings(environment, pipeline)
        except ValueError as error:
            yield where, str(error)
            continue
        yield from _added(f"{where}.source", OF_SOURCES, pipeline.source, source_connector(source))
        try:
            sink = sink_settings(environment, pipeline)
        except ValueError as error:
            if pipeline.sink.kcql is None:
                yield f"{where}.sink", str(error)
            else:
                version = load_versions().lenses_s3.version
                yield f"{where}.sink.kcql", f"doesn't fit the pinned S3 sink {version}: {error}"
            continue
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
    if (sink.bucket, sink.prefix) != (environment.bucket_name("landing"), pipeline.landing_prefix):
        read = f"{{landing}}:{pipeline.landing_prefix}"
        yield f"{where}.kcql", f"writes to {sink.bucket}:{sink.prefix}, and the job reads {read}: write that"
    try:
        topics(environment, pipeline)
    except ValueError as error:
        yield f"{where}.dead_letter_topic", f"{error}: choose another name"
