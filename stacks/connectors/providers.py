"""The handlers behind the connectors' custom resources, each with only the rights that it needs.

The rights follow the calls in the handlers' modules; MSK Connect's resource types and conditions come from AWS's
service authorization reference.
"""

from collections.abc import Sequence

from aws_cdk import Duration, Size, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from contract import tags
from stacks.base import Conditions, arn, bucket_arn, of_service, statement
from stacks.provider import HandlerProvider

OWN_NAMES = (
    "AWS appends an id to the names of connectors, plugins and log streams, and lists no resource for what is listed, "
    "created or delivered; the names are this environment's, and what is created must carry its owner's tag."
)
IN_THE_CALLERS_NAME = (
    "MSK Connect makes a connector's network interfaces and log delivery with the caller's rights, and is handed the "
    "connectors' two roles and no others; AWS lists no resource for what it makes so."
)
_TAGS = ("ListTagsForResource", "TagResource", "UntagResource")
# What CreateConnector does in the caller's name, as the service authorization reference lists it. PutResourcePolicy is
# missing on purpose: AWS would use it to let log delivery write to the group, and its holder may write any other policy
# of the account. The stack writes that policy itself (msk_connect.py); the CloudWatch Logs user guide ("Logs sent to
# CloudWatch Logs") requires the right only of callers who must write the policy.
_NETWORK = ("CreateNetworkInterface", "DescribeSecurityGroups", "DescribeSubnets", "DescribeVpcs")
_DELIVERY = ("CreateLogDelivery", "DeleteLogDelivery", "GetLogDelivery", "ListLogDeliveries", "UpdateLogDelivery")
_LOGS = ("DescribeLogGroups", "DescribeResourcePolicies")


class ConnectorProviders(Construct):
    """Providers of plugins and connectors whose names begin with `prefix`."""

    def __init__(self, scope: Construct, id_: str, *, prefix: str, bucket: str, key_prefix: str) -> None:
        super().__init__(scope, id_)
        self._prefix = prefix
        self._bucket = bucket
        self.plugin = HandlerProvider(
            self,
            "Plugin",
            module="connector_plugin",
            timeout=Duration.minutes(10),
            memory_size=1_024,
            ephemeral_storage_size=Size.gibibytes(2),
            rights={OWN_NAMES: [*self._plugin_rights(), *self._archive_rights(f"{key_prefix}{prefix}-*")]},
            journal=bucket,
        )

    def connector(self, *, role_arns: Sequence[str], log_group_arn: str, names: Sequence[str]) -> HandlerProvider:
        """Create the provider of the connectors `names`, which use these roles and log to this group."""
        # The group's ARN ends in `:*`, so it covers the group and its streams.
        reading_logs = statement("logs:DescribeLogStreams", "logs:GetLogEvents", on=log_group_arn)
        rights = {
            OWN_NAMES: [*self._connector_rights(names), reading_logs],
            IN_THE_CALLERS_NAME: self._passing_rights(role_arns),
        }
        return HandlerProvider(self, "Connector", module="connector", rights=rights, journal=self._bucket)

    def _plugin_rights(self) -> list[iam.PolicyStatement]:
        return [
            _kafkaconnect("ListCustomPlugins", "ListConnectors", on="*"),
            _creating("CreateCustomPlugin"),
            self._on(f"custom-plugin/{self._prefix}-*/*", "DescribeCustomPlugin", "DeleteCustomPlugin", *_TAGS),
        ]

    def _connector_rights(self, names: Sequence[str]) -> list[iam.PolicyStatement]:
        actions = ("DescribeConnector", "UpdateConnector", "DeleteConnector", "ListConnectorOperations", *_TAGS)
        return [
            _kafkaconnect("ListConnectors", on="*"),
            _creating("CreateConnector"),
            *(self._on(f"connector/{name}/*", *actions) for name in names),
            *(self._on(f"connector-operation/{name}/*", "DescribeConnectorOperation") for name in names),
            self._on(f"custom-plugin/{self._prefix}-*/*", "DescribeCustomPlugin", "UpdateConnector"),
            self._on(f"worker-configuration/{self._prefix}-*/*", "DescribeWorkerConfiguration", "UpdateConnector"),
        ]

    def _passing_rights(self, role_arns: Sequence[str]) -> list[iam.PolicyStatement]:
        stack = Stack.of(self)
        service = "kafkaconnect.amazonaws.com"
        linked = f"arn:{stack.partition}:iam::{stack.account}:role/aws-service-role/{service}/AWSServiceRoleFor*"
        return [
            statement("iam:PassRole", on=role_arns, when={"StringEquals": {"iam:PassedToService": service}}),
            statement("iam:CreateServiceLinkedRole", on=linked, when={"StringEquals": {"iam:AWSServiceName": service}}),
            # CreateNetworkInterface supports resources, but MSK Connect calls it under its own role: AWS doesn't
            # document what the caller needs, on which resources. The others only read.
            statement(*of_service("ec2", _NETWORK), on="*"),
            # A log delivery is no IAM resource: these actions support only `*`, as in the user guide.
            statement(*of_service("logs", (*_DELIVERY, *_LOGS)), on="*"),
        ]

    def _on(self, resource: str, *actions: str) -> iam.PolicyStatement:
        return _kafkaconnect(*actions, on=arn(self, "kafkaconnect", resource))

    def _archive_rights(self, keys: str) -> list[iam.PolicyStatement]:
        objects = ("GetObject", "GetObjectVersion", "PutObject", "AbortMultipartUpload", "DeleteObjectVersion")
        bucket = bucket_arn(self, self._bucket)
        return [
            statement(*of_service("s3", objects), on=f"{bucket}/{keys}"),
            statement("s3:ListBucket", "s3:ListBucketVersions", on=bucket, when={"StringLike": {"s3:prefix": keys}}),
        ]


def _creating(action: str) -> iam.PolicyStatement:
    """No ARN exists before creation; the tag, which the handlers always send, narrows the right instead."""
    return _kafkaconnect(action, on="*", when={"Null": {f"aws:RequestTag/{tags.OWNER}": "false"}})


def _kafkaconnect(*actions: str, on: str, when: Conditions | None = None) -> iam.PolicyStatement:
    return statement(*of_service("kafkaconnect", actions), on=on, when=when)
