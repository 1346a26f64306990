"""RDS's data on the source's cluster, in moto."""

from moto.rds.models import rds_backends

from tests.stacks.handlers.clients import client

CLUSTER = "dev-cdc-lake"


class Cluster:
    """RDS's data on the source's cluster."""

    def __init__(self) -> None:
        self._rds = client("rds")
        made = self._rds.create_db_cluster(
            DBClusterIdentifier=CLUSTER,
            Engine="aurora-postgresql",
            MasterUsername="postgres",
            MasterUserPassword="not-asked-for",
            StorageEncrypted=True,
        )
        self.arn = made["DBCluster"]["DBClusterArn"]

    @property
    def tags(self) -> dict[str, str]:
        found = self._rds.list_tags_for_resource(ResourceName=self.arn)["TagList"]
        return {tag["Key"]: tag["Value"] for tag in found}

    def tag(self, key: str, value: str) -> None:
        self._rds.add_tags_to_resource(ResourceName=self.arn, Tags=[{"Key": key, "Value": value}])

    def untag(self, key: str) -> None:
        self._rds.remove_tags_from_resource(ResourceName=self.arn, TagKeys=[key])

    def is_not_encrypted(self) -> None:
        rds_backends["123456789012"]["ap-southeast-2"].clusters[CLUSTER].storage_encrypted = False

    def is_deleting(self) -> None:
        rds_backends["123456789012"]["ap-southeast-2"].clusters[CLUSTER].status = "deleting"

    def is_gone(self) -> None:
        self._rds.delete_db_cluster(DBClusterIdentifier=CLUSTER, SkipFinalSnapshot=True)
