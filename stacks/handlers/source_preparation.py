"""Custom resource: the source database, prepared from inside its VPC by the loader's own code.

Request: `clusterIdentifier`, `masterSecret` and `connectorSecret` (ARNs), `database`, `slot`, `outboxMode`,
`sampleData`, `sampleScale`, and `sqlHash`, which only has to differ when db/sql does. Attribute: `Loaded`, the orders
that this request loaded. Data that is there stays, and its outbox is migrated in place; deleting drops the connector's
replication slot and leaves the data.
"""

import functools
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

from db.errors import LaterError, LoadError, NewerError, UnreachableError
from db.loading import LoadOptions
from db.preparing import prepare
from db.secret import connection_parameters
from db.slots import drop_slot
from stacks.handlers import framework
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting

if TYPE_CHECKING:
    from mypy_boto3_rds import RDSClient

_REQUEST = {
    "clusterIdentifier": str,
    "masterSecret": str,
    "connectorSecret": str,
    "database": str,
    "slot": str,
    "outboxMode": str,
    "sampleData": bool,
    "sampleScale": int,
}
# Of the 15 minutes that a function may run: the rest of the rows is for the next call.
REFRESH_S = 600.0
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


@functools.cache
def client() -> "RDSClient":
    """RDS, once per Lambda environment."""
    return boto3.client("rds", config=framework.CLIENT_CONFIG)


def start(event: Event) -> dict[str, Any]:
    """Name it once and for all: another name on update would make CloudFormation delete the old one, slot and all."""
    wanted = _request(event)
    first = f"{wanted['clusterIdentifier']}/{wanted['database']}/prepared"
    return {"PhysicalResourceId": event.get("PhysicalResourceId", first)}


def settle(event: Event) -> Progress:
    """Load the database, or find it loaded: migrate its outbox and renew the password of the connector's role.

    A newer outbox stays as it is: to fail for it would fail a rollback, which runs the older code.
    """
    wanted = _request(event)
    try:
        options = LoadOptions(
            connector_password=str(connection_parameters(wanted["connectorSecret"])["password"]),
            mode=wanted["outboxMode"],
            scale=wanted["sampleScale"] if wanted["sampleData"] else 1,
            empty=not wanted["sampleData"],
        )
        report = prepare(_master(wanted), options, refresh_s=REFRESH_S)
    except LaterError as error:
        return Waiting(str(error))
    except NewerError as error:
        _log.warning("%s: %s", wanted["database"], error)
        return Done(data={"Loaded": 0})
    except LoadError as error:
        raise ResourceError(str(error)) from error
    if report is None:
        _log.info("%s is prepared already: sample data and scale no longer count", wanted["database"])
    return Done(data={"Loaded": report.events if report else 0})


def remove(event: Event) -> Progress:
    """Drop the slot: nobody will read it, and it would go on filling the disk with write-ahead log.

    A database that is gone has none; one that is only out of reach still has.
    """
    wanted = _request(event)
    if not _cluster_exists(wanted["clusterIdentifier"]):
        return Done()
    try:
        gone = drop_slot(_master(wanted), wanted["slot"])
    except UnreachableError as error:
        return Waiting(f"{error}: start the database, or delete the stack and retain this resource")
    except LoadError as error:
        raise ResourceError(str(error)) from error
    return Done() if gone else Waiting(f"the replication slot {wanted['slot']} is in use: delete its connector first")


def _request(event: Event) -> dict[str, Any]:
    return framework.request(event, required=_REQUEST, optional={"sqlHash": str})


def _master(wanted: Mapping[str, Any]) -> dict[str, str | int]:
    return connection_parameters(wanted["masterSecret"]) | {"dbname": wanted["database"]}


def _cluster_exists(identifier: str) -> bool:
    try:
        found = client().describe_db_clusters(DBClusterIdentifier=identifier)
    except ClientError as error:
        if framework.error_code(error) == "DBClusterNotFoundFault":
            return False
        raise
    return any(cluster.get("Status") != "deleting" for cluster in found["DBClusters"])


_handler = Handler(start=start, settle=settle, remove=remove)
on_event = _handler.on_event
is_complete = _handler.is_complete
