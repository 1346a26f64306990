"""The alarms: their words, limits and texts by runbook, and one for each way in which events can stop flowing.

Needs no CDK: stacks/monitoring/stack.py creates the alarms, and stacks/gate/expected.py compares them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import methodcaller
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from contract.metrics import COMMIT_AGE_SECONDS, FAILED_ATTEMPTS, HORIZON_AGE_SECONDS, IGNORED_TRUNCATES, QUARANTINED
from contract.states import CATALOGUE, JOB, MEANING, QUARANTINED_MINUTES, STAGES, Word
from plugins.connector_settings import SinkSettings
from plugins.workers import connect_workers
from settings.connectors import sink_settings, source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.services import Monitoring

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

    from stacks.monitoring.metrics import Metrics

PERIOD_MINUTES = 5
# Metric math in an alarm takes ten metrics (CloudWatch user guide, "Using metric math"; quotas); one counts the landed
# objects. A pipeline with no more tables than this has an alarm for each.
OF_AN_ALARM = 9
MEGABYTE = 1024 * 1024
# At this multiple of the first alarm's limit, its runbook hasn't helped, and storage is what matters.
WAL_DISK_FACTOR = 4
# Runbook (a section of docs/aws/alarms.md, which names alarms and events) → its word (docs/decisions/0059).
WORDS: Mapping[str, Word] = MappingProxyType(
    {
        # MSK Connect doesn't restart connectors, EMR neither clusters nor steps.
        "connector-not-running": Word.DOWN,
        "emr-cluster-terminated": Word.DOWN,
        "emr-step-failed": Word.DOWN,
        # Something has reported a failure or a fault.
        "broker-disk": Word.FAILING,
        "connector-task-failed": Word.FAILING,
        "ignored-truncate": Word.FAILING,
        "quarantined-events": Word.FAILING,
        "table-failing": Word.FAILING,
        # It claims to run, but without results.
        "nothing-landed": Word.NO_ANSWER,
        # Changes come, but late.
        "commit-age": Word.LATE,
        "horizon-age": Word.LATE,
        "replication-slot-lag": Word.LATE,
        "wal-disk": Word.LATE,
    }
)
# Reported by mail, without an alarm: EMR's events by their detail-type and state.
EVENTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "emr-step-failed": ("EMR Step Status Change", "FAILED"),
        "emr-cluster-terminated": ("EMR Cluster State Change", "TERMINATED_WITH_ERRORS"),
    }
)
# The words without alarms, and how the dashboard shows them.
ON_THEIR_WAY = f"{Word.MOVING} / {Word.UP_TO_DATE}: events on their way"
UNALARMED: Mapping[Word, str] = MappingProxyType(
    {
        Word.STARTING: "alarms that have no state yet (INSUFFICIENT_DATA), as after a first deployment",
        Word.MOVING: f'no alarm, and "{ON_THEIR_WAY}" is above 0',
        Word.UP_TO_DATE: "no alarm, and that graph is at 0",
    }
)


def limits(settings: Monitoring) -> Mapping[str, float]:
    """The limits by runbook. Connectors' alarms use their tasks instead; all others without an entry use 0."""
    return {
        "replication-slot-lag": settings.slot_lag_mb * MEGABYTE,
        "wal-disk": WAL_DISK_FACTOR * settings.slot_lag_mb * MEGABYTE,
        "broker-disk": settings.broker_disk_percent,
        "commit-age": settings.commit_age_minutes * 60,
        "horizon-age": settings.horizon_age_minutes * 60,
    }


def alarm_text(runbook: str, what: str) -> str:
    """Write an alarm's or event's text: its word, the facts, and its runbook."""
    return f"{WORDS[runbook]}: {what}. Runbook: docs/aws/alarms.md#{runbook}"


def event_pattern(prefix: str, runbook: str) -> dict[str, Any]:
    """EventBridge's pattern of an event. They are matched by name: a replaced cluster has another id."""
    type_, state = EVENTS[runbook]
    name = {"prefix": f"{prefix}-"} if runbook == "emr-step-failed" else prefix
    return {"source": ["aws.emr"], "detail-type": [type_], "detail": {"state": [state], "name": [name]}}


def heading(word: Word) -> str:
    return f"{word}: {MEANING[word]}"


