"""What each connector may do: one role per connector, narrowed to its topics, groups, secret and prefixes.

Actions and ARN forms: Amazon MSK developer guide, "IAM access control" and "MSK Connect: service execution role".
"""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as sm
from constructs import Construct

from stacks.checks import acknowledge_wildcards

# Where MSK Connect keeps a connector's configuration, offsets and status; documented as
# __amazon_msk_connect_<kind>_<connector>_<uuid>. For the worker group's name only the first part is documented.
INTERNAL_TOPICS = "__amazon_msk_connect_*_{connector}_*"
INTERNAL_GROUPS = "__amazon_msk_connect_*"
PREFIXES = (
    "AWS chooses the cluster's uuid and how MSK Connect's internal topics and groups end; an object's name "
    "is known when it is written. What is named is this connector's own."
)
_CREATE = ("CreateTopic", "DescribeTopic", "DescribeTopicDynamicConfiguration")


class ConnectorRole(Construct):
    """The service execution role of the connector `connector` on one cluster.

    Names rather than references, where they are known: cdk-nag's findings then say what they are about.
    """

    def __init__(self, scope: Construct, id_: str, *, connector: str, cluster_arn: str, cluster_name: str) -> None:
        super().__init__(scope, id_)
        self._cluster_arn = cluster_arn
        self._cluster_name = cluster_name
        self.role = iam.Role(self, "Role", assumed_by=self._connector_alone(connector))
        self._grant_on("topic", [INTERNAL_TOPICS.format(connector=connector)], *_CREATE, "ReadData", "WriteData")
        self._grant_on("group", [INTERNAL_GROUPS], "AlterGroup", "DescribeGroup")
        self._allow([cluster_arn], "kafka-cluster:Connect", "kafka-cluster:DescribeCluster")

    @property
    def arn(self) -> str:
        """The role's ARN."""
        return self.role.role_arn

    def may_write_topics(self, *topics: str) -> None:
        """Create and write these topics; without transactions, but idempotently."""
        self._grant_on("topic", topics, *_CREATE, "WriteData")
        self._allow([self._cluster_arn], "kafka-cluster:WriteDataIdempotently")

    def may_read_topics(self, *topics: str) -> None:
        """Read these topics."""
        self._grant_on("topic", topics, "DescribeTopic", "DescribeTopicDynamicConfiguration", "ReadData")

    def may_use_groups(self, *groups: str) -> None:
        """Join these consumer groups and commit offsets for them."""
        self._grant_on("group", groups, "AlterGroup", "DescribeGroup")

    def may_keep_offsets(self, topic: str) -> None:
        """Keep the worker's source offsets in this topic."""
        self._grant_on("topic", [topic], *_CREATE, "ReadData", "WriteData")

    def may_read_secret(self, secret: sm.ISecret) -> None:
        """Read one secret's value."""
        self._allow([secret.secret_arn], "secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret")

    def may_write_objects(self, bucket: str, prefixes: Sequence[str]) -> None:
        """Write, move and delete objects below these prefixes of the bucket of that name, and list them."""
        bucket_arn = f"arn:{Stack.of(self).partition}:s3:::{bucket}"
        objects = [f"{bucket_arn}/{prefix}/*" for prefix in prefixes]
        self._allow(objects, "s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject")
        listed = [pattern for prefix in prefixes for pattern in (prefix, f"{prefix}/*")]
        self.role.add_to_policy(
            iam.PolicyStatement(
                actions=["s3:ListBucket"], resources=[bucket_arn], conditions={"StringLike": {"s3:prefix": listed}}
            )
        )
        self._allow([bucket_arn], "s3:GetBucketLocation")

    def _connector_alone(self, connector: str) -> iam.IPrincipal:
        stack = Stack.of(self)
        arn = f"arn:{stack.partition}:kafkaconnect:{stack.region}:{stack.account}:connector/{connector}/*"
        conditions = {"StringEquals": {"aws:SourceAccount": stack.account}, "ArnLike": {"aws:SourceArn": arn}}
        return iam.ServicePrincipal("kafkaconnect.amazonaws.com", conditions=conditions)

    def _grant_on(self, kind: str, names: Sequence[str], *actions: str) -> None:
        """Allow actions on topics or groups of the cluster, whose uuid AWS chooses: its name is unique by itself."""
        stack = Stack.of(self)
        base = f"arn:{stack.partition}:kafka:{stack.region}:{stack.account}:{kind}/{self._cluster_name}/*"
        self._allow([f"{base}/{name}" for name in names], *(f"kafka-cluster:{action}" for action in actions))

    def _allow(self, resources: Sequence[str], *actions: str) -> None:
        statement = iam.PolicyStatement(actions=list(actions), resources=list(resources))
        self.role.add_to_policy(statement)
        acknowledge_wildcards(self.role, statement, reason=PREFIXES)
