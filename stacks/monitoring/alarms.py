"""The alarms: one for each way in which events can stop flowing, where missing data alarms, too; and one on costs.

AWS Budgets watches the monthly costs of everything with the environment's tags.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aws_cdk import Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from contract.states import Word
from settings.services import Monitoring
from stacks.monitoring.metrics import Metrics
from stacks.monitoring.watched import Watch, WatchedPipeline, watches
from stacks.monitoring.watches import WORDS, alarm_text

# These also notify in a pause: the brokers keep running.
IN_A_PAUSE = frozenset({"broker-disk"})
# Actual and forecast costs, in percent of the budget.
NOTIFICATIONS: tuple[tuple[Literal["ACTUAL", "FORECASTED"], int], ...] = (
    ("ACTUAL", 80),
    ("ACTUAL", 100),
    ("FORECASTED", 100),
)


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
        for watch in watches(self.settings, self.pipelines):
            alarm = self._alarm(scope, watch)
            alarm.add_alarm_action(notification)
            alarm.add_ok_action(notification)
            by_word[WORDS[watch.runbook]].append(alarm)
        return by_word

    def _alarm(self, scope: Construct, watch: Watch) -> cloudwatch.Alarm:
        above = watch.least is None
        compared = cloudwatch.ComparisonOperator
        return cloudwatch.Alarm(
            scope,
            watch.name,
            alarm_name=f"{self.prefix}-{watch.name}",
            alarm_description=alarm_text(watch.runbook, watch.what),
            metric=watch.metric(self.metrics),
            threshold=watch.threshold(self.settings),
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
