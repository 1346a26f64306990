"""The alarms: one for each way in which events can stop flowing, where missing data alarms, too; and one on costs.

AWS Budgets watches the monthly costs of everything with the environment's tags.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from aws_cdk import Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from contract.metrics import COMMIT_AGE_SECONDS, FAILED_ATTEMPTS, HORIZON_AGE_SECONDS, IGNORED_TRUNCATES, QUARANTINED
from contract.states import QUARANTINED_MINUTES, Word
from plugins.workers import connect_workers
from settings.services import Monitoring
from stacks.monitoring.metrics import PERIOD_MINUTES, Metrics
from stacks.monitoring.watches import (
    OF_AN_ALARM,
    WAL_DISK_FACTOR,
    WORDS,
    WatchedPipeline,
    WatchedWay,
    alarm_text,
    cut,
    limits,
)

# These also notify in a pause: the brokers keep running.
IN_A_PAUSE = frozenset({"broker-disk"})
# Actual and forecast costs, in percent of the budget.
NOTIFICATIONS: tuple[tuple[Literal["ACTUAL", "FORECASTED"], int], ...] = (
    ("ACTUAL", 80),
    ("ACTUAL", 100),
    ("FORECASTED", 100),
)


@dataclass(frozen=True)
class Watch:
    """An alarm's metric, what it tells, and the number of periods.

    It is named after its runbook; `about` distinguishes alarms that share one. It alarms above the runbook's limit, or
    below `least`.
    """

    runbook: str
    metric: cloudwatch.IMetric
    what: str
    _: KW_ONLY
    about: str = ""
    least: int | None = None
    periods: int = 3
    datapoints: int | None = None


@dataclass(frozen=True, kw_only=True)
class Alarms:
    """One environment's alarms. `paused`: those of what a pause removes don't notify."""

    prefix: str
    settings: Monitoring
    metrics: Metrics
    pipelines: Sequence[WatchedPipeline]
    paused: bool = False

    def create(self, scope: Construct, topic: sns.ITopic) -> dict[Word, list[cloudwatch.IAlarm]]:
        """Create them; return them by status word."""
        by_word: dict[Word, list[cloudwatch.IAlarm]] = {word: [] for word in Word}
        notification = actions.SnsAction(topic)
        for watch in self._watches():
            alarm = self._alarm(scope, watch)
            alarm.add_alarm_action(notification)
            alarm.add_ok_action(notification)
            by_word[WORDS[watch.runbook]].append(alarm)
        return by_word

    def _watches(self) -> Iterator[Watch]:
        # Query-based pipelines have no slot.
        if any(pipeline.way for pipeline in self.pipelines):
            yield from self._of_slots()
        for pipeline in self.pipelines:
            if pipeline.way:
                yield from self._of_connectors(pipeline)
                yield from self._of_landing(pipeline, pipeline.way)
        disk = f"A broker's disk is more than {self.settings.broker_disk_percent} % full"
        yield Watch("broker-disk", self.metrics.broker_disk(), disk)
        for pipeline in self.pipelines:
            for about, tables in pipeline.alarmed(pipeline.tables):
                yield from self._of_job(about, tables)
            if not pipeline.way:
                yield self._of_horizon(pipeline)
            for about, tables in pipeline.alarmed(pipeline.ignoring):
                emptied = f"{', '.join(tables)}: emptied by TRUNCATE, and the lake keeps the rows; or no job says"
                metric = self.metrics.worst_job(tables, IGNORED_TRUNCATES, "Maximum")
                yield Watch("ignored-truncate", metric, emptied, about=about, periods=2)

    def _of_slots(self) -> Iterator[Watch]:
        lag = self.settings.slot_lag_mb
        behind = f"The connector is more than {lag} MB behind the database"
        yield Watch("replication-slot-lag", self.metrics.slot_lag(), behind)
        kept = f"Logical replication keeps more than {WAL_DISK_FACTOR * lag} MB of log"
        yield Watch("wal-disk", self.metrics.wal_disk(), kept)

    def _of_connectors(self, pipeline: WatchedPipeline) -> Iterator[Watch]:
        for role, (name, tasks) in pipeline.roles.items():
            running = self.metrics.connector(name, connect_workers.RUNNING, "Minimum")
            fewer = f"The {role} connector runs fewer than {tasks} task(s)"
            yield Watch("connector-not-running", running, fewer, about=role, least=tasks)
            failed = self.metrics.connector(name, connect_workers.FAILED, "Maximum")
            one = f"A task of the {role} connector has failed"
            yield Watch("connector-task-failed", failed, one, about=role, periods=1)

    def _of_landing(self, pipeline: WatchedPipeline, way: WatchedWay) -> Iterator[Watch]:
        minutes, groups = self.settings.landing_silence_minutes, cut(way.topics, OF_AN_ALARM)
        for number, topics in enumerate(groups, 1):
            where = "the topic" if len(topics) == 1 else f"a topic of {pipeline.name}"
            yield Watch(
                "nothing-landed",
                self.metrics.nothing_landed(way.sink, topics, way.landed),
                f"Events wait in {where}, and nothing has landed for {minutes} minutes",
                about=pipeline.suffix.removeprefix("-") + (f"-{number}" if len(groups) > 1 else ""),
                periods=math.ceil(minutes / PERIOD_MINUTES),
            )

    def _of_job(self, about: str, tables: Sequence[str]) -> Iterator[Watch]:
        named = about if len(tables) == 1 else f"a table of {about} ({tables[0]} to {tables[-1]})"
        age = self.metrics.worst_job(tables, COMMIT_AGE_SECONDS, "Maximum")
        minutes = self.settings.commit_age_minutes
        late = f"{named} hasn't been brought up to date for {minutes} minutes, or its job is gone"
        yield Watch("commit-age", age, late, about=about, periods=2)
        aside = self.metrics.worst_job(tables, QUARANTINED, "Sum")
        misfits = f"Events of {named} didn't fit and were set aside, or its job is gone"
        periods = QUARANTINED_MINUTES // PERIOD_MINUTES
        yield Watch("quarantined-events", aside, misfits, about=about, periods=periods, datapoints=1)
        attempts = self.metrics.worst_job(tables, FAILED_ATTEMPTS, "Sum")
        yield Watch("table-failing", attempts, f"{named} fails again and again, or its job is gone", about=about)

    def _of_horizon(self, pipeline: WatchedPipeline) -> Watch:
        """A long-open transaction on a query-based pipeline's server; all its tables report the same, so watch one."""
        age = self.metrics.job(pipeline.tables[0], HORIZON_AGE_SECONDS, "Maximum")
        minutes = self.settings.horizon_age_minutes
        what = f"A transaction of {pipeline.name}'s server has been open for {minutes} minutes, or no job says"
        return Watch("horizon-age", age, what, about=pipeline.name, periods=2)

    def _alarm(self, scope: Construct, watch: Watch) -> cloudwatch.Alarm:
        name = "-".join(filter(None, [watch.runbook, watch.about]))
        above = watch.least is None
        compared = cloudwatch.ComparisonOperator
        return cloudwatch.Alarm(
            scope,
            name,
            alarm_name=f"{self.prefix}-{name}",
            alarm_description=alarm_text(watch.runbook, watch.what),
            metric=watch.metric,
            threshold=limits(self.settings).get(watch.runbook, 0) if watch.least is None else watch.least,
            comparison_operator=compared.GREATER_THAN_THRESHOLD if above else compared.LESS_THAN_THRESHOLD,
            evaluation_periods=watch.periods,
            datapoints_to_alarm=watch.datapoints or watch.periods,
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
            # Nothing is wrong with a deliberate absence: no notification, but the dashboard still shows the alarms.
            actions_enabled=False if self.paused and watch.runbook not in IN_A_PAUSE else None,
        )


