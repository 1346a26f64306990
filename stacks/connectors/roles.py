"""What each connector may do: one role per connector, narrowed to its topics, groups, secret and prefixes.

What it may do in Kafka stands in plugins/kafka/access.py, which the local broker's ACLs come from, too.
"""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as sm
from constructs import Construct

from plugins.kafka.access import Grant, statements
from stacks.acceptances import accept, acknowledge_wildcards
from stacks.connectors.kafka_arns import kafka_arns

PREFIXES = (
    "AWS chooses the cluster's uuid and how MSK Connect's internal topics and groups end; an object's name "
    "is known when it is written. What is named is this connector's own."
)


class ConnectorRole(Construct):
    """The role of the connector `connector`, with `access` to one cluster: MSK Connect's, unless others wear it.

    Names rather than references, where they are known: cdk-nag's findings then say what they are about.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        connector: str,
        access: Sequence[Grant],
        cluster_arn: str,
        cluster_name: str,
        worn_by: iam.IPrincipal | None = None,
    ) -> None:
        super().__init__(scope, id_)
        self.role = iam.Role(self, "Role", assumed_by=worn_by or self._connector_alone(connector))
        arns = kafka_arns(self, cluster_arn=cluster_arn, cluster_name=cluster_name)
        for statement in statements(access, arns):
            self._allow(statement["Resource"], *statement["Action"])

    @property
    def arn(self) -> str:
        return self.role.role_arn

    def may_read_secret(self, secret: sm.ISecret) -> None:
        reading = iam.PolicyStatement(
            actions=["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"], resources=[secret.secret_arn]
        )
        self.role.add_to_policy(reading)
        accept(self.role, reading, reason="What this connector logs in with, or hashes with, and no other secret.")

    def may_write_objects(self, bucket: str, prefixes: Sequence[str]) -> None:
        """Write, move and delete objects below these prefixes of the bucket of that name, and list them."""
        bucket_arn = f"arn:{Stack.of(self).partition}:s3:::{bucket}"
        objects = [f"{bucket_arn}/{prefix}/*" for prefix in prefixes]
        self._allow(objects, "s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject")
        # Without a condition on `s3:prefix`: GetObject's requests have no prefix, so they would come without the right
        # to list, and then S3 answers 403 instead of 404 for a key that isn't there (API reference, GetObject and
        # HeadObject, "Permissions"), such as the index that the sink looks for at its first start. The whole bucket is
        # its own.
        self._allow([bucket_arn], "s3:ListBucket", "s3:GetBucketLocation")

    def _connector_alone(self, connector: str) -> iam.IPrincipal:
        stack = Stack.of(self)
        arn = f"arn:{stack.partition}:kafkaconnect:{stack.region}:{stack.account}:connector/{connector}/*"
        conditions = {"StringEquals": {"aws:SourceAccount": stack.account}, "ArnLike": {"aws:SourceArn": arn}}
        return iam.ServicePrincipal("kafkaconnect.amazonaws.com", conditions=conditions)

    def _allow(self, resources: Sequence[str], *actions: str) -> None:
        statement = iam.PolicyStatement(actions=list(actions), resources=list(resources))
        self.role.add_to_policy(statement)
        acknowledge_wildcards(self.role, statement, reason=PREFIXES)
