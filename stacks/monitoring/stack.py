"""Notifications and dashboard: alarms and events go to one topic, each with its runbook."""

from aws_cdk import CfnOutput
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from settings.environment import Environment
from stacks.base import EnvironmentStack, accept, add_paused_output, encryption_key, removal
from stacks.connectors.stack import ConnectorsStack
from stacks.lake import LakeStack
from stacks.monitoring.alarms import create_alarms, create_budget
from stacks.monitoring.dashboard import Dashboard
from stacks.monitoring.watches import EVENTS, alarm_text, event_pattern
from stacks.paused import Paused
from stacks.processing.stack import ProcessingStack
from stacks.streaming import StreamingStack

# "DB cluster is being started due to it exceeding the maximum allowed time being stopped" (Aurora user guide, "Amazon
# RDS event categories and event messages for Aurora").
STARTED_BY_AWS = "RDS-EVENT-0153"


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
        super().__init__(scope, "monitoring", environment)
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
        add_paused_output(self, paused)

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
