"""Re-reads an environment's ordinary tables during changes: `./lake resnapshot -e … -p … -t …`.

Does what local/resnapshot/ does on one machine, with MSK, MSK Connect or EKS, S3 and the operator's own rights in place
of the platform's services.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import boto3
from rich.console import Console

from local.comparison.command import REPORT, reconcile_tables
from local.comparison.compare import Limits
from local.files import BUILD
from local.resnapshot.log_tables import EventWriter
from local.resnapshot.pipelines import flowing, read_tables_again, repairs, settlement
from local.resnapshot.run import Connector, Wanted, check_whole
from operate import outputs
from operate.errors import OperateError
from operate.kafka import reader
from operate.kafka.cluster import chosen, of_environment
from operate.resnapshot.connectors import StoredOffsets, source_of
from operate.resnapshot.outbox import newest_position
from operate.sides import compared, login, sides
from plugins.connector_names import offset_topic
from settings.connectors import source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.pipeline_names import source_parameter

Say = Callable[[str], None]


def resnapshot_tables(
    environment: Environment,
    pipeline: EnvironmentPipeline,
    names: Sequence[str],
    wanted: Wanted,
    console: Console,
    say: Say,
) -> bool:
    """Re-read tables of a deployed pipeline, all or those of these names; then compare and repair differences.

    Return whether they are equal in the end. Raises OperateError, PlatformError, LoadError.
    """
    refuse_queried(environment, pipeline)
    if wanted.skip:
        check_whole(wanted, named=bool(names))
    entries = chosen(pipeline, names)
    session = outputs.check_account(environment)
    with outputs.one_line(environment):
        cluster, captured = of_environment(environment, pipeline.name), pipeline.as_deployed
        with login(environment, session, pipeline) as source, reader.connect(cluster) as messages:
            topics = source_settings(environment, pipeline).topics
            newest = max(newest_position(messages, topic) for topic in topics)
            connector, stored, writer = channel(environment, pipeline, session, messages, newest=newest)
            lakes = [table.lake for table in compared(environment, pipeline, session, captured.tables)]
            with flowing(source, captured, names, lakes, connector, stored, wanted, say):
                settle = settlement(source, captured, entries, where=wanted.where)
                read_tables_again(
                    source, captured, entries, stored, where=wanted.where, timeout_s=wanted.timeout_s, say=say
                )
                with sides(environment, pipeline, session, source, entries) as both:
                    equal = reconcile_tables(
                        console,
                        both,
                        Limits(timeout_s=wanted.timeout_s),
                        pipeline=pipeline.name,
                        report=report_of(environment, pipeline),
                        repairs=repairs(source, captured, stored, writer, timeout_s=wanted.timeout_s, say=say),
                    )
            if equal:
                settle(writer)
            return equal


def refuse_queried(environment: Environment, pipeline: EnvironmentPipeline) -> None:
    """Raise OperateError for a queried pipeline: no connector can be asked for its rows."""
    if pipeline.is_queried:
        raise OperateError(
            f"{pipeline.name} is queried, so there is no snapshot to repeat: set another job.read_again of it in "
            f"environments/{environment.name}.toml, and the next deployment has the job read and compare all rows"
        )


class Channel(NamedTuple):
    """How to ask a pipeline's connector for rows: the connector, its stored offsets, and events beside its own."""

    connector: Connector
    stored: StoredOffsets
    writer: EventWriter


def channel(
    environment: Environment,
    pipeline: EnvironmentPipeline,
    session: boto3.Session,
    messages: reader.Reader,
    *,
    newest: int = 0,
) -> Channel:
    """Return the channel; `newest` is the highest log position known to be read. Raises OperateError, ClientError."""
    connector = source_of(environment, pipeline, session, newest=newest)
    name = source_settings(environment, pipeline).name
    topic = offset_topic(name, generation(environment, pipeline, session))
    client = reader.client(of_environment(environment, pipeline.name))
    return Channel(connector, StoredOffsets(messages, topic, connector), EventWriter(client))


def generation(environment: Environment, pipeline: EnvironmentPipeline, session: boto3.Session) -> str:
    """Return the generation of the source's offsets, as its last deployment recorded it."""
    name = source_parameter(environment, pipeline, "generation")
    return str(session.client("ssm", config=outputs.QUICK).get_parameter(Name=name)["Parameter"]["Value"])


def report_of(environment: Environment, pipeline: EnvironmentPipeline) -> Path:
    """Return the file of the last comparison's result."""
    folder = BUILD / f"{environment.prefix}-{pipeline.name}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / REPORT
