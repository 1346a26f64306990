"""The dashboard, to be read like the live page: the state in the same words, then the stages in an event's order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
from plugins.workers import worker_health
from settings.services import Monitoring
from stacks.monitoring.alarms import MEGABYTE
from stacks.monitoring.metrics import Metrics
from stacks.monitoring.pipelines import WatchedPipeline, WatchedWay
from stacks.monitoring.state_widgets import WIDTH, heading_line, state_widgets
from stacks.monitoring.words import WORDS

# CloudWatch user guide, "CloudWatch service quotas": widgets of a dashboard; a graph of more lines is unreadable.
MOST_WIDGETS = 500
MOST_LINES = 100
TABLES_OF_A_ROW = 20


@dataclass(frozen=True, kw_only=True)
class Limit:
    """From where on an alarm rings, drawn in its graph with the word that it stands for."""

    runbook: str
    value: float
    below: bool = False

    def drawn(self) -> cloudwatch.HorizontalAnnotation:
        """Return the line, with what is beyond it shaded."""
        side = cloudwatch.Shading.BELOW if self.below else cloudwatch.Shading.ABOVE
        return cloudwatch.HorizontalAnnotation(
            value=self.value, label=str(WORDS[self.runbook]), fill=side, color=cloudwatch.Color.RED
        )


@dataclass(frozen=True, kw_only=True)
class Graph:
    """What it shows of which stage, its lines, and what an alarm says of them."""

    title: str
    lines: Sequence[cloudwatch.IMetric]
    limit: Limit | None = None


Row = Sequence[Graph]


class Dashboard(Construct):
    """The state on top, then what all pipelines share, then each pipeline, row by row in the order of the stages."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        name: str,
        metrics: Metrics,
        pipelines: Sequence[WatchedPipeline],
        alarms: Mapping[Word, Sequence[cloudwatch.IAlarm]],
        settings: Monitoring,
    ) -> None:
        super().__init__(scope, id_)
        self._metrics = metrics
        self._settings = settings
        self._pipelines = pipelines
        dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=name)
        dashboard.add_widgets(*state_widgets(name, alarms, self._on_their_way()))
        for title, rows in self._sections():
            dashboard.add_widgets(heading_line(title))
            for row in rows:
                dashboard.add_widgets(*_widgets(row))

    def _sections(self) -> list[tuple[str, list[Row]]]:
        """Return rows by heading; tables share rows, few as they may be, where the dashboard would be too long."""
        sections: list[tuple[str, list[Row]]] = []
        for alone in (True, False):
            sections = [("What all pipelines share", [self._shared()])]
            sections += [(f"Pipeline {one.name}", [*self._pipeline(one, alone=alone)]) for one in self._pipelines]
            if sum(1 + sum(len(row) for row in rows) for _, rows in sections) < MOST_WIDGETS * 9 // 10:
                break
        return sections

    def _on_their_way(self) -> list[cloudwatch.IMetric]:
        """For each pipeline what waits in its topics, if it has any, and what its job has taken in."""
        most = max(MOST_LINES // len(self._pipelines), 1)
        lines: list[cloudwatch.IMetric] = []
        for one in self._pipelines:
            if one.way is not None:
                waiting = f"{one.name}: wait in the {TOPIC}"
                lines.append(self._metrics.waiting(waiting, one.way.sink, one.way.topics[:most]))
            lines.append(self._metrics.taken_in(f"{one.name}: taken in by the {JOB}", one.tables[:most]))
        return lines

    def _shared(self) -> Row:
        lag, disk = self._settings.slot_lag_mb * MEGABYTE, self._settings.broker_disk_percent
        slot = Graph(
            title=f"{SLOT}: log that it holds (bytes)",
            lines=[self._metrics.slot_lag(), self._metrics.wal_disk()],
            limit=Limit(runbook="replication-slot-lag", value=lag),
        )
        has_slots = any(pipeline.way is not None for pipeline in self._pipelines)
        return (
            Graph(title=f"{SOURCE}: commits/s", lines=[self._metrics.commits()]),
            *([slot] if has_slots else []),
            Graph(
                title=f"{TOPIC}: brokers' disks (%)",
                lines=self._metrics.broker_disks(),
                limit=Limit(runbook="broker-disk", value=disk),
            ),
        )

    def _pipeline(self, pipeline: WatchedPipeline, *, alone: bool) -> Iterator[Row]:
        yield from self._on_the_way(pipeline.name, pipeline.way) if pipeline.way else [self._horizon(pipeline)]
        for tables in pipeline.groups(pipeline.tables, TABLES_OF_A_ROW, alone=alone):
            yield self._tables(pipeline, tables)

    def _on_the_way(self, name: str, way: WatchedWay) -> Iterator[Row]:
        metrics = self._metrics
        waiting = [metrics.events_waiting(way.sink, topic) for topic in way.topics[:MOST_LINES]]
        written = metrics.connector(way.source, worker_health.SOURCE_RATE, "Average")
        taken = metrics.connector(way.sink, worker_health.SINK_RATE, "Average")
        yield (
            self._tasks(f"{SLOT} of {name}: tasks that read it", way.source, 1),
            Graph(title=f"{TOPIC} of {name}: events written/s", lines=[written]),
        )
        yield (
            self._tasks(f"{LANDING} of {name}: tasks that write it", way.sink, way.sink_tasks),
            Graph(title=f"{LANDING} of {name}: events behind the {TOPIC}", lines=waiting),
            Graph(title=f"{LANDING} of {name}: events/s", lines=[taken]),
            Graph(title=f"{LANDING} of {name}: objects written", lines=[metrics.landed(way.landed)]),
        )

    def _horizon(self, pipeline: WatchedPipeline) -> Row:
        """Of what is queried: for how long a transaction of its server has been open, which each table tells alike."""
        age = self._metrics.job(pipeline.tables[0], HORIZON_AGE_SECONDS, "Maximum")
        limit = Limit(runbook="horizon-age", value=self._settings.horizon_age_minutes * 60)
        return (Graph(title=f"{SOURCE} of {pipeline.name}: oldest open transaction (s)", lines=[age], limit=limit),)

    def _tasks(self, title: str, connector: str, tasks: int) -> Graph:
        running = self._metrics.connector(connector, worker_health.RUNNING, "Minimum")
        return Graph(
            title=title, lines=[running], limit=Limit(runbook="connector-not-running", value=tasks, below=True)
        )

    def _tables(self, pipeline: WatchedPipeline, tables: Sequence[str]) -> Row:
        """One table's figures by what they are, those of several by table."""

        def job(statistic: str, *names: str) -> list[cloudwatch.IMetric]:
            found = [(table, name, self._metrics.job(table, name, statistic)) for name in names for table in tables]
            labels = len(tables) > 1
            return [each.with_(label=f"{table} {name}") if labels else each for table, name, each in found]

        of = tables[0] if len(tables) == 1 else f"{pipeline.name} ({tables[0]} to {tables[-1]})"
        age = Limit(runbook="commit-age", value=self._settings.commit_age_minutes * 60)
        seconds = job("Maximum", COMMIT_AGE_SECONDS, LAG_SECONDS, COMMIT_SECONDS)
        wrong = job("Sum", FAILED_ATTEMPTS, QUARANTINED, MISSING_OFFSETS, LATE_FILES)
        return (
            Graph(title=f"{JOB} of {of}: events", lines=job("Sum", EVENTS)),
            Graph(title=f"{JOB} of {of}: what needs a look", lines=wrong),
            Graph(title=f"{LAKE} of {of}: rows written and deleted", lines=job("Sum", UPSERTS, DELETES)),
            Graph(title=f"{LAKE} of {of}: age, lag and duration of commits (s)", lines=seconds, limit=age),
        )


def _widgets(row: Row) -> list[cloudwatch.IWidget]:
    return [
        cloudwatch.GraphWidget(
            title=graph.title,
            left=graph.lines,
            left_annotations=[graph.limit.drawn()] if graph.limit else None,
            width=WIDTH // len(row),
        )
        for graph in row
    ]
