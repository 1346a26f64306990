"""What holds data, by type: the gate asks what production must keep, the diff and the page what would be lost."""

from collections.abc import Mapping
from typing import NamedTuple

# What becomes of a resource, the most destructive first, which is CloudFormation's default.
POLICIES = ("Delete", "Snapshot", "RetainExceptOnCreate", "Retain")
# CDK's custom resource: once it goes, it empties its bucket if that has the tag, whatever becomes of the bucket.
EMPTIES, EMPTIED = "Custom::S3AutoDeleteObjects", "aws-cdk:auto-delete-objects"
# Captured pipelines' preparations: their deletion drops the slot.
WITH_SLOT = ("Custom::OutsideSource", "Custom::PreparedPipeline", "Custom::PreparedSource")


class Data(NamedTuple):
    """What is lost with a resource, whether for good, and whether production must keep it in any case."""

    lost: str
    for_good: bool = False
    kept: bool = False


DATA: Mapping[str, Data] = {
    "AWS::EC2::EIP": Data("its public address"),
    "AWS::EC2::Instance": Data("what is on its disk"),
    "AWS::EMR::Cluster": Data("its logs on disk and what runs; tables are in S3, the job goes on from its last commit"),
    "AWS::Glue::Database": Data("the catalogue's tables, until the job's next sync; files in S3 stay", kept=True),
    "AWS::KMS::Key": Data("what is encrypted with it, once its waiting time is over", for_good=True),
    "AWS::Logs::LogGroup": Data("its events"),
    "AWS::MSK::Cluster": Data(
        "every topic: events that haven't landed, and the connectors' offsets", for_good=True, kept=True
    ),
    "AWS::RDS::DBCluster": Data(
        "every row of the database, its backups and the connector's slot", for_good=True, kept=True
    ),
    # Its cluster has the data.
    "AWS::RDS::DBInstance": Data("", kept=True),
    "AWS::S3::Bucket": Data("every object in it, with all versions", for_good=True, kept=True),
    "AWS::SecretsManager::Secret": Data("its value: what uses it must get the new one"),
    **dict.fromkeys(WITH_SLOT, Data("the connector's slot: changes until there is another are missed")),
    EMPTIES: Data(f"every object in its bucket, with all versions, if that is tagged {EMPTIED}", for_good=True),
}
