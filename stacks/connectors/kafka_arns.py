"""ARNs of what is in an MSK cluster, for IAM's statements (MSK developer guide, "Authorization policy resources")."""

from collections.abc import Callable

from aws_cdk import Stack
from constructs import IConstruct

from plugins.kafka.access import Kind


def kafka_arns(scope: IConstruct, *, cluster_arn: str, cluster_name: str) -> Callable[[Kind, str], str]:
    """Return what names the cluster, or a thing of the cluster, whose uuid AWS chooses: its name is unique by itself.

    Names rather than references, where they are known: the review's findings then say what they are about.
    """
    stack = Stack.of(scope)

    def arn(kind: Kind, name: str) -> str:
        if kind == "cluster":
            return cluster_arn
        return f"arn:{stack.partition}:kafka:{stack.region}:{stack.account}:{kind}/{cluster_name}/*/{name}"

    return arn
