"""The dashboard: one row per part of the pipeline, in the order in which an event passes them."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from contract import metrics as names
from stacks.monitoring.metrics import Metrics

WIDTH = 24


class Dashboard(Construct):
    """Alarms on top, then source, connectors, broker, landing, and each table's job."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        name: str,
        metrics: Metrics,
        connectors: Mapping[str, str],
        tables: Sequence[str],
        alarms: Sequence[cloudwatch.IAlarm],
    ) -> None:
        super().__init__(scope, id_)
        self._metrics = metrics
        dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=name)
        dashboard.add_widgets(cloudwatch.AlarmStatusWidget(title="Alarms", width=WIDTH, alarms=list(alarms)))
        dashboard.add_widgets(*self._row(self._source(connectors)))
        dashboard.add_widgets(*self._row(self._landing()))
        for table in tables:
            dashboard.add_widgets(*self._row(self._job(table)))

    def _source(self, connectors: Mapping[str, str]) -> dict[str, list[cloudwatch.IMetric]]:
        metrics = self._metrics
        tasks = [metrics.connector(name, "RunningTaskCount", "Minimum") for name in connectors.values()]
        return {
            "Behind the database (bytes)": [metrics.slot_lag(), metrics.wal_disk()],
            "Connectors: running tasks": [task.with_(label=role) for task, role in zip(tasks, connectors, strict=True)],
            "Connectors: records/s": [
                metrics.connector(connectors["source"], "SourceRecordWriteRate", "Average"),
                metrics.connector(connectors["sink"], "SinkRecordSendRate", "Average"),
            ],
        }

    def _landing(self) -> dict[str, list[cloudwatch.IMetric]]:
        metrics = self._metrics
        return {
            "Brokers: disk used (%)": metrics.broker_disks(),
            "Events waiting for the sink": [metrics.events_waiting()],
            "Objects landed": [metrics.landed()],
        }

    def _job(self, table: str) -> dict[str, list[cloudwatch.IMetric]]:
        def job(metric: str, statistic: str) -> cloudwatch.IMetric:
            return self._metrics.job(table, metric, statistic)

        return {
            f"{table}: age, lag and duration of commits (s)": [
                job(names.COMMIT_AGE_SECONDS, "Maximum"),
                job(names.LAG_SECONDS, "Maximum"),
                job(names.COMMIT_SECONDS, "Maximum"),
            ],
            f"{table}: events": [job(names.EVENTS, "Sum"), job(names.UPSERTS, "Sum"), job(names.DELETES, "Sum")],
            f"{table}: what needs a look": [
                job(names.QUARANTINED, "Sum"),
                job(names.MISSING_OFFSETS, "Sum"),
                job(names.LATE_FILES, "Sum"),
            ],
        }

    def _row(self, graphs: Mapping[str, list[cloudwatch.IMetric]]) -> list[cloudwatch.IWidget]:
        width = WIDTH // len(graphs)
        return [cloudwatch.GraphWidget(title=title, left=lines, width=width) for title, lines in graphs.items()]
