"""What is watched: each pipeline's parts, and an alarm for each way in which events can stop flowing.

Needs no CDK: stacks/monitoring/alarms.py creates the alarms, and stacks/gate/expected.py compares them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import methodcaller
from typing import TYPE_CHECKING

from contract.metrics import COMMIT_AGE_SECONDS, FAILED_ATTEMPTS, HORIZON_AGE_SECONDS, IGNORED_TRUNCATES, QUARANTINED
from contract.states import QUARANTINED_MINUTES
from plugins.workers import connect_workers
from settings.connectors import sink_settings, source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.services import Monitoring
from stacks.monitoring.watches import WAL_DISK_FACTOR, limits

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

    from stacks.monitoring.metrics import Metrics

PERIOD_MINUTES = 5
# Metric math in an alarm takes ten metrics (CloudWatch user guide, "Using metric math"; quotas); one counts the landed
# objects. A pipeline with no more tables than this has an alarm for each.
OF_AN_ALARM = 9


@dataclass(frozen=True, kw_only=True)
class WatchedWay:
    """An event's path from the log to the landing bucket: both connectors, the topics, the landing filter."""

    source: str
    sink: str
    sink_tasks: int
    topics: Sequence[str]
    landed: str


@dataclass(frozen=True, kw_only=True)
class WatchedPipeline:
    """A pipeline's names: its tables in the lake, and its events' path, None for a query-based one.

    `ignoring` are the tables whose TRUNCATEs are ignored. `suffix` distinguishes its alarms from other pipelines'; the
    first one's is empty.
    """

    name: str
    suffix: str
    way: WatchedWay | None
    tables: Sequence[str]
    ignoring: Sequence[str]

    def alarmed(self, names: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
        """Distribute tables among alarms: yield each alarm's subject and tables.

        Up to nine tables have an alarm each; more are grouped by nines, numbered.
        """
        if len(names) <= OF_AN_ALARM:
            yield from ((name, [name]) for name in names)
        else:
            yield from ((f"{self.name}-{number}", some) for number, some in enumerate(cut(names, OF_AN_ALARM), 1))


def watched(environment: Environment) -> list[WatchedPipeline]:
    """Return what is watched of each of an environment's pipelines."""
    return [_watched(environment, pipeline) for pipeline in environment.pipelines]


def _watched(environment: Environment, pipeline: EnvironmentPipeline) -> WatchedPipeline:
    way = None
    if not pipeline.is_queried:
        sink = sink_settings(environment, pipeline)
        way = WatchedWay(
            source=source_settings(environment, pipeline).name,
            sink=sink.name,
            sink_tasks=pipeline.sink.tasks,
            topics=sink.topics,
            landed=pipeline.landed_filter,
        )
    return WatchedPipeline(
        name=pipeline.name,
        suffix="" if pipeline.is_first else f"-{pipeline.name}",
        way=way,
        tables=pipeline.captured.lake_tables,
        ignoring=[pipeline.captured.lake_table(table) for table in pipeline.captured.tables if table.ignores_truncate],
    )


@dataclass(frozen=True)
class Watch:
    """An alarm's metric, what it tells, and the number of periods.

    It is named after its runbook; `about` distinguishes alarms that share one. It alarms above the runbook's limit, or
    below `least`. `metric` creates its metric.
    """

    runbook: str
    metric: Callable[["Metrics"], "cloudwatch.IMetric"]
    what: str
    _: KW_ONLY
    about: str = ""
    least: int | None = None
    periods: int = 3
    datapoints: int | None = None

    @property
    def name(self) -> str:
        return "-".join(filter(None, [self.runbook, self.about]))

    def threshold(self, settings: Monitoring) -> float:
        return limits(settings).get(self.runbook, 0) if self.least is None else self.least


def watches(environment: Environment) -> Iterator[Watch]:
    """Yield one watch for each way in which events can stop flowing."""
    settings, pipelines = environment.monitoring, watched(environment)
    # Query-based pipelines have no slot.
    if any(pipeline.way for pipeline in pipelines):
        yield from _of_slots(settings)
    for pipeline in pipelines:
        if pipeline.way:
            yield from _of_connectors(pipeline, pipeline.way)
            yield from _of_landing(settings, pipeline, pipeline.way)
    disk = f"A broker's disk is more than {settings.broker_disk_percent} % full"
    yield Watch("broker-disk", methodcaller("broker_disk"), disk)
    for pipeline in pipelines:
        for about, tables in pipeline.alarmed(pipeline.tables):
            yield from _of_job(settings, about, tables)
        if not pipeline.way:
            yield _of_horizon(settings, pipeline)
        for about, tables in pipeline.alarmed(pipeline.ignoring):
            emptied = f"{', '.join(tables)}: emptied by TRUNCATE, and the lake keeps the rows; or no job says"
            metric = methodcaller("worst_job", tables, IGNORED_TRUNCATES, "Maximum")
            yield Watch("ignored-truncate", metric, emptied, about=about, periods=2)


def _of_slots(settings: Monitoring) -> Iterator[Watch]:
    lag = settings.slot_lag_mb
    behind = f"The connector is more than {lag} MB behind the database"
    yield Watch("replication-slot-lag", methodcaller("slot_lag"), behind)
    kept = f"Logical replication keeps more than {WAL_DISK_FACTOR * lag} MB of log"
    yield Watch("wal-disk", methodcaller("wal_disk"), kept)


def _of_connectors(pipeline: WatchedPipeline, way: WatchedWay) -> Iterator[Watch]:
    for end, name, tasks in (("source", way.source, 1), ("sink", way.sink, way.sink_tasks)):
        role = f"{end}{pipeline.suffix}"
        running = methodcaller("connector", name, connect_workers.RUNNING, "Minimum")
        fewer = f"The {role} connector runs fewer than {tasks} task(s)"
        yield Watch("connector-not-running", running, fewer, about=role, least=tasks)
        failed = methodcaller("connector", name, connect_workers.FAILED, "Maximum")
        one = f"A task of the {role} connector has failed"
        yield Watch("connector-task-failed", failed, one, about=role, periods=1)


def _of_landing(settings: Monitoring, pipeline: WatchedPipeline, way: WatchedWay) -> Iterator[Watch]:
    minutes, groups = settings.landing_silence_minutes, cut(way.topics, OF_AN_ALARM)
    for number, topics in enumerate(groups, 1):
        where = "the topic" if len(topics) == 1 else f"a topic of {pipeline.name}"
        yield Watch(
            "nothing-landed",
            methodcaller("nothing_landed", way.sink, topics, way.landed),
            f"Events wait in {where}, and nothing has landed for {minutes} minutes",
            about=pipeline.suffix.removeprefix("-") + (f"-{number}" if len(groups) > 1 else ""),
            periods=math.ceil(minutes / PERIOD_MINUTES),
        )


def _of_job(settings: Monitoring, about: str, tables: Sequence[str]) -> Iterator[Watch]:
    named = about if len(tables) == 1 else f"a table of {about} ({tables[0]} to {tables[-1]})"
    age = methodcaller("worst_job", tables, COMMIT_AGE_SECONDS, "Maximum")
    minutes = settings.commit_age_minutes
    late = f"{named} hasn't been brought up to date for {minutes} minutes, or its job is gone"
    yield Watch("commit-age", age, late, about=about, periods=2)
    aside = methodcaller("worst_job", tables, QUARANTINED, "Sum")
    misfits = f"Events of {named} didn't fit and were set aside, or its job is gone"
    periods = QUARANTINED_MINUTES // PERIOD_MINUTES
    yield Watch("quarantined-events", aside, misfits, about=about, periods=periods, datapoints=1)
    attempts = methodcaller("worst_job", tables, FAILED_ATTEMPTS, "Sum")
    yield Watch("table-failing", attempts, f"{named} fails again and again, or its job is gone", about=about)


def _of_horizon(settings: Monitoring, pipeline: WatchedPipeline) -> Watch:
    """A long-open transaction on a query-based pipeline's server; all its tables report the same, so watch one."""
    age = methodcaller("job", pipeline.tables[0], HORIZON_AGE_SECONDS, "Maximum")
    minutes = settings.horizon_age_minutes
    what = f"A transaction of {pipeline.name}'s server has been open for {minutes} minutes, or no job says"
    return Watch("horizon-age", age, what, about=pipeline.name, periods=2)


def cut(names: Sequence[str], size: int) -> list[Sequence[str]]:
    """Split names into groups of this size."""
    return [names[first : first + size] for first in range(0, len(names), size)]
