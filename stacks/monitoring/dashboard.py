"""The dashboard, laid out like the live page: the state in the same words, then the stages in an event's order."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from contract.metrics import (
    COMMIT_AGE_SECONDS,
    COMMIT_SECONDS,
    DELETES,
    EVENTS,
    FAILED_ATTEMPTS,
    HORIZON_AGE_SECONDS,
    LAG_SECONDS,
    LATE_FILES,
    MISSING_OFFSETS,
    QUARANTINED,
    UPSERTS,
)
from contract.states import JOB, LAKE, LANDING, SLOT, SOURCE, TOPIC, Word
from plugins.workers import connect_workers
from settings.connectors import sink_settings, source_settings
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.monitoring.metrics import Metrics
from stacks.monitoring.watches import OF_AN_ALARM, ON_THEIR_WAY, UNALARMED, WORDS, cut, heading, key, limits

# CloudWatch's dashboards are 24 units wide; an alarm status widget shows 100 alarms at most (API reference, "Dashboard
# Body Structure and Syntax").
WIDTH = 24
HALF = WIDTH // 2
ALARMS_OF_A_WIDGET = 100
ALARMS_OF_A_LINE = 4
KEY_HEIGHT = 11
GRAPH_HEIGHT = 5
# CloudWatch user guide, "CloudWatch service quotas": widgets per dashboard; a graph with more lines is unreadable.
MOST_WIDGETS = 500
MOST_LINES = 100
TABLES_OF_A_ROW = 20


@dataclass(frozen=True)
class Graph:
    """A graph's title, with its stage, its lines, and its alarm's limit."""

    title: str
    lines: Sequence[cloudwatch.IMetric]
    limit: cloudwatch.HorizontalAnnotation | None = None


Row = Sequence[Graph]


class Dashboard(Construct):
    """The state on top, then what all pipelines share, then each pipeline, row by row in the order of the stages."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        environment: Environment,
        alarms: Mapping[Word, Sequence[cloudwatch.IAlarm]],
    ) -> None:
        super().__init__(scope, id_)
        self._environment = environment
        self._metrics = Metrics(environment)
        self._limits = limits(environment.monitoring)
        dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=environment.prefix)
        dashboard.add_widgets(*_state_widgets(environment.prefix, alarms, self._on_their_way()))
        for title, rows in self._sections():
            line = cloudwatch.TextWidgetBackground.TRANSPARENT
            dashboard.add_widgets(cloudwatch.TextWidget(markdown=f"## {title}", width=WIDTH, height=1, background=line))
            for row in rows:
                dashboard.add_widgets(*_widgets(row))

    def _sections(self) -> list[tuple[str, list[Row]]]:
        """Return rows by heading; tables share rows only if the dashboard would otherwise be too long."""
        sections: list[tuple[str, list[Row]]] = []
        for alone in (True, False):
            sections = [("What all pipelines share", [self._shared()])]
            for one in self._environment.pipelines:
                sections.append((f"Pipeline {one.name}", [*self._pipeline(one, alone=alone)]))
            if sum(1 + sum(len(row) for row in rows) for _, rows in sections) < MOST_WIDGETS * 9 // 10:
                break
        return sections

    def _on_their_way(self) -> list[cloudwatch.IMetric]:
        """For each pipeline, events waiting in its topics, if it has any, and events taken in by its job."""
        metrics, pipelines = self._metrics, self._environment.pipelines
        most = max(MOST_LINES // len(pipelines), 1)
        lines: list[cloudwatch.IMetric] = []
        for one in pipelines:
            if not one.is_queried:
                sink = sink_settings(self._environment, one)
                waiting = [metrics.events_waiting(sink.name, topic) for topic in sink.topics[:most]]
                lines.append(metrics.sum(f"{one.name}: wait in the {TOPIC}", waiting))
            taken = [metrics.job(table, EVENTS, "Sum") for table in one.captured.lake_tables[:most]]
            lines.append(metrics.sum(f"{one.name}: taken in by the {JOB}", taken))
        return lines

    def _shared(self) -> Row:
        held = [self._metrics.slot_lag(), self._metrics.wal_disk()]
        slot = Graph(f"{SLOT}: log that it holds (bytes)", held, self._limit("replication-slot-lag"))
        return (
            Graph(f"{SOURCE}: commits/s", [self._metrics.commits()]),
            *([slot] if self._environment.streamed else []),
            Graph(f"{TOPIC}: brokers' disks (%)", self._metrics.broker_disks(), self._limit("broker-disk")),
        )

    def _pipeline(self, pipeline: EnvironmentPipeline, *, alone: bool) -> Iterator[Row]:
        yield from [self._horizon(pipeline)] if pipeline.is_queried else self._on_the_way(pipeline)
        lake_tables = pipeline.captured.lake_tables
        few = alone and len(lake_tables) <= OF_AN_ALARM
        for tables in cut(lake_tables, 1 if few else TABLES_OF_A_ROW):
            yield self._tables(pipeline.name, tables)

    def _on_the_way(self, pipeline: EnvironmentPipeline) -> Iterator[Row]:
        metrics, name = self._metrics, pipeline.name
        source, sink = source_settings(self._environment, pipeline).name, sink_settings(self._environment, pipeline)
        waiting = [metrics.events_waiting(sink.name, topic) for topic in sink.topics[:MOST_LINES]]
        written = metrics.connector(source, connect_workers.SOURCE_RATE, "Average")
        taken = metrics.connector(sink.name, connect_workers.SINK_RATE, "Average")
        yield (
            self._tasks(f"{SLOT} of {name}: tasks that read it", source, 1),
            Graph(f"{TOPIC} of {name}: events written/s", [written]),
        )
        yield (
            self._tasks(f"{LANDING} of {name}: tasks that write it", sink.name, sink.tasks_max),
            Graph(f"{LANDING} of {name}: events behind the {TOPIC}", waiting),
            Graph(f"{LANDING} of {name}: events/s", [taken]),
            Graph(f"{LANDING} of {name}: objects written", [metrics.landed(pipeline.landed_filter)]),
        )

    def _horizon(self, pipeline: EnvironmentPipeline) -> Row:
        """How long a transaction of a queried server has been open; all tables report the same, so show one."""
        age = self._metrics.job(pipeline.captured.lake_tables[0], HORIZON_AGE_SECONDS, "Maximum")
        title = f"{SOURCE} of {pipeline.name}: oldest open transaction (s)"
        return (Graph(title, [age], self._limit("horizon-age")),)

    def _limit(self, runbook: str) -> cloudwatch.HorizontalAnnotation:
        return _drawn(runbook, self._limits[runbook], cloudwatch.Shading.ABOVE)

    def _tasks(self, title: str, connector: str, tasks: int) -> Graph:
        running = self._metrics.connector(connector, connect_workers.RUNNING, "Minimum")
        return Graph(title, [running], _drawn("connector-not-running", tasks, cloudwatch.Shading.BELOW))

    def _tables(self, pipeline: str, tables: Sequence[str]) -> Row:
        """Label one table's lines by metric, those of several by table as well."""

        def job(statistic: str, *names: str) -> list[cloudwatch.IMetric]:
            found = [(table, name, self._metrics.job(table, name, statistic)) for name in names for table in tables]
            labels = len(tables) > 1
            return [each.with_(label=f"{table} {name}") if labels else each for table, name, each in found]

        of = tables[0] if len(tables) == 1 else f"{pipeline} ({tables[0]} to {tables[-1]})"
        seconds = job("Maximum", COMMIT_AGE_SECONDS, LAG_SECONDS, COMMIT_SECONDS)
        wrong = job("Sum", FAILED_ATTEMPTS, QUARANTINED, MISSING_OFFSETS, LATE_FILES)
        return (
            Graph(f"{JOB} of {of}: events", job("Sum", EVENTS)),
            Graph(f"{JOB} of {of}: what needs a look", wrong),
            Graph(f"{LAKE} of {of}: rows written and deleted", job("Sum", UPSERTS, DELETES)),
            Graph(f"{LAKE} of {of}: age, lag and duration of commits (s)", seconds, self._limit("commit-age")),
        )


def _drawn(runbook: str, value: float, side: cloudwatch.Shading) -> cloudwatch.HorizontalAnnotation:
    """Return an alarm's limit with its status word and the side beyond it shaded."""
    return cloudwatch.HorizontalAnnotation(
        value=value, label=str(WORDS[runbook]), fill=side, color=cloudwatch.Color.RED
    )


def _widgets(row: Row) -> list[cloudwatch.IWidget]:
    return [
        cloudwatch.GraphWidget(
            title=graph.title,
            left=graph.lines,
            left_annotations=[graph.limit] if graph.limit else None,
            width=WIDTH // len(row),
        )
        for graph in row
    ]


def _state_widgets(
    name: str, alarms: Mapping[Word, Sequence[cloudwatch.IAlarm]], on_their_way: Sequence[cloudwatch.IMetric]
) -> list[cloudwatch.IWidget]:
    """Create the top: on the left the key, and the graph for times without alarms; on the right the alarms by word."""
    widgets = [widget for word in Word for widget in _alarm_widgets(word, alarms)]
    height = max(sum(int(widget.height) for widget in widgets), KEY_HEIGHT + GRAPH_HEIGHT)
    columns = (
        cloudwatch.Column(
            cloudwatch.TextWidget(markdown=key(name), width=HALF, height=KEY_HEIGHT),
            cloudwatch.GraphWidget(title=ON_THEIR_WAY, left=list(on_their_way), width=HALF, height=height - KEY_HEIGHT),
        ),
        cloudwatch.Column(*widgets),
    )
    # jsii's Column has a widget's properties only at run time.
    return [cast("cloudwatch.IWidget", column) for column in columns]


def _alarm_widgets(word: Word, alarms: Mapping[Word, Sequence[cloudwatch.IAlarm]]) -> Iterator[cloudwatch.IWidget]:
    """Yield a word's alarms, ringing ones first; for the word "starting", all alarms without a state yet."""
    starting = word is Word.STARTING
    every = [alarm for some in alarms.values() for alarm in some] if starting else [*alarms[word]]
    if word in UNALARMED and not starting:
        return
    for first in range(0, len(every), ALARMS_OF_A_WIDGET):
        some = every[first : first + ALARMS_OF_A_WIDGET]
        yield cloudwatch.AlarmStatusWidget(
            title=heading(word),
            alarms=some,
            states=[cloudwatch.AlarmState.INSUFFICIENT_DATA] if starting else None,
            sort_by=cloudwatch.AlarmStatusWidgetSortBy.STATE_UPDATED_TIMESTAMP,
            width=HALF,
            height=3 if starting else 2 + math.ceil(len(some) / ALARMS_OF_A_LINE),
        )
