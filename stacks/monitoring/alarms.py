"""The alarms: one for each way in which events can stop flowing, where missing data alarms, too; and one on costs.

AWS Budgets watches the monthly costs of everything with the environment's tags.
"""

from typing import Literal

from aws_cdk import Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from contract.states import Word
from settings.environment import Environment
from stacks.monitoring.metrics import Metrics
from stacks.monitoring.watched import watches
from stacks.monitoring.watches import WORDS, alarm_text

# These also notify in a pause: the brokers keep running.
IN_A_PAUSE = frozenset({"broker-disk"})
# Actual and forecast costs, in percent of the budget.
NOTIFICATIONS: tuple[tuple[Literal["ACTUAL", "FORECASTED"], int], ...] = (
    ("ACTUAL", 80),
    ("ACTUAL", 100),
    ("FORECASTED", 100),
)


def create_alarms(
    scope: Construct, environment: Environment, topic: sns.ITopic, *, paused: bool
) -> dict[Word, list[cloudwatch.IAlarm]]:
    """Create an environment's alarms; return them by status word.

    `paused`: alarms on what a pause removes don't notify.
    """
    by_word: dict[Word, list[cloudwatch.IAlarm]] = {word: [] for word in Word}
    notification, metrics = actions.SnsAction(topic), Metrics(environment)
    compared = cloudwatch.ComparisonOperator
    for watch in watches(environment):
        above = watch.least is None
        alarm = cloudwatch.Alarm(
            scope,
            watch.name,
            alarm_name=f"{environment.prefix}-{watch.name}",
            alarm_description=alarm_text(watch.runbook, watch.what),
            metric=watch.metric(metrics),
            threshold=watch.threshold(environment.monitoring),
            comparison_operator=compared.GREATER_THAN_THRESHOLD if above else compared.LESS_THAN_THRESHOLD,
            evaluation_periods=watch.periods,
            datapoints_to_alarm=watch.datapoints or watch.periods,
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
            # Nothing is wrong with a deliberate absence: no notification, but the dashboard still shows the alarms.
            actions_enabled=False if paused and watch.runbook not in IN_A_PAUSE else None,
        )
        alarm.add_alarm_action(notification)
        alarm.add_ok_action(notification)
        by_word[WORDS[watch.runbook]].append(alarm)
    return by_word


def create_budget(scope: Construct, environment: Environment, topic: sns.Topic) -> None:
    """Create the monthly budget, of everything with the environment's tags, that notifies a topic.

    It has no fixed name: changed notifications create another budget before the old one is deleted.
    """
    # With the topic's key, too: https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-sns-policy.html
    topic.grant_publish(_budgets_of(Stack.of(scope)))
    kinds = budgets.CfnBudget
    budget = kinds(
        Construct(scope, "Budget"),
        "Budget",
        budget=kinds.BudgetDataProperty(
            budget_type="COST",
            time_unit="MONTHLY",
            budget_limit=kinds.SpendProperty(amount=environment.budget.monthly_usd, unit="USD"),
            filter_expression=kinds.ExpressionProperty(and_=[_has(*tag) for tag in environment.tags.items()]),
            metrics=["UnblendedCost"],
        ),
        notifications_with_subscribers=[_notification(*each, topic.topic_arn) for each in NOTIFICATIONS],
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
