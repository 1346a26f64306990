"""The handlers behind the connectors' custom resources, each with exactly the rights that it needs.

The rights are those that the handlers' modules call for; MSK Connect's resource types and conditions are from AWS's
service authorization reference.
"""

from collections.abc import Sequence

from aws_cdk import Duration, Size, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from contract import tags
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
# missing on purpose: with it, AWS would write the policy that lets workers' logs into the group, and whoever has it may
# write any other of the account. The stack writes that policy itself (connectors.py); the CloudWatch Logs user guide
# ("Logs sent to CloudWatch Logs") wants the right only from who has to write it.
_NETWORK = ("CreateNetworkInterface", "DescribeSecurityGroups", "DescribeSubnets", "DescribeVpcs")
_DELIVERY = ("CreateLogDelivery", "DeleteLogDelivery", "GetLogDelivery", "ListLogDeliveries", "UpdateLogDelivery")
_LOGS = ("DescribeLogGroups", "DescribeResourcePolicies")


class ConnectorProviders(Construct):
    """Providers of plugins and connectors whose names begin with `prefix`."""

    def __init__(self, scope: Construct, id_: str, *, prefix: str, bucket: str, key_prefix: str) -> None:
        super().__init__(scope, id_)
        self._prefix = prefix
        self._bucket = bucket
        plugin_rights = [*self._plugin_rights(), *self._archive_rights(bucket, f"{key_prefix}{prefix}")]
        self.plugin = HandlerProvider(
            self,
            "Plugin",
            module="connector_plugin",
            timeout=Duration.minutes(10),
            memory_mb=1_024,
            ephemeral_storage=Size.gibibytes(2),
            statements=plugin_rights,
            journal=bucket,
        )
        self.plugin.acknowledge_wildcards(*plugin_rights, reason=OWN_NAMES)

    def connector(self, *, role_arns: Sequence[str], log_group_arn: str, names: Sequence[str]) -> HandlerProvider:
        """Make the provider of the connectors `names`, which run under these roles and log into this group."""
        reading_logs = iam.PolicyStatement(
            actions=["logs:DescribeLogStreams", "logs:GetLogEvents"],
            # It ends in `:*`, and so stands for the group and its streams.
            resources=[log_group_arn],
        )
        own, passing = [*self._connector_rights(names), reading_logs], self._passing_rights(role_arns)
        rights = [*own, *passing]
        provider = HandlerProvider(self, "Connector", module="connector", statements=rights, journal=self._bucket)
        provider.acknowledge_wildcards(*own, reason=OWN_NAMES)
        provider.acknowledge_wildcards(*passing, reason=IN_THE_CALLERS_NAME)
        return provider

    def _plugin_rights(self) -> list[iam.PolicyStatement]:
        return [
            self._listing("ListCustomPlugins", "ListConnectors"),
            self._creating("CreateCustomPlugin"),
            self._on(f"custom-plugin/{self._prefix}-*/*", "DescribeCustomPlugin", "DeleteCustomPlugin", *_TAGS),
        ]

    def _connector_rights(self, names: Sequence[str]) -> list[iam.PolicyStatement]:
        actions = ("DescribeConnector", "UpdateConnector", "DeleteConnector", "ListConnectorOperations", *_TAGS)
        return [
            self._listing("ListConnectors"),
            self._creating("CreateConnector"),
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
            iam.PolicyStatement(
                actions=["iam:PassRole"],
                resources=list(role_arns),
                conditions={"StringEquals": {"iam:PassedToService": service}},
            ),
            iam.PolicyStatement(
                actions=["iam:CreateServiceLinkedRole"],
                resources=[linked],
                conditions={"StringEquals": {"iam:AWSServiceName": service}},
            ),
            # CreateNetworkInterface names resources, but MSK Connect does it in its own role: what is asked of us, and
            # with which of them, isn't documented. The others only read.
            iam.PolicyStatement(actions=[f"ec2:{name}" for name in _NETWORK], resources=["*"]),
            # A delivery is no resource in IAM: `*` is the only one that these actions know, and the user guide's.
            iam.PolicyStatement(actions=[f"logs:{name}" for name in (*_DELIVERY, *_LOGS)], resources=["*"]),
        ]

    @staticmethod
    def _listing(*actions: str) -> iam.PolicyStatement:
        return iam.PolicyStatement(actions=[f"kafkaconnect:{action}" for action in actions], resources=["*"])

    @staticmethod
    def _creating(action: str) -> iam.PolicyStatement:
        """AWS knows no resource before it is created; the tag, which the handlers always send, narrows it instead."""
        condition = {"Null": {f"aws:RequestTag/{tags.OWNER}": "false"}}
        return iam.PolicyStatement(actions=[f"kafkaconnect:{action}"], resources=["*"], conditions=condition)

    def _on(self, resource: str, *actions: str) -> iam.PolicyStatement:
        stack = Stack.of(self)
        arn = f"arn:{stack.partition}:kafkaconnect:{stack.region}:{stack.account}:{resource}"
        return iam.PolicyStatement(actions=[f"kafkaconnect:{action}" for action in actions], resources=[arn])

    def _archive_rights(self, bucket: str, key_prefix: str) -> list[iam.PolicyStatement]:
        objects = ("GetObject", "GetObjectVersion", "PutObject", "AbortMultipartUpload", "DeleteObjectVersion")
        bucket_arn = f"arn:{Stack.of(self).partition}:s3:::{bucket}"
        return [
            iam.PolicyStatement(actions=[f"s3:{name}" for name in objects], resources=[f"{bucket_arn}/{key_prefix}-*"]),
            iam.PolicyStatement(
                actions=["s3:ListBucket", "s3:ListBucketVersions"],
                resources=[bucket_arn],
                conditions={"StringLike": {"s3:prefix": f"{key_prefix}-*"}},
            ),
        ]
