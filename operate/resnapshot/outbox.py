"""Brings an environment's lake in line with its source: `./lake resnapshot` on AWS."""

import json
from collections.abc import Callable

from contract.events import LSN
from local.comparison.compare import TableComparison
from local.resnapshot.run import Wanted, resnapshot
from operate import outputs, source_cluster
from operate.errors import OperateError
from operate.kafka import reader
from operate.kafka.cluster import of_environment
from operate.kafka.reader import Reader
from operate.resnapshot.connectors import source_of
from operate.sides import login, sides
from settings.connectors import source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.pipeline import CapturedTableSettings

TAIL_EVENTS = 1_000
# On AWS, landing and commits take a minute each, and an update of the connector several.
TIMEOUT_S = 1_800


def resnapshot_environment(environment: Environment, wanted: Wanted, say: Callable[[str], None]) -> TableComparison:
    """Re-snapshot a deployed environment, from a machine that reaches its VPC. Raises OperateError, PlatformError."""
    pipeline, outbox = _outbox(environment)
    session = outputs.check_account(environment)
    with outputs.one_line(environment), login(environment, session, pipeline) as parameters:
        topic = source_settings(environment, pipeline).topic
        with reader.connect(of_environment(environment, pipeline.name)) as messages:
            newest = newest_position(messages, topic)
        connector = source_of(environment, pipeline, session, newest=newest)
        with sides(environment, pipeline, session, parameters, [outbox]) as both:
            comparison = resnapshot(both, connector, wanted, say)
        if comparison.equal and wanted.where is None:
            source_cluster.nothing_missed(session.client("rds", config=outputs.QUICK), environment)
        return comparison


def _outbox(environment: Environment) -> tuple[EnvironmentPipeline, CapturedTableSettings]:
    """Return the pipeline of the outbox, and the outbox. Raises OperateError."""
    pipeline = environment.outbox
    if pipeline is None or pipeline.captured.outbox is None:
        raise OperateError(f"environments/{environment.name}.toml names no pipeline with an outbox")
    return pipeline, pipeline.captured.outbox


def newest_position(messages: Reader, topic: str) -> int:
    """Return the highest log position among a topic's newest events, 0 if it holds none. Raises KafkaException."""
    tail = messages.to_the_end(topic, lambda _partition, end: end - TAIL_EVENTS)
    events = (json.loads(value) for message in tail if (value := message.value()))
    return max((int(event.get(LSN) or 0) for event in events), default=0)
