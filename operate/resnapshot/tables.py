"""Brings an environment's lake in line with its source: `./lake resnapshot -e …` and `./lake aws reconcile`.

Does what local/resnapshot/ and local/comparison/ do on one machine, with MSK, MSK Connect or EKS, S3 and the operator's
own rights in place of the platform's services.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from db.connecting import UnreachableError
from local.comparison.command import REPORT, print_comparison, put, reconcile_tables
from local.comparison.compare import TableComparison
from local.comparison.repair import repair_of_outbox
from local.comparison.run import Repairs, Sides
from local.files import BUILD
from local.resnapshot.log_tables import Say, position_of
from local.resnapshot.pipelines import Channel
from local.resnapshot.run import Wanted, check_unnamed, resnapshot
from operate import outputs, source_cluster
from operate.errors import OperateError
from operate.kafka import reader
from operate.resnapshot.connectors import StoredOffsets, source_of
from operate.sides import DeployedPipeline, compared, login, sides
from plugins.connector_names import offset_topic
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline

TAIL_EVENTS = 1_000
# On AWS, landing and commits take a minute each, and an update of the connector several.
TIMEOUT_S = 1_800


def wanted_of(
    environment: Environment, where: str | None, *, skip: bool = False, timeout_s: float | None = None
) -> Wanted:
    return Wanted(
        where=where,
        skip=skip,
        timeout_s=timeout_s or TIMEOUT_S,
        start_s=TIMEOUT_S,
        largest_event_bytes=environment.streaming.largest_event_bytes,
    )


def resnapshot_outbox(
    environment: Environment, pipeline: EnvironmentPipeline, wanted: Wanted, say: Say
) -> TableComparison:
    """Re-snapshot a deployed outbox, from a machine that reaches its VPC. Raises OperateError, PlatformError."""
    deployed = DeployedPipeline(environment, pipeline, outputs.check_account(environment))
    with _in_one_line(environment), login(deployed) as parameters:
        with reader.connect(deployed.cluster()) as messages:
            newest = newest_position(messages, deployed.source.topic)
        connector = source_of(deployed, newest=newest)
        with sides(deployed, parameters, pipeline.captured.tables) as both:
            losing = partial(source_cluster.may_miss, deployed.session, environment, pipeline)
            comparison = resnapshot(both, connector, wanted, say, losing=losing)
        if comparison.equal and wanted.where is None:
            source_cluster.nothing_missed(deployed.session, environment, pipeline)
        return comparison


def resnapshot_deployed(
    environment: Environment,
    pipeline: EnvironmentPipeline,
    names: Sequence[str],
    wanted: Wanted,
    console: Console,
    say: Say,
) -> bool:
    """Rewrite a deployed outbox, or read all tables or the named ones again; then compare and repair differences.

    Return whether they are equal in the end. Raises OperateError, PlatformError, LoadError.
    """
    if pipeline.captured.outbox is not None:
        check_unnamed(names)
        comparison = resnapshot_outbox(environment, pipeline, wanted, say)
        print_comparison(console, comparison)
        return comparison.equal
    refuse_queried(environment, pipeline)
    entries = pipeline.captured.named(names)
    deployed = DeployedPipeline(environment, pipeline, outputs.check_account(environment))
    with _in_one_line(environment), login(deployed) as source, reader.connect(deployed.cluster()) as messages:
        newest = max(newest_position(messages, topic) for topic in deployed.source.topics)
        channel = channel_of(deployed, source, messages, newest=newest, timeout_s=wanted.timeout_s, say=say)
        lakes = [table.lake for table in compared(deployed, pipeline.captured.tables)]
        with channel.flowing(lakes, wanted, named=bool(names)):
            settle = channel.settlement(entries, wanted.where)
            channel.read_again(entries, wanted.where)
            with sides(deployed, source, entries) as both:
                equal = reconcile_tables(
                    console,
                    both,
                    timeout_s=wanted.timeout_s,
                    pipeline=pipeline.name,
                    report=report_of(environment, pipeline),
                    repairs=channel.repair,
                )
        if equal:
            settle()
        if equal and not names and wanted.where is None:
            source_cluster.nothing_missed(deployed.session, environment, pipeline)
        return equal


def newest_position(messages: reader.Reader, topic: str) -> int:
    """Return the highest log position among a topic's newest events, 0 if it holds none. Raises KafkaException."""
    tail = messages.to_the_end(topic, lambda _partition, end: end - TAIL_EVENTS)
    return max((position_of(message.value()) for message in tail), default=0)


