"""Who is told of what: alarms and events to one topic, each with its runbook, and one dashboard."""

import math
from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from contract.metrics import COMMIT_AGE_SECONDS, FAILED_ATTEMPTS, IGNORED_TRUNCATES, QUARANTINED
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from stacks.acceptances import accept
from stacks.connectors.pipeline import PipelineConnectors
from stacks.connectors.stack import ConnectorsStack
from stacks.lake import LakeStack, landed_filter
from stacks.monitoring.budget import Budget
from stacks.monitoring.dashboard import Dashboard
from stacks.monitoring.metrics import PERIOD_MINUTES, Metrics
from stacks.monitoring.pipelines import OF_AN_ALARM, WatchedPipeline
from stacks.paused import Paused
from stacks.paused_output import say_so
from stacks.processing.stack import ProcessingStack
from stacks.retention import removal
from stacks.streaming import StreamingStack

MEGABYTE = 1024 * 1024
# At this multiple of the lag that the first alarm allows, its runbook hasn't helped and the storage is what matters.
WAL_DISK_FACTOR = 4
# What rings in a pause, too: the brokers go on.
IN_A_PAUSE = frozenset({"broker-disk"})
# "DB cluster is being started due to it exceeding the maximum allowed time being stopped" (Aurora user guide, "Amazon
# RDS event categories and event messages for Aurora").
STARTED_BY_AWS = "RDS-EVENT-0153"
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD


