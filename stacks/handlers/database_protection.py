"""Custom resource: a database cluster's deletion protection, switched on after the rest of its stack exists.

As a property of the cluster it would apply from the first moment: CloudFormation then can't roll back a first
deployment that fails later ("Cannot delete protected Cluster", DeleteHandler of AWS's own AWS::RDS::DBCluster), and the
remaining cluster's name blocks each further attempt. Request: `clusterIdentifier`. A deletion leaves the protection on:
the cluster outlives the stack, and to delete it people switch that off by hand.
"""

import functools

from botocore.exceptions import ClientError

from stacks.handlers import framework
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting, error_code

# While the cluster or one of its instances is being changed.
_BUSY = ("InvalidDBClusterStateFault", "InvalidDBInstanceState")
_request = functools.partial(framework.request, required={"clusterIdentifier": str})


def start(event: Event) -> str:
    return f"{_request(event)['clusterIdentifier']}/deletion-protection"


def settle(event: Event) -> Progress:
    identifier, rds = _request(event)["clusterIdentifier"], framework.client("rds")
    try:
        [found] = rds.describe_db_clusters(DBClusterIdentifier=identifier)["DBClusters"]
        if found.get("DeletionProtection"):
            return Done()
        rds.modify_db_cluster(DBClusterIdentifier=identifier, DeletionProtection=True, ApplyImmediately=True)
    except ClientError as error:
        code = error_code(error)
        if code == "DBClusterNotFoundFault":
            raise ResourceError(f"there is no cluster {identifier}") from None
        if code not in _BUSY:
            raise
        return Waiting(f"{identifier} to be available: {code}")
    return Waiting(f"the protection of {identifier}")


on_event, is_complete = Handler(start=start, settle=settle).functions
