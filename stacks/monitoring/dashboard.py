"""The dashboard: one row per part of the pipeline, in the order in which an event passes them."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from contract.metrics import (
    COMMIT_AGE_SECONDS,
    COMMIT_SECONDS,
    DELETES,
    EVENTS,
    LAG_SECONDS,
    LATE_FILES,
    MISSING_OFFSETS,
    QUARANTINED,
    UPSERTS,
)
from stacks.monitoring.metrics import Metrics
from stacks.monitoring.pipelines import WatchedPipeline

WIDTH = 24
# A dashboard takes 500 widgets, and a graph as many lines.
TABLES_OF_A_ROW = 20
MOST_LINES = 100


class Dashboard(Construct):
    """Alarms on top, then the database and the brokers, and for each pipeline connectors, landing and its jobs."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        name: str,
        metrics: Metrics,
        pipelines: Sequence[WatchedPipeline],
        alarms: Sequence[cloudwatch.IAlarm],
    ) -> None:
        super().__init__(scope, id_)
        self._metrics = metrics
        dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=name)
        dashboard.add_widgets(cloudwatch.AlarmStatusWidget(title="Alarms", width=WIDTH, alarms=list(alarms)))
        dashboard.add_widgets(*self._row(self._shared()))
        for pipeline in pipelines:
            dashboard.add_widgets(*self._row(self._pipeline(pipeline)))
            for tables in pipeline.groups(pipeline.tables, TABLES_OF_A_ROW):
                dashboard.add_widgets(*self._row(self._jobs(pipeline, tables)))

    def _shared(self) -> dict[str, list[cloudwatch.IMetric]]:
        return {
            "Behind the database (bytes)": [self._metrics.slot_lag(), self._metrics.wal_disk()],
            "Brokers: disk used (%)": self._metrics.broker_disks(),
        }

    def _pipeline(self, pipeline: WatchedPipeline) -> dict[str, list[cloudwatch.IMetric]]:
        metrics = self._metrics
        tasks = {
            role: metrics.connector(name, "RunningTaskCount", "Minimum") for role, (name, _) in pipeline.roles.items()
        }
        waiting: list[cloudwatch.IMetric] = [
            metrics.events_waiting(pipeline.sink, topic) for topic in pipeline.topics[:MOST_LINES]
        ]
        return {
            f"{pipeline.name}: running tasks": [task.with_(label=role) for role, task in tasks.items()],
            f"{pipeline.name}: records/s": [
                metrics.connector(pipeline.source, "SourceRecordWriteRate", "Average"),
                metrics.connector(pipeline.sink, "SinkRecordSendRate", "Average"),
            ],
            f"{pipeline.name}: events waiting for the sink": waiting,
            f"{pipeline.name}: objects landed": [metrics.landed(pipeline.landed)],
        }

    def _jobs(self, pipeline: WatchedPipeline, tables: Sequence[str]) -> dict[str, list[cloudwatch.IMetric]]:
        """One table's figures by what they are, those of several by table."""

        def job(metric: str, statistic: str) -> list[cloudwatch.IMetric]:
            found = [(table, self._metrics.job(table, metric, statistic)) for table in tables]
            labels = len(tables) > 1
            return [each.with_(label=f"{table} {metric}") if labels else each for table, each in found]

        title = tables[0] if len(tables) == 1 else f"{pipeline.name}: {tables[0]} to {tables[-1]}"
        return {
            f"{title}: age, lag and duration of commits (s)": [
                *job(COMMIT_AGE_SECONDS, "Maximum"),
                *job(LAG_SECONDS, "Maximum"),
                *job(COMMIT_SECONDS, "Maximum"),
            ],
            f"{title}: events": [*job(EVENTS, "Sum"), *job(UPSERTS, "Sum"), *job(DELETES, "Sum")],
            f"{title}: what needs a look": [
                *job(QUARANTINED, "Sum"),
                *job(MISSING_OFFSETS, "Sum"),
                *job(LATE_FILES, "Sum"),
            ],
        }

    def _row(self, graphs: Mapping[str, list[cloudwatch.IMetric]]) -> list[cloudwatch.IWidget]:
        width = WIDTH // len(graphs)
        return [cloudwatch.GraphWidget(title=title, left=lines, width=width) for title, lines in graphs.items()]