def key(name: str) -> str:
    """Return, in Markdown, what the words mean and how to read the graphs."""
    return "\n".join(
        (
            f"## {name}",
            "The live page's words. An alarm tells its word of one part; the first row with a red one is the state.",
            "",
            "| word | what it means | here |",
            "|---|---|---|",
            *(f"| **{word}** | {MEANING[word]} | {_here(word)} |" for word in Word),
            "",
            f"Graphs are in the order in which an event passes: {' → '.join(STAGES)}. The {CATALOGUE} has no figure:"
            f" the {JOB} tells it of new columns and partitions, and says in its log when that fails.",
        )
    )


def _here(word: Word) -> str:
    runbooks = (f"{each} (by mail)" if each in EVENTS else each for each, its_word in WORDS.items() if its_word is word)
    return UNALARMED.get(word) or ", ".join(runbooks)


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
    settings = environment.monitoring
    if environment.streamed:
        lag = settings.slot_lag_mb
        behind = f"The connector is more than {lag} MB behind the database"
        yield Watch("replication-slot-lag", methodcaller("slot_lag"), behind)
        kept = f"Logical replication keeps more than {WAL_DISK_FACTOR * lag} MB of log"
        yield Watch("wal-disk", methodcaller("wal_disk"), kept)
    for pipeline in environment.streamed:
        sink = sink_settings(environment, pipeline)
        yield from _of_connectors(pipeline, source_settings(environment, pipeline).name, sink)
        yield from _of_landing(settings, pipeline, sink)
    disk = f"A broker's disk is more than {settings.broker_disk_percent} % full"
    yield Watch("broker-disk", methodcaller("broker_disk"), disk)
    for pipeline in environment.pipelines:
        captured = pipeline.captured
        for about, tables in _alarmed(pipeline, captured.lake_tables):
            yield from _of_job(settings, about, tables)
        if pipeline.is_queried:
            # All its tables report the same.
            age = methodcaller("job", captured.lake_tables[0], HORIZON_AGE_SECONDS, "Maximum")
            opened = (
                f"A transaction of {pipeline.name}'s server has been open for {settings.horizon_age_minutes} minutes"
            )
            yield Watch("horizon-age", age, f"{opened}, or no job says", about=pipeline.name, periods=2)
        handling = [captured.lake_table(table) for table in captured.tables if table.handles_truncate]
        for about, tables in _alarmed(pipeline, handling):
            emptied = f"{', '.join(tables)}: emptied by TRUNCATE, and the lake keeps the rows; or no job says"
            metric = methodcaller("worst_job", tables, IGNORED_TRUNCATES, "Maximum")
            yield Watch("ignored-truncate", metric, emptied, about=about, periods=2)


def _alarmed(pipeline: EnvironmentPipeline, names: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Distribute tables among alarms: yield each alarm's subject and tables.

    Up to nine tables have an alarm each; more are grouped by nines, numbered.
    """
    if len(names) <= OF_AN_ALARM:
        yield from ((name, [name]) for name in names)
    else:
        yield from ((f"{pipeline.name}-{number}", some) for number, some in enumerate(cut(names, OF_AN_ALARM), 1))


def _of_connectors(pipeline: EnvironmentPipeline, source: str, sink: SinkSettings) -> Iterator[Watch]:
    for end, name, tasks in (("source", source, 1), ("sink", sink.name, sink.tasks_max)):
        role = end if pipeline.is_first else f"{end}-{pipeline.name}"
        running = methodcaller("connector", name, connect_workers.RUNNING, "Minimum")
        fewer = f"The {role} connector runs fewer than {tasks} task(s)"
        yield Watch("connector-not-running", running, fewer, about=role, least=tasks)
        failed = methodcaller("connector", name, connect_workers.FAILED, "Maximum")
        one = f"A task of the {role} connector has failed"
        yield Watch("connector-task-failed", failed, one, about=role, periods=1)


def _of_landing(settings: Monitoring, pipeline: EnvironmentPipeline, sink: SinkSettings) -> Iterator[Watch]:
    minutes, groups = settings.landing_silence_minutes, cut(sink.topics, OF_AN_ALARM)
    for number, topics in enumerate(groups, 1):
        where = "the topic" if len(topics) == 1 else f"a topic of {pipeline.name}"
        yield Watch(
            "nothing-landed",
            methodcaller("nothing_landed", sink.name, topics, pipeline.landed_filter),
            f"Events wait in {where}, and nothing has landed for {minutes} minutes",
            about=("" if pipeline.is_first else pipeline.name) + (f"-{number}" if len(groups) > 1 else ""),
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


def cut(names: Sequence[str], size: int) -> list[Sequence[str]]:
    """Split names into groups of this size."""
    return [names[first : first + size] for first in range(0, len(names), size)]
