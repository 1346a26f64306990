"""The alarms: one for each way in which events can stop flowing. No data is as bad as bad data: it alarms, too."""

import math
from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from contract.metrics import COMMIT_AGE_SECONDS, FAILED_ATTEMPTS, HORIZON_AGE_SECONDS, IGNORED_TRUNCATES, QUARANTINED
from contract.states import Word
from plugins.workers import worker_health
from settings.services import Monitoring
from stacks.monitoring.metrics import PERIOD_MINUTES, Metrics
from stacks.monitoring.pipelines import OF_AN_ALARM, WatchedPipeline, WatchedWay
from stacks.monitoring.words import WORDS, said

MEGABYTE = 1024 * 1024
# At this multiple of the lag that the first alarm allows, its runbook hasn't helped and the storage is what matters.
WAL_DISK_FACTOR = 4
# What rings in a pause, too: the brokers go on.
IN_A_PAUSE = frozenset({"broker-disk"})
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD


class Alarms:
    """Makes the alarms of one environment in its stack; `by_word` has them by the word that they stand for."""

    def __init__(
        self,
        scope: Construct,
        *,
        prefix: str,
        settings: Monitoring,
        metrics: Metrics,
        pipelines: Sequence[WatchedPipeline],
        topic: sns.ITopic,
        paused: bool = False,
    ) -> None:
        self._scope = scope
        self._prefix = prefix
        self._settings = settings
        self._metrics = metrics
        self._pipelines = pipelines
        self._paused = paused
        self._notification = actions.SnsAction(topic)
        self.by_word: dict[Word, list[cloudwatch.IAlarm]] = {word: [] for word in Word}
        self._database_alarms()
        self._streaming_alarms()
        self._job_alarms()

    def _database_alarms(self) -> None:
        """Of slots, where somebody reads the log: of what is queried the cluster keeps none."""
        if all(pipeline.way is None for pipeline in self._pipelines):
            return
        limit = self._settings.slot_lag_mb * MEGABYTE
        self._alarm(
            "replication-slot-lag",
            self._metrics.slot_lag(),
            threshold=limit,
            what=f"The connector is more than {self._settings.slot_lag_mb} MB behind the database",
        )
        self._alarm(
            "wal-disk",
            self._metrics.wal_disk(),
            threshold=WAL_DISK_FACTOR * limit,
            what=f"Logical replication keeps more than {WAL_DISK_FACTOR * self._settings.slot_lag_mb} MB of log",
        )

    def _streaming_alarms(self) -> None:
        for pipeline in self._pipelines:
            self._connector_alarms(pipeline)
            if pipeline.way is not None:
                self._landing_alarms(pipeline, pipeline.way)
        disk = self._settings.broker_disk_percent
        self._alarm(
            "broker-disk",
            self._metrics.broker_disk(),
            threshold=disk,
            what=f"A broker's disk is more than {disk} % full",
        )

    def _connector_alarms(self, pipeline: WatchedPipeline) -> None:
        for role, (name, tasks) in pipeline.roles.items():
            self._alarm(
                "connector-not-running",
                self._metrics.connector(name, worker_health.RUNNING, "Minimum"),
                about=role,
                threshold=tasks,
                comparison=BELOW,
                what=f"The {role} connector runs fewer than {tasks} task(s)",
            )
            self._alarm(
                "connector-task-failed",
                self._metrics.connector(name, worker_health.FAILED, "Maximum"),
                about=role,
                threshold=0,
                periods=1,
                what=f"A task of the {role} connector has failed",
            )

    def _landing_alarms(self, pipeline: WatchedPipeline, way: WatchedWay) -> None:
        minutes = self._settings.landing_silence_minutes
        groups = list(pipeline.groups(way.topics, OF_AN_ALARM)) if len(way.topics) > OF_AN_ALARM else []
        for number, topics in enumerate(groups or [way.topics], 1):
            about = pipeline.suffix.removeprefix("-") + (f"-{number}" if groups else "")
            self._alarm(
                "nothing-landed",
                self._metrics.nothing_landed(way.sink, topics, way.landed),
                about=about or None,
                threshold=0,
                periods=_periods(minutes),
                what=f"Events wait in the topic, and nothing has landed for {minutes} minutes"
                if len(topics) == 1
                else f"Events wait in a topic of {pipeline.name}, and nothing has landed for {minutes} minutes",
            )

    def _job_alarms(self) -> None:
        minutes = self._settings.commit_age_minutes
        for pipeline in self._pipelines:
            for about, tables in pipeline.alarmed(pipeline.tables, of_one="{}"):
                named = about if len(tables) == 1 else f"a table of {about} ({tables[0]} to {tables[-1]})"
                self._alarm(
                    "commit-age",
                    self._metrics.worst_job(tables, COMMIT_AGE_SECONDS, "Maximum"),
                    about=about,
                    threshold=minutes * 60,
                    periods=2,
                    what=f"{named} hasn't been brought up to date for {minutes} minutes, or its job is gone",
                )
                self._alarm(
                    "quarantined-events",
                    self._metrics.worst_job(tables, QUARANTINED, "Sum"),
                    about=about,
                    threshold=0,
                    periods=2,
                    datapoints=1,
                    what=f"Events of {named} didn't fit and were set aside, or its job is gone",
                )
                self._alarm(
                    "table-failing",
                    self._metrics.worst_job(tables, FAILED_ATTEMPTS, "Sum"),
                    about=about,
                    threshold=0,
                    what=f"{named} fails again and again, or its job is gone",
                )
            if pipeline.way is None:
                self._horizon_alarm(pipeline)
            for about, tables in pipeline.alarmed(pipeline.ignoring, of_one="{}"):
                self._alarm(
                    "ignored-truncate",
                    self._metrics.worst_job(tables, IGNORED_TRUNCATES, "Maximum"),
                    about=about,
                    threshold=0,
                    periods=2,
                    what=f"{', '.join(tables)}: emptied by TRUNCATE, and the lake keeps the rows; or no job says",
                )

    def _horizon_alarm(self, pipeline: WatchedPipeline) -> None:
        """Of what is queried: a transaction of the server that stays open, which each of its tables tells alike."""
        minutes = self._settings.horizon_age_minutes
        self._alarm(
            "horizon-age",
            self._metrics.job(pipeline.tables[0], HORIZON_AGE_SECONDS, "Maximum"),
            about=pipeline.name,
            threshold=minutes * 60,
            periods=2,
            what=f"A transaction of {pipeline.name}'s server has been open for {minutes} minutes, or no job says",
        )

    def _alarm(
        self,
        runbook: str,
        metric: cloudwatch.IMetric,
        *,
        what: str,
        threshold: float,
        about: str | None = None,
        comparison: cloudwatch.ComparisonOperator = ABOVE,
        periods: int = 3,
        datapoints: int | None = None,
    ) -> None:
        """Make an alarm named after its runbook; `about` tells those apart that share one."""
        name = "-".join(filter(None, [runbook, about]))
        alarm = cloudwatch.Alarm(
            self._scope,
            name,
            alarm_name=f"{self._prefix}-{name}",
            alarm_description=said(runbook, what),
            metric=metric,
            threshold=threshold,
            comparison_operator=comparison,
            evaluation_periods=periods,
            datapoints_to_alarm=datapoints or periods,
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
            # What isn't there on purpose needs nobody; the alarms go on saying so on the dashboard.
            actions_enabled=False if self._paused and runbook not in IN_A_PAUSE else None,
        )
        alarm.add_alarm_action(self._notification)
        alarm.add_ok_action(self._notification)
        self.by_word[WORDS[runbook]].append(alarm)


def _periods(minutes: int) -> int:
    return math.ceil(minutes / PERIOD_MINUTES)
