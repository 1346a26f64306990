"""Where a construct says that it knows of a cdk-nag finding, and why that is as it should be."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, *ids: str, reason: str) -> None:
    """Acknowledge findings on `construct` and below it, each by its full id (`AwsSolutions-IAM5[Resource::*]`)."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=id_, reason=reason) for id_ in ids))