def refuse_queried(environment: Environment, pipeline: EnvironmentPipeline) -> None:
    """Raise OperateError for a queried pipeline: no connector can be asked for its rows."""
    if pipeline.is_queried:
        raise OperateError(
            f"{pipeline.name} is queried, so there is no snapshot to repeat: set another job.read_again of it in "
            f"environments/{environment.name}.toml, and the next deployment has the job read and compare all rows"
        )


def channel_of(
    deployed: DeployedPipeline,
    parameters: Mapping[str, Any],
    messages: reader.Reader,
    *,
    newest: int = 0,
    timeout_s: float,
    say: Say,
) -> Channel:
    """Return the way to ask the connector for rows; `newest` as for `source_of`. Raises OperateError, ClientError."""
    settings, pipeline = deployed.source, deployed.pipeline
    # As the last deployment recorded it.
    name = deployed.environment.source_parameter(pipeline, "generation")
    generation = deployed.session.client("ssm", config=outputs.QUICK).get_parameter(Name=name)["Parameter"]["Value"]
    stored = StoredOffsets(messages, offset_topic(settings.name, generation), settings.topic_prefix)
    return Channel(
        pipeline=pipeline.name,
        settings=settings,
        parameters=parameters,
        connector=source_of(deployed, newest=newest, stored=stored),
        kafka=reader.client(deployed.cluster()),
        timeout_s=timeout_s,
        say=say,
        losing=partial(source_cluster.may_miss, deployed.session, deployed.environment, pipeline),
    )


def report_of(environment: Environment, pipeline: EnvironmentPipeline) -> Path:
    folder = BUILD / f"{environment.prefix}-{pipeline.name}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / REPORT


def reconcile_environment(
    environment: Environment,
    pipeline: EnvironmentPipeline,
    names: Sequence[str],
    console: Console,
    *,
    repair: bool,
    timeout_s: float,
) -> bool:
    """Compare all tables or those named; tell if they end equal. Raises OperateError, PlatformError, LoadError."""
    entries = pipeline.captured.named(names)
    if repair:
        refuse_queried(environment, pipeline)
    if pipeline.is_queried:
        put(console, f"{pipeline.name} is queried: what its job hasn't brought by --timeout counts as different, too")
    deployed = DeployedPipeline(environment, pipeline, outputs.check_account(environment))
    with (
        _in_one_line(environment),
        login(deployed, owner=repair) as source,
        sides(deployed, source, entries) as both,
        _repairs(deployed, both, console) if repair else contextlib.nullcontext() as repairs_of,
    ):
        return reconcile_tables(
            console,
            both,
            timeout_s=timeout_s,
            pipeline=pipeline.name,
            report=report_of(environment, pipeline),
            repairs=repairs_of,
            derived=() if names else pipeline.captured.lake_tables[len(entries) :],
        )


@contextlib.contextmanager
def _in_one_line(environment: Environment) -> Iterator[None]:
    try:
        with outputs.one_line(environment):
            yield
    except UnreachableError as error:
        raise OperateError(f"{error}; from outside its network it takes the VPN (docs/aws/vpn.md)") from None


@contextlib.contextmanager
def _repairs(deployed: DeployedPipeline, both: Sides, console: Console) -> Iterator[Repairs]:
    """Yield the tables' repair: the outbox's rows are written again, others are asked for through the signal table."""
    say, environment, pipeline = partial(put, console), deployed.environment, deployed.pipeline
    if pipeline.captured.outbox is None:
        with reader.connect(deployed.cluster()) as messages:
            yield channel_of(deployed, both.parameters, messages, timeout_s=TIMEOUT_S, say=say).repair
        return

    def resnapshot(where: str) -> None:
        resnapshot_outbox(environment, pipeline, wanted_of(environment, where), lambda _line: None)

    yield lambda wanted: repair_of_outbox(both.parameters, wanted, resnapshot, say)