class MonitoringStack(Stack):
    """Alarms for each way in which events can stop flowing. No data is as bad as bad data: it alarms, too."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: Environment,
        streaming: StreamingStack,
        connectors: ConnectorsStack,
        lake: LakeStack,
        processing: ProcessingStack,
        paused: Paused = Paused.NOTHING,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self._paused = paused.leaves_out_sources
        self._environment = environment
        self._settings = environment.monitoring
        self._pipelines = [
            _watched(pipeline, made) for pipeline, made in zip(environment.pipelines, connectors.pipelines, strict=True)
        ]
        self._metrics = Metrics(
            database_cluster=environment.database_cluster,
            kafka_cluster=streaming.cluster_name,
            brokers=environment.streaming.brokers,
            landing_bucket=environment.bucket_name("landing"),
            namespace=processing.metrics_namespace,
            database=environment.lake.database,
        )
        self.topic = self._topic()
        self.alarms: list[cloudwatch.Alarm] = []
        self._database_alarms()
        self._streaming_alarms()
        self._job_alarms()
        self._emr_events()
        if self._paused:
            self._started_event()
        self._accept_events()
        self._dashboard()
        self._budget()
        for stack in (connectors, lake, streaming, processing):
            self.add_stack_dependency(stack)
        CfnOutput(self, "AlarmTopicArn", value=self.topic.topic_arn)
        CfnOutput(self, "DashboardName", value=environment.prefix)
        say_so(self, paused)

    def _topic(self) -> sns.Topic:
        """Encrypted with a key of our own: CloudWatch and EventBridge may not use AWS's."""
        key = kms.Key(
            self,
            "TopicKey",
            description=f"Alarms of {self._environment.prefix}",
            enable_key_rotation=True,
            removal_policy=removal(self._environment),
        )
        self._key = key
        topic = sns.Topic(self, "Alarms", master_key=key, enforce_ssl=True)
        topic.add_subscription(subscriptions.EmailSubscription(self._settings.alarm_email))
        alarms = iam.ServicePrincipal(
            "cloudwatch.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": self.account}}
        )
        # With the key; EventBridge gets the same from its rules' targets.
        topic.grant_publish(alarms)
        return topic

    def _database_alarms(self) -> None:
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
            self._landing_alarms(pipeline)
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
                self._metrics.connector(name, "RunningTaskCount", "Minimum"),
                about=role,
                threshold=tasks,
                comparison=BELOW,
                what=f"The {role} connector runs fewer than {tasks} task(s)",
            )
            self._alarm(
                "connector-task-failed",
                self._metrics.connector(name, "ErroredTaskCount", "Maximum"),
                about=role,
                threshold=0,
                periods=1,
                what=f"A task of the {role} connector has failed",
            )

    def _landing_alarms(self, pipeline: WatchedPipeline) -> None:
        minutes = self._settings.landing_silence_minutes
        groups = list(pipeline.groups(pipeline.topics, OF_AN_ALARM)) if len(pipeline.topics) > OF_AN_ALARM else []
        for number, topics in enumerate(groups or [pipeline.topics], 1):
            about = pipeline.suffix.removeprefix("-") + (f"-{number}" if groups else "")
            self._alarm(
                "nothing-landed",
                self._metrics.nothing_landed(pipeline.sink, topics, pipeline.landed),
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
                named = about if len(tables) == 1 else f"A table of {about} ({tables[0]} to {tables[-1]})"
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
            for about, tables in pipeline.alarmed(pipeline.ignoring, of_one="{}"):
                self._alarm(
                    "ignored-truncate",
                    self._metrics.worst_job(tables, IGNORED_TRUNCATES, "Maximum"),
                    about=about,
                    threshold=0,
                    periods=2,
                    what=f"{', '.join(tables)}: emptied by TRUNCATE, and the lake keeps the rows; or no job says",
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
            self,
            name,
            alarm_name=f"{self._environment.prefix}-{name}",
            alarm_description=f"{what}. {_see(runbook)}",
            metric=metric,
            threshold=threshold,
            comparison_operator=comparison,
            evaluation_periods=periods,
            datapoints_to_alarm=datapoints or periods,
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
            # What isn't there on purpose needs nobody; the alarms go on saying so on the dashboard.
            actions_enabled=False if self._paused and runbook not in IN_A_PAUSE else None,
        )
        notification = actions.SnsAction(self.topic)
        alarm.add_alarm_action(notification)
        alarm.add_ok_action(notification)
        self.alarms.append(alarm)

    def _emr_events(self) -> None:
        """What EMR says of itself comes as events. They go by names: a cluster's id changes when it is replaced."""
        prefix = self._environment.prefix
        steps: dict[str, Any] = {"state": ["FAILED"], "name": [{"prefix": f"{prefix}-"}]}
        self._event("emr-step-failed", "EMR Step Status Change", steps)
        clusters: dict[str, Any] = {"state": ["TERMINATED_WITH_ERRORS"], "name": [prefix]}
        self._event("emr-cluster-terminated", "EMR Cluster State Change", clusters)

    def _event(self, runbook: str, type_: str, detail: dict[str, Any]) -> None:
        name, state, message = (events.EventField.from_path(f"$.detail.{key}") for key in ("name", "state", "message"))
        text = events.RuleTargetInput.from_text(f"{name} is {state}: {message}. {_see(runbook)}")
        events.Rule(
            self,
            runbook,
            description=f"{type_} in {self._environment.name}. {_see(runbook)}",
            event_pattern=events.EventPattern(source=["aws.emr"], detail_type=[type_], detail=detail),
            targets=[targets.SnsTopic(self.topic, message=text)],
        )

    def _started_event(self) -> None:
        """AWS starts a cluster by itself that was stopped for seven days: RDS-EVENT-0153 says so."""
        cluster, name = self._environment.database_cluster, self._environment.name
        text = (
            f"AWS has started the database {cluster}, as it does after seven days, though {name} is paused: "
            f"`make pause ENV={name}` stops it again, `make resume ENV={name}` starts the rest. See docs/pausing.md"
        )
        events.Rule(
            self,
            "database-started-by-aws",
            description=f"The database was started while {name} is paused. See docs/pausing.md",
            event_pattern=events.EventPattern(
                source=["aws.rds"],
                detail_type=["RDS DB Cluster Event"],
                detail={"EventID": [STARTED_BY_AWS], "SourceIdentifier": [cluster]},
            ),
            targets=[targets.SnsTopic(self.topic, message=events.RuleTargetInput.from_text(text))],
        )

    def _accept_events(self) -> None:
        """CDK opens topic and key to EventBridge without a condition."""
        events_service = iam.ServicePrincipal("events.amazonaws.com")
        publishing = iam.PolicyStatement(
            actions=["sns:Publish"], resources=[self.topic.topic_arn], principals=[events_service]
        )
        encrypting = iam.PolicyStatement(
            actions=["kms:Decrypt", "kms:GenerateDataKey*"], resources=["*"], principals=[events_service]
        )
        reason = (
            "EventBridge's rules send to this topic: what others could send it is mail to its subscribers, no more."
        )
        policy = self.topic.node.find_child("Policy")
        assert isinstance(policy, sns.TopicPolicy)  # noqa: S101  enforce_ssl makes one
        accept(policy, publishing, reason=reason)
        accept(self._key, encrypting, reason=reason)

    def _budget(self) -> None:
        environment = self._environment
        Budget(self, "Budget", monthly_usd=environment.budget.monthly_usd, tags=environment.tags, topic=self.topic)

    def _dashboard(self) -> None:
        Dashboard(
            self,
            "Dashboard",
            name=self._environment.prefix,
            metrics=self._metrics,
            pipelines=self._pipelines,
            alarms=self.alarms,
        )


def _watched(pipeline: EnvironmentPipeline, connectors: PipelineConnectors) -> WatchedPipeline:
    return WatchedPipeline(
        name=pipeline.name,
        suffix="" if pipeline.is_first else f"-{pipeline.name}",
        source=connectors.source.name,
        sink=connectors.sink.name,
        sink_tasks=pipeline.sink.tasks,
        topics=connectors.sink.topics,
        tables=[pipeline.captured.lake_table(table) for table in pipeline.captured.tables],
        ignoring=[pipeline.captured.lake_table(table) for table in pipeline.captured.tables if table.ignores_truncate],
        landed=landed_filter(pipeline),
    )


def _see(runbook: str) -> str:
    return f"Runbook: docs/runbooks/{runbook}.md"


def _periods(minutes: int) -> int:
    return math.ceil(minutes / PERIOD_MINUTES)
