"""The alarm on monthly costs, by AWS Budgets, over everything with the environment's tags."""

from collections.abc import Mapping
from typing import Literal

from aws_cdk import Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

# Actual and forecast costs, in percent of the budget.
NOTIFICATIONS: tuple[tuple[Literal["ACTUAL", "FORECASTED"], int], ...] = (
    ("ACTUAL", 80),
    ("ACTUAL", 100),
    ("FORECASTED", 100),
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
