"""Notifications and dashboard: alarms, events and costs go to one topic, alarms and events each with its runbook.

There is an alarm for each way in which events can stop flowing, where missing data alarms, too. AWS Budgets watches the
monthly costs of everything with the environment's tags.
"""

from typing import Literal

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from contract.states import Word
from settings.environment import Environment
from stacks.base import EnvironmentStack, accept, encryption_key, removal
from stacks.connectors.stack import ConnectorsStack
from stacks.lake import LakeStack
from stacks.monitoring.dashboard import Dashboard
from stacks.monitoring.metrics import Metrics
from stacks.monitoring.watches import EVENTS, WORDS, alarm_text, event_pattern, watches
from stacks.paused import Paused
from stacks.processing.stack import ProcessingStack
from stacks.streaming import StreamingStack

# "DB cluster is being started due to it exceeding the maximum allowed time being stopped" (Aurora user guide, "Amazon
# RDS event categories and event messages for Aurora").
STARTED_BY_AWS = "RDS-EVENT-0153"
# These also notify in a pause: the brokers keep running.
IN_A_PAUSE = frozenset({"broker-disk"})
# Actual and forecast costs, in percent of the budget.
NOTIFICATIONS: tuple[tuple[Literal["ACTUAL", "FORECASTED"], int], ...] = (
    ("ACTUAL", 80),
    ("ACTUAL", 100),
    ("FORECASTED", 100),
)


class MonitoringStack(EnvironmentStack):
    """Topic, alarms, events and dashboard of an environment."""

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        *,
        streaming: StreamingStack,
        connectors: ConnectorsStack,
        lake: LakeStack,
        processing: ProcessingStack,
        paused: Paused,
    ) -> None:
        super().__init__(scope, "monitoring", environment, paused)
        self.topic = self._topic()
        alarms = create_alarms(self, environment, self.topic, paused=paused.leaves_out_sources)
        self._emr_events()
        if paused.leaves_out_sources:
            self._started_event()
        self._accept_events()
        Dashboard(self, "Dashboard", environment, alarms)
        create_budget(self, environment, self.topic)
        for stack in (connectors, lake, streaming, processing):
            self.add_stack_dependency(stack)
        CfnOutput(self, "AlarmTopicArn", value=self.topic.topic_arn)
        CfnOutput(self, "DashboardName", value=environment.prefix)

    def _topic(self) -> sns.Topic:
        """Encrypted with our own key: CloudWatch and EventBridge may not use AWS's."""
        environment = self._environment
        self._key = encryption_key(self, "TopicKey", f"Alarms of {environment.prefix}", removal(environment))
        topic = sns.Topic(self, "Alarms", master_key=self._key, enforce_ssl=True)
        topic.add_subscription(subscriptions.EmailSubscription(self._environment.monitoring.alarm_email))
        alarms = iam.ServicePrincipal(
            "cloudwatch.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": self.account}}
        )
        # Includes the key; EventBridge gets the same from its rules' targets.
        topic.grant_publish(alarms)
        return topic

    def _emr_events(self) -> None:
        name, state, message = (events.EventField.from_path(f"$.detail.{key}") for key in ("name", "state", "message"))
        for runbook, (type_, _) in EVENTS.items():
            description = alarm_text(runbook, f"{type_} in {self._environment.name}")
            planned = event_pattern(self._environment.prefix, runbook)
            pattern = events.EventPattern(detail_type=planned.pop("detail-type"), **planned)
            self._rule(runbook, description, pattern, alarm_text(runbook, f"{name} is {state}: {message}"))

    def _started_event(self) -> None:
        """AWS restarts a cluster that was stopped for seven days: RDS-EVENT-0153 reports it."""
        cluster, name = self._environment.database_cluster, self._environment.name
        text = (
            f"AWS has started the database {cluster}, as it does after seven days, though {name} is paused: "
            f"`./lake aws pause -e {name}` stops it again, `./lake aws resume -e {name}` starts the rest. See"
            " docs/aws/pause.md"
        )
        description = f"The database was started while {name} is paused. See docs/aws/pause.md"
        detail = {"EventID": [STARTED_BY_AWS], "SourceIdentifier": [cluster]}
        pattern = events.EventPattern(source=["aws.rds"], detail_type=["RDS DB Cluster Event"], detail=detail)
        self._rule("database-started-by-aws", description, pattern, text)

    def _rule(self, id_: str, description: str, pattern: events.EventPattern, text: str) -> None:
        target = targets.SnsTopic(self.topic, message=events.RuleTargetInput.from_text(text))
        events.Rule(self, id_, description=description, event_pattern=pattern, targets=[target])

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
    tags = [
        kinds.TagValuesProperty(key=key, values=[value], match_options=["EQUALS"])
        for key, value in environment.tags.items()
    ]
    budget = kinds(
        Construct(scope, "Budget"),
        "Budget",
        budget=kinds.BudgetDataProperty(
            budget_type="COST",
            time_unit="MONTHLY",
            budget_limit=kinds.SpendProperty(amount=environment.budget.monthly_usd, unit="USD"),
            filter_expression=kinds.ExpressionProperty(and_=[kinds.ExpressionProperty(tags=tag) for tag in tags]),
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


def _notification(type_: str, percent: int, topic_arn: str) -> budgets.CfnBudget.NotificationWithSubscribersProperty:
    return budgets.CfnBudget.NotificationWithSubscribersProperty(
        notification=budgets.CfnBudget.NotificationProperty(
            notification_type=type_, comparison_operator="GREATER_THAN", threshold=percent, threshold_type="PERCENTAGE"
        ),
        subscribers=[budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=topic_arn)],
    )
