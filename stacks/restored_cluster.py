"""An Aurora cluster restored from a snapshot, or from another cluster at a point in time.

AWS::RDS::DBCluster inherits user, password and encryption from its origin: "If you specify the
SourceDBClusterIdentifier, SnapshotIdentifier, or GlobalClusterIdentifier property, don't specify this property"
(MasterUsername and MasterUserPassword in its reference). So the source preparation sets the master's password from the
new secret, which rotates from then on (stacks/handlers/preparation.py).
"""

from typing import Any

from aws_cdk import aws_rds as rds
from constructs import Construct

from settings.services import Restore
from stacks.acceptances import acknowledge


def restored_cluster(
    scope: Construct, id_: str, restore: Restore, *, username: str, not_in_passwords: str, **properties: Any
) -> rds.DatabaseClusterFromSnapshot:
    """Create the cluster with a new master secret. `properties` are the same as for a new cluster."""
    cluster = rds.DatabaseClusterFromSnapshot(
        scope,
        id_,
        snapshot_identifier=restore.snapshot or "",
        snapshot_credentials=rds.SnapshotCredentials.from_generated_secret(
            username, exclude_characters=not_in_passwords
        ),
        **properties,
    )
    resource = cluster.node.default_child
    assert isinstance(resource, rds.CfnDBCluster)  # noqa: S101  CDK's own type is looser
    resource.master_user_password = None
    if restore.cluster is not None:
        _at_a_point_in_time(resource, restore)
    acknowledge(
        cluster,
        "AwsSolutions-RDS2",
        reason="What is restored is encrypted as its snapshot or source is; every cluster of ours is.",
    )
    return cluster


def _at_a_point_in_time(resource: rds.CfnDBCluster, restore: Restore) -> None:
    resource.snapshot_identifier = None
    resource.source_db_cluster_identifier = restore.cluster
    resource.restore_to_time = restore.time
    resource.use_latest_restorable_time = None if restore.time else True
