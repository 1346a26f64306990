"""What each connector may do: one role per connector, narrowed to its topics, groups, secret and prefixes.

What it may do in Kafka stands in plugins/kafka/access.py, which the local broker's ACLs come from, too.
"""

from collections.abc import Callable, Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as sm
from constructs import Construct, IConstruct

from plugins.kafka.access import Grant, Kind, statements
from stacks.base import allow, arn, bucket_arn, statement
from stacks.streaming import StreamingStack

PREFIXES = (
    "AWS chooses the cluster's uuid and how MSK Connect's internal topics and groups end; an object's name "
    "is known when it is written. What is named is this connector's own."
)


class ConnectorRole(Construct):
    """The role of a connector, which `worn_by` may take, with `access` to the environment's Kafka.

    Names rather than references, where they are known: cdk-nag's findings then say what they are about.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        access: Sequence[Grant],
        streaming: StreamingStack,
        worn_by: iam.IPrincipal,
    ) -> None:
        super().__init__(scope, id_)
        self.role = iam.Role(self, "Role", assumed_by=worn_by)
        for each in kafka_statements(self, access, streaming):
            allow(self.role, each, reason=PREFIXES)

    @property
    def arn(self) -> str:
        return self.role.role_arn

    def may_read_secret(self, secret: sm.ISecret) -> None:
        reading = statement("secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret", on=secret.secret_arn)
        allow(self.role, reading, reason="What this connector logs in with, or hashes with, and no other secret.")

    def may_write_objects(self, bucket: str, prefixes: Sequence[str]) -> None:
        """Write, move and delete objects below these prefixes of the bucket of that name, and list them."""
        name = bucket_arn(self, bucket)
        objects = [f"{name}/{prefix}/*" for prefix in prefixes]
        writing = statement("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject", on=objects)
        # Without a condition on `s3:prefix`: GetObject's requests have no prefix, so they would come without the right
        # to list, and then S3 answers 403 instead of 404 for a key that isn't there (API reference, GetObject and
        # HeadObject, "Permissions"), such as the index that the sink looks for at its first start. The whole bucket is
        # its own.
        listing = statement("s3:ListBucket", "s3:GetBucketLocation", on=name)
        allow(self.role, writing, listing, reason=PREFIXES)


def msk_connect(scope: IConstruct, connector: str) -> iam.IPrincipal:
    """MSK Connect, for one connector alone."""
    own = arn(scope, "kafkaconnect", f"connector/{connector}/*")
    conditions = {"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}, "ArnLike": {"aws:SourceArn": own}}
    return iam.ServicePrincipal("kafkaconnect.amazonaws.com", conditions=conditions)


def pod_identity(cluster: str, namespace: str, service_account: str) -> iam.IPrincipal:
    """Who pods of a service account are to IAM (EKS user guide, "Pod Identity role": trust, and its session tags)."""
    tags = {
        "eks-cluster-name": cluster,
        "kubernetes-namespace": namespace,
        "kubernetes-service-account": service_account,
    }
    conditions = {"StringEquals": {f"aws:RequestTag/{name}": value for name, value in tags.items()}}
    return iam.ServicePrincipal("pods.eks.amazonaws.com", conditions=conditions).with_session_tags()


def kafka_statements(
    scope: IConstruct, access: Sequence[Grant], streaming: StreamingStack
) -> list[iam.PolicyStatement]:
    """Allow what is granted in the environment's Kafka (MSK developer guide, "Authorization policy resources")."""
    found = statements(access, kafka_arns(scope, streaming))
    return [statement(*each["Action"], on=each["Resource"]) for each in found]


def kafka_arns(scope: IConstruct, streaming: StreamingStack) -> Callable[[Kind, str], str]:
    """Return what names the cluster, or a thing of the cluster, whose uuid AWS chooses: its name is unique by itself.

    Names rather than references, where they are known: the review's findings then say what they are about.
    """

    def named(kind: Kind, name: str) -> str:
        whole = kind == "cluster"
        return streaming.cluster_arn if whole else arn(scope, "kafka", f"{kind}/{streaming.cluster_name}/*/{name}")

    return named
