"""What each connector may do: one role per connector, limited to its topics, groups, secret and prefixes.

plugins/kafka/topics.py defines its Kafka rights; the local broker's ACLs come from there, too.
"""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as sm
from constructs import IConstruct

from plugins.kafka.topics import Grant
from stacks.base import allow, arn, bucket_arn, of_service, statement
from stacks.streaming import StreamingStack

PREFIXES = (
    "AWS chooses the cluster's uuid and how MSK Connect's internal topics and groups end; an object's name "
    "is known when it is written. What is named is this connector's own."
)


def allow_secret(role: iam.Role, secret: sm.ISecret) -> None:
    reading = statement("secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret", on=secret.secret_arn)
    allow(role, reading, reason="What this connector logs in with, or hashes with, and no other secret.")


def allow_objects(role: iam.Role, bucket: str, prefixes: Sequence[str]) -> None:
    """Write, move, delete and list objects below these prefixes of the named bucket."""
    name = bucket_arn(role, bucket)
    objects = [f"{name}/{prefix}/*" for prefix in prefixes]
    writing = statement("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject", on=objects)
    # No condition on `s3:prefix`: GetObject requests have no prefix and would then lack the right to list, and S3
    # would answer 403 instead of 404 for a missing key (API reference, GetObject and HeadObject, "Permissions"),
    # such as the index that the sink looks up at its first start. The bucket holds nothing but the sink's objects.
    listing = statement("s3:ListBucket", "s3:GetBucketLocation", on=name)
    allow(role, writing, listing, reason=PREFIXES)


def msk_connect(scope: IConstruct, connector: str) -> iam.IPrincipal:
    """MSK Connect, for one connector only."""
    own = arn(scope, "kafkaconnect", f"connector/{connector}/*")
    conditions = {"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}, "ArnLike": {"aws:SourceArn": own}}
    return iam.ServicePrincipal("kafkaconnect.amazonaws.com", conditions=conditions)


def pod_identity(cluster: str, namespace: str, service_account: str) -> iam.IPrincipal:
    """The IAM principal of a service account's pods (EKS user guide, "Pod Identity role": trust and session tags)."""
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
    """Allow these grants on the environment's Kafka (MSK developer guide, "Authorization policy resources").

    `*` stands for the uuid, which AWS chooses: the cluster's name is unique. Names instead of references, if they are
    known, keep the review's findings readable.
    """
    found = []
    for grant in access:
        on = [arn(scope, "kafka", f"{grant.kind}/{streaming.cluster_name}/*/{name}") for name in grant.names]
        found.append(statement(*of_service("kafka-cluster", grant.actions), on=on or streaming.cluster_arn))
    return found
