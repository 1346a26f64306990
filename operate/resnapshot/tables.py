"""Re-reads an environment's ordinary tables during changes: `./lake resnapshot -e … -p … -t …`.

Does what local/resnapshot/ does on one machine, with MSK, MSK Connect or EKS, S3 and the operator's own rights in place
of the platform's services.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import boto3
from rich.console import Console

from local.comparison.command import REPORT, reconcile_tables
from local.comparison.compare import Limits
from local.comparison.describe import Compared
from local.comparison.run import Sides
from local.files import BUILD
from local.resnapshot.log_tables import EventWriter
from local.resnapshot.pipelines import flowing, read_tables_again, repairs, settlement
from local.resnapshot.run import Wanted, check_whole
from operate import outputs
from operate.errors import OperateError
from operate.kafka import reader
from operate.kafka.cluster import chosen, of_environment
from operate.resnapshot.connectors import StoredOffsets, source_of
from operate.resnapshot.outbox import lake_table, login, newest_position, secret_values
from plugins.connector_names import offset_topic
from plugins.kafka import msk_login
from plugins.source.source_connector import SALT_KEY
from settings.connectors import source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.load import PIPELINES
from settings.pipeline import CapturedTableSettings
from stacks.pipeline_names import construct_id, source_parameter

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
    if pipeline.is_queried:
        raise OperateError(
            f"{pipeline.name} is queried, so there is no snapshot to repeat: set another job.read_again of it in "
            f"environments/{environment.name}.toml, and the next deployment has the job read and compare all rows"
        )
    if wanted.skip:
        check_whole(wanted, named=bool(names))
    entries = chosen(pipeline, names)
    session = outputs.check_account(environment)
    with outputs.one_line(environment):
        cluster, captured = of_environment(environment, pipeline.name), pipeline.as_deployed
        with login(environment, session, pipeline) as source, reader.connect(cluster) as messages:
            settings = source_settings(environment, pipeline)
            newest = max(newest_position(messages, topic) for topic in settings.topics)
            connector = source_of(environment, pipeline, session, newest=newest)
            topic = offset_topic(settings.name, generation(environment, pipeline, session))
            stored = StoredOffsets(messages, topic, connector)
            client = {"bootstrap.servers": cluster.bootstrap_servers, **msk_login.settings(environment.region)}
            writer = EventWriter(client)
            lakes = [table.lake for table in _compared(environment, pipeline, session, captured.tables)]
            with flowing(source, captured, names, lakes, connector, stored, wanted, say):
                settle = settlement(source, captured, entries, where=wanted.where)
                read_tables_again(
                    source, captured, entries, stored, where=wanted.where, timeout_s=wanted.timeout_s, say=say
                )
                sides = Sides(
                    source,
                    _compared(environment, pipeline, session, entries),
                    salt=salt(environment, pipeline, session),
                    s3=session.client("s3", config=outputs.QUICK),
                )
                equal = reconcile_tables(
                    console,
                    sides,
                    Limits(timeout_s=wanted.timeout_s),
                    pipeline=pipeline.name,
                    report=_report(environment, pipeline),
                    repairs=repairs(source, captured, stored, writer, timeout_s=wanted.timeout_s, say=say),
                )
            if equal:
                settle(writer)
            return equal


def _compared(
    environment: Environment,
    pipeline: EnvironmentPipeline,
    session: boto3.Session,
    entries: Sequence[CapturedTableSettings],
) -> list[Compared]:
    return [
        Compared(
            entry=entry,
            schema_file=PIPELINES / pipeline.as_deployed.schema_file(entry),
            lake=lake_table(environment, session, pipeline, entry),
        )
        for entry in entries
    ]


def generation(environment: Environment, pipeline: EnvironmentPipeline, session: boto3.Session) -> str:
    """Return the generation of the source's offsets, as its last deployment recorded it."""
    name = source_parameter(environment, pipeline, "generation")
    return str(session.client("ssm", config=outputs.QUICK).get_parameter(Name=name)["Parameter"]["Value"])


def salt(environment: Environment, pipeline: EnvironmentPipeline, session: boto3.Session) -> str:
    """Return the salt of hashed values, read with the caller's credentials; empty if nothing is hashed."""
    if not pipeline.hashes:
        return ""
    name = outputs.output(environment, "database", construct_id(pipeline, "HashSaltName"))
    return secret_values(session, name)[SALT_KEY]


def _report(environment: Environment, pipeline: EnvironmentPipeline) -> Path:
    folder = BUILD / f"{environment.prefix}-{pipeline.name}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / REPORT