class Budget(Construct):
    """A monthly budget in USD that notifies a topic; `tags` are those that all of its resources have.

    It has no fixed name: changed notifications create another budget before the old one is deleted.
    """

    def __init__(
        self, scope: Construct, id_: str, *, monthly_usd: int, tags: Mapping[str, str], topic: sns.Topic
    ) -> None:
        super().__init__(scope, id_)
        # With the topic's key, too:
        # https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-sns-policy.html
        topic.grant_publish(_budgets_of(Stack.of(self)))
        budget = budgets.CfnBudget(
            self,
            "Budget",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=monthly_usd, unit="USD"),
                filter_expression=budgets.CfnBudget.ExpressionProperty(and_=[_has(*tag) for tag in tags.items()]),
                metrics=["UnblendedCost"],
            ),
            notifications_with_subscribers=[
                _notification(type_, percent, topic.topic_arn) for type_, percent in NOTIFICATIONS
            ],
        )
        # The policy must allow it to publish first.
        budget.node.add_dependency(topic.node.find_child("Policy"))


def _budgets_of(stack: Stack) -> iam.ServicePrincipal:
    """AWS Budgets, only for budgets of the stack's account: budgets belong to no region."""
    conditions = {
        "StringEquals": {"aws:SourceAccount": stack.account},
        "ArnLike": {"aws:SourceArn": f"arn:{stack.partition}:budgets::{stack.account}:*"},
    }
    return iam.ServicePrincipal("budgets.amazonaws.com", conditions=conditions)


def _has(key: str, value: str) -> budgets.CfnBudget.ExpressionProperty:
    return budgets.CfnBudget.ExpressionProperty(
        tags=budgets.CfnBudget.TagValuesProperty(key=key, values=[value], match_options=["EQUALS"])
    )


def _notification(type_: str, percent: int, topic_arn: str) -> budgets.CfnBudget.NotificationWithSubscribersProperty:
    return budgets.CfnBudget.NotificationWithSubscribersProperty(
        notification=budgets.CfnBudget.NotificationProperty(
            notification_type=type_, comparison_operator="GREATER_THAN", threshold=percent, threshold_type="PERCENTAGE"
        ),
        subscribers=[budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=topic_arn)],
    )
